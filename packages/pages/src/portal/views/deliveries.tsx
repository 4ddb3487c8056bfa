import { useEffect, useState } from 'preact/hooks';
import { Time } from '../../kit/format.tsx';
import { useCatalogue } from '../parts/catalogue.ts';
import { Loaded, Notice } from '../parts/page.tsx';
import { type Load, useAction, useData } from '../parts/requests.ts';
import type { Delivery, Endpoint } from '../responses.ts';
import { send } from '../session.ts';
import { texts } from '../texts.ts';
import { DeliveryBadge, DeliveryDetails, summarize } from './delivery.tsx';

const PAGE_SIZE = 20;
const REFRESH_MS = 5000;

function DeliveryRow({
  endpoint,
  delivery,
  onRetried,
}: {
  endpoint: Endpoint;
  delivery: Delivery;
  onRetried: () => void;
}) {
  const [open, setOpen] = useState(false);
  const { busy, error, run } = useAction();
  const { id, type, status, createdAt } = delivery;
  const retry = () =>
    run(async () => {
      await send(`/${endpoint.id}/deliveries/${id}/retry`, { method: 'POST' });
      onRetried();
    });
  return (
    <li class="delivery">
      <button type="button" class="summary" aria-expanded={open} onClick={() => setOpen(!open)}>
        <DeliveryBadge status={status} />
        <code>{type}</code>
        <span class="soft result-text">{summarize(delivery)}</span>
        <span class="soft when">
          <Time value={createdAt} />
        </span>
      </button>
      {open && (
        <>
          <DeliveryDetails delivery={delivery} />
          <Notice kind="bad">{error?.message}</Notice>
          <p>
            <button type="button" disabled={busy || !endpoint.enabled || status === 'sending'} onClick={retry}>
              {busy ? texts.sending : texts.deliveries.sendAgain}
            </button>
          </p>
        </>
      )}
    </li>
  );
}

interface LogFilter {
  status: string;
  event: string;
}

function LogFilters({
  filter,
  onChange,
  onRefresh,
}: {
  filter: LogFilter;
  onChange: (filter: LogFilter) => void;
  onRefresh: () => void;
}) {
  const names = [...(useCatalogue().data ?? []).map(({ name }) => name), 'webhook.test'];
  return (
    <div class="row wrap filters">
      <label>
        {texts.deliveries.status}{' '}
        <select
          value={filter.status}
          onChange={({ currentTarget }) => onChange({ ...filter, status: currentTarget.value })}
        >
          <option value="">{texts.deliveries.all}</option>
          {Object.entries(texts.deliveries.states).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label>
        {texts.deliveries.event}{' '}
        <select
          value={filter.event}
          onChange={({ currentTarget }) => onChange({ ...filter, event: currentTarget.value })}
        >
          <option value="">{texts.deliveries.all}</option>
          {names.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <button type="button" onClick={onRefresh}>
        {texts.deliveries.refresh}
      </button>
    </div>
  );
}

/** The deliveries of an endpoint, page by page. The first page follows new deliveries while it is the only one. */
function useLog(endpointId: string, { status, event }: LogFilter) {
  const query = new URLSearchParams({
    limit: String(PAGE_SIZE),
    ...(status !== '' && { status }),
    ...(event !== '' && { event }),
  });
  const path = `/${endpointId}/deliveries?${query}`;
  const [read, setRead] = useState<{ path?: string; rows: Delivery[]; next?: string | null }>({ rows: [] });
  const older = read.path === path ? read : { rows: [] };
  const more = useAction();
  const first = useData<Delivery[]>(path);
  const isFirstPage = older.rows.length === 0;
  useEffect(() => {
    if (!isFirstPage) return undefined;
    const timer = setInterval(() => document.visibilityState === 'visible' && first.reload(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [path, isFirstPage]);
  const next = older.next === undefined ? first.meta?.next : older.next;
  const showOlder = () =>
    more.run(async () => {
      const page = await send<Delivery[]>(`${path}&after=${encodeURIComponent(next ?? '')}`);
      setRead({ path, rows: [...older.rows, ...page.data], next: page.meta.next });
    });
  const reload = () => {
    setRead({ rows: [] });
    first.reload();
  };
  const log: Load<Delivery[]> = {
    ...first,
    ...(first.data && { data: [...first.data, ...older.rows] }),
    reload,
  };
  return { log, hasOlder: Boolean(next), more, showOlder };
}

const UNFILTERED: LogFilter = { status: '', event: '' };

/** The log of an endpoint: filtered, page by page, newest first. It follows new deliveries while its first page is shown. */
export function Deliveries({ endpoint, onSettled }: { endpoint: Endpoint; onSettled: () => void }) {
  const [filter, setFilter] = useState(UNFILTERED);
  const { log, hasOlder, more, showOlder } = useLog(endpoint.id, filter);
  const refresh = () => {
    log.reload();
    onSettled();
  };
  return (
    <>
      <h2 class="visually-hidden">{texts.endpoint.deliveries}</h2>
      <LogFilters filter={filter} onChange={setFilter} onRefresh={refresh} />
      <Loaded from={log}>
        {(deliveries) =>
          deliveries.length === 0 ? (
            <p class="blank soft">
              {filter.status === '' && filter.event === '' ? texts.deliveries.none : texts.deliveries.noMatch}
            </p>
          ) : (
            <ul class="deliveries">
              {deliveries.map((each) => (
                <DeliveryRow key={each.id} endpoint={endpoint} delivery={each} onRetried={refresh} />
              ))}
            </ul>
          )
        }
      </Loaded>
      <Notice kind="bad">{more.error?.message}</Notice>
      {hasOlder && (
        <button type="button" disabled={more.busy} onClick={showOlder}>
          {more.busy ? texts.loading : texts.deliveries.older}
        </button>
      )}
    </>
  );
}
