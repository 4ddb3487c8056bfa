import {
  Code,
  DataTable,
  Facts,
  Figure,
  hrefOf,
  Loaded,
  Page,
  type PageMeta,
  place,
  Section,
  type TableColumn,
  timeOf,
  useLoaded,
} from '../../console/kit.ts';
import { numberText } from '../../kit/numbers.ts';
import { richText } from '../../kit/rich-text.ts';
import { PUSH, PushState, titleOf, UserLink } from './outcome.tsx';
import type { PushChunk, PushCounts, ShownPush } from './responses.ts';
import { DeviceResults } from './results.tsx';
import { texts } from './texts.ts';

/** The interval in ms at which the push is read, because results arrive later and from other processes. */
const READ_EVERY_MS = 3000;

/** The `meta` of the page of devices that is shown. */
interface DevicesMeta extends PageMeta {
  page: number;
  pages: number;
}

type ShownCount = Exclude<keyof PushCounts, 'receipts'>;

const COUNTS: readonly [name: ShownCount, kind: 'good' | 'bad' | 'warn' | ''][] = [
  ['devices', ''],
  ['queued', 'warn'],
  ['accepted', 'good'],
  ['failed', 'bad'],
  ['retrying', 'warn'],
  ['receiptsFailed', 'bad'],
  ['opened', 'good'],
];
const ALWAYS_SHOWN = new Set<ShownCount>(['devices', 'accepted', 'failed', 'opened']);

function Counts({ counts }: { counts: PushCounts }) {
  return (
    <ul class="figures push-totals" aria-label={texts.send.byResult}>
      {COUNTS.filter(([name]) => ALWAYS_SHOWN.has(name) || counts[name] > 0).map(([name, kind]) => (
        <li key={name}>
          <Figure label={texts.send.counts[name]} value={counts[name]} kind={counts[name] > 0 ? kind : ''} />
        </li>
      ))}
    </ul>
  );
}

function Audience({ audience: { users, devices } }: Pick<ShownPush, 'audience'>) {
  const rest = (total: number, shown: number) =>
    total > shown ? ` ${texts.send.more(numberText(total - shown))}` : '';
  const parts = [
    users.total > 0 && (
      <span>
        {users.ids.map((id, index) => [index > 0 ? ', ' : '', <UserLink id={id} />])}
        {rest(users.total, users.ids.length)}
      </span>
    ),
    devices.total > 0 && <span>{texts.count(devices.total, numberText(devices.total))}</span>,
  ].filter(Boolean);
  return parts.length === 0 ? texts.rawTokens : <span class="push-audience">{parts}</span>;
}

const CHUNK_COLUMNS: TableColumn<PushChunk>[] = [
  { name: 'chunk', label: texts.send.chunk, render: ({ chunk }) => chunk },
  {
    name: 'transport',
    label: texts.send.transport,
    render: ({ transport }) => transport ?? <span class="soft">{texts.send.noTransport}</span>,
  },
  { name: 'devices', label: texts.devices, isNumber: true, render: ({ devices }) => devices },
  { name: 'claims', label: texts.send.claims, isNumber: true, render: ({ claims }) => claims },
  { name: 'answered', label: texts.send.attempted, render: ({ answeredAt }) => timeOf(answeredAt) ?? '–' },
  {
    name: 'finished',
    label: texts.send.finished,
    render: ({ finishedAt, dueAt }) =>
      finishedAt ? timeOf(finishedAt) : richText(texts.send.nextTry, { time: timeOf(dueAt) }),
  },
];

function DevicePages({ page = 1, pages = 1 }: Partial<DevicesMeta>) {
  if (pages <= 1) return null;
  const { path, params } = place.value;
  const hrefTo = (number: number) => {
    const changed = new URLSearchParams(params);
    changed.set('page', String(number));
    return hrefOf(path, changed);
  };
  return (
    <nav class="more pager" aria-label={texts.send.pages}>
      {page > 1 && (
        <a class="button" href={hrefTo(page - 1)}>
          {texts.send.previous}
        </a>
      )}
      <span class="push-page soft">{texts.send.page(page, pages)}</span>
      {page < pages && (
        <a class="button" href={hrefTo(page + 1)}>
          {texts.send.next}
        </a>
      )}
    </nav>
  );
}

function PushFacts({ push }: { push: ShownPush }) {
  return (
    <Facts
      of={[
        [texts.send.to, <Audience audience={push.audience} />],
        [texts.send.created, timeOf(push.createdAt)],
        [texts.send.attempted, timeOf(push.finishedAt)],
        [texts.send.expires, timeOf(push.expiresAt)],
        [texts.send.id, <code>{push.id}</code>],
      ]}
    />
  );
}

function Chunks({ chunks }: { chunks: PushChunk[] }) {
  return (
    <Section title={texts.send.how}>
      <p class="part-text soft push-note">{texts.send.howText}</p>
      <DataTable label={texts.send.chunks} rows={chunks} keyOf={({ chunk }) => chunk} columns={CHUNK_COLUMNS} />
    </Section>
  );
}

/** One push with the results of its devices. */
export function SendPage({ id }: { id: string }) {
  const page = place.value.params.get('page') ?? '1';
  const path = hrefOf(`/push/sends/${encodeURIComponent(id)}`, new URLSearchParams({ page }));
  const loaded = useLoaded<ShownPush, DevicesMeta>(path, { everyMs: READ_EVERY_MS });
  const { data } = loaded;
  return (
    <Page
      title={data ? titleOf({ ...data.message, isSilent: data.message.silent === true }) : texts.title}
      back={{ href: `${PUSH}/sends`, label: texts.send.sends }}
      intro={
        data && (
          <span role="status">
            <PushState status={data.status} />
          </span>
        )
      }
    >
      <Loaded from={loaded}>
        {(push) => (
          <>
            <Counts counts={push.counts} />
            <PushFacts push={push} />
            <Section title={texts.devices}>
              {push.devices.length === 0 ? (
                <p class="soft">{push.status === 'queued' ? texts.send.lookingUp : texts.send.noDevices}</p>
              ) : (
                <DeviceResults devices={push.devices} />
              )}
              <DevicePages {...loaded.meta} />
            </Section>
            {push.chunks.length > 0 && <Chunks chunks={push.chunks} />}
            <Section title={texts.send.message}>
              <Code text={JSON.stringify(push.message, null, 2)} label={texts.send.json} />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}
