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
import { PUSH, PushState, titleOf, UserLink } from './outcome.tsx';
import type { Chunk, PushCounts, PushDetails } from './responses.ts';
import { DeviceResults } from './results.tsx';

/** The interval in ms at which the push is read, because results arrive later and from other processes. */
const READ_EVERY_MS = 3000;

/** The `meta` of the page of devices that is shown. */
interface DevicesMeta extends PageMeta {
  page: number;
  pages: number;
}

const COUNTS: readonly [name: keyof PushCounts, label: string, kind: 'good' | 'bad' | 'warn' | ''][] = [
  ['devices', 'Devices', ''],
  ['queued', 'Not tried yet', 'warn'],
  ['accepted', 'Accepted', 'good'],
  ['failed', 'Failed', 'bad'],
  ['retrying', 'Retrying', 'warn'],
  ['receiptsFailed', 'Failed later', 'bad'],
  ['opened', 'Opened', 'good'],
];
const ALWAYS_SHOWN = new Set<keyof PushCounts>(['devices', 'accepted', 'failed', 'opened']);

function Counts({ counts }: { counts: PushCounts }) {
  return (
    <ul class="figures push-totals" aria-label="Devices by result">
      {COUNTS.filter(([name]) => ALWAYS_SHOWN.has(name) || counts[name] > 0).map(([name, label, kind]) => (
        <li key={name}>
          <Figure label={label} value={counts[name]} kind={counts[name] > 0 ? kind : ''} />
        </li>
      ))}
    </ul>
  );
}

function Audience({ audience: { users, devices } }: Pick<PushDetails, 'audience'>) {
  const rest = (total: number, shown: number) => (total > shown ? ` and ${(total - shown).toLocaleString()} more` : '');
  const parts = [
    users.total > 0 && (
      <span>
        {users.ids.map((id, index) => [index > 0 ? ', ' : '', <UserLink id={id} />])}
        {rest(users.total, users.ids.length)}
      </span>
    ),
    devices.total > 0 && (
      <span>
        {devices.total.toLocaleString()} {devices.total === 1 ? 'device' : 'devices'}
      </span>
    ),
  ].filter(Boolean);
  return parts.length === 0 ? 'raw tokens' : <span class="push-audience">{parts}</span>;
}

const CHUNK_COLUMNS: TableColumn<Chunk>[] = [
  { name: 'chunk', label: 'Chunk', render: ({ chunk }) => chunk },
  {
    name: 'transport',
    label: 'Transport',
    render: ({ transport }) => transport ?? <span class="soft">none accepts it</span>,
  },
  { name: 'devices', label: 'Devices', isNumber: true, render: ({ devices }) => devices },
  { name: 'claims', label: 'Claims', isNumber: true, render: ({ claims }) => claims },
  { name: 'answered', label: 'Attempted', render: ({ answeredAt }) => timeOf(answeredAt) ?? '–' },
  {
    name: 'finished',
    label: 'Finished',
    render: ({ finishedAt, dueAt }) => (finishedAt ? timeOf(finishedAt) : <>next try {timeOf(dueAt)}</>),
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
    <nav class="more pager" aria-label="Pages of devices">
      {page > 1 && (
        <a class="button" href={hrefTo(page - 1)}>
          Previous
        </a>
      )}
      <span class="push-page soft">
        {page} of {pages}
      </span>
      {page < pages && (
        <a class="button" href={hrefTo(page + 1)}>
          Next
        </a>
      )}
    </nav>
  );
}

function PushFacts({ push }: { push: PushDetails }) {
  return (
    <Facts
      of={[
        ['To', <Audience audience={push.audience} />],
        ['Created', timeOf(push.createdAt)],
        ['Attempted', timeOf(push.finishedAt)],
        ['Expires', timeOf(push.expiresAt)],
        ['Id', <code>{push.id}</code>],
      ]}
    />
  );
}

function Chunks({ chunks }: { chunks: Chunk[] }) {
  return (
    <Section title="How it was sent">
      <p class="part-text soft push-note">
        Workers claim a push in chunks of up to 500 devices of one transport. Another claim follows for each retry, or
        if a worker was lost.
      </p>
      <DataTable label="Chunks" rows={chunks} keyOf={({ chunk }) => chunk} columns={CHUNK_COLUMNS} />
    </Section>
  );
}

/** One push with the results of its devices. */
export function SendPage({ id }: { id: string }) {
  const page = place.value.params.get('page') ?? '1';
  const path = hrefOf(`/push/sends/${encodeURIComponent(id)}`, new URLSearchParams({ page }));
  const loaded = useLoaded<PushDetails, DevicesMeta>(path, { everyMs: READ_EVERY_MS });
  const { data } = loaded;
  return (
    <Page
      title={data ? titleOf({ ...data.message, isSilent: data.message.silent === true }) : 'Push'}
      back={{ href: `${PUSH}/sends`, label: 'Sends' }}
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
            <Section title="Devices">
              {push.devices.length === 0 ? (
                <p class="soft">
                  {push.status === 'queued' ? 'The devices are being looked up.' : 'The recipients have no devices.'}
                </p>
              ) : (
                <DeviceResults devices={push.devices} />
              )}
              <DevicePages {...loaded.meta} />
            </Section>
            {push.chunks.length > 0 && <Chunks chunks={push.chunks} />}
            <Section title="Message">
              <Code text={JSON.stringify(push.message, null, 2)} label="JSON of the message" />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}
