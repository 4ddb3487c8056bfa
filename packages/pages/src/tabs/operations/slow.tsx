import {
  ActionButton,
  app,
  Choice,
  Code,
  call,
  DataTable,
  Loaded,
  Nothing,
  Page,
  place,
  Section,
  Status,
  setParams,
  type TableColumn,
  Time,
  useLoaded,
} from '../../console/kit.ts';
import { msText, numberText } from './format.tsx';
import type { SlowRequest, SlowWork, StatementRuns, StatementStatistics } from './types.ts';

const POLL_MS = 5000;
const ENABLE = `-- postgresql.conf, then restart Postgres:
shared_preload_libraries = 'pg_stat_statements'

-- In the database of the app, as its owner or a superuser:
create extension pg_stat_statements;
grant pg_read_all_stats to <the user of DATABASE_URL>;`;

function RequestStatus({ status }: Pick<SlowRequest, 'status'>) {
  if (status === null) return <Status kind="neutral">client left</Status>;
  return <Status kind={status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good'}>{status}</Status>;
}

/** The rows that are shown until the user asks for all. */
const FIRST_ROWS = 25;
const MAX_ID = 13;
const shortId = (id: string) => (id.length > MAX_ID ? `${id.slice(0, MAX_ID)}…` : id);

/** The id of a request; in development a link to its lines of the log. */
function RequestId({ id }: { id: string | null }) {
  if (id === null) return '–';
  if (app.value.mode !== 'development') return <code title={id}>{shortId(id)}</code>;
  return (
    <a
      href={`/console/operations/log?request=${encodeURIComponent(id)}`}
      title={`Show the lines of request ${id} in the log`}
    >
      <code>{shortId(id)}</code>
    </a>
  );
}

const REQUEST_COLUMNS: TableColumn<SlowRequest>[] = [
  {
    name: 'route',
    label: 'Route',
    render: ({ method, route }) => (
      <span class="operations-stack">
        <span class="operations-route">{route ?? 'unknown path'}</span>
        <span class="soft">{method}</span>
      </span>
    ),
  },
  { name: 'ms', label: 'Duration', isNumber: true, render: ({ ms }) => msText(ms) },
  { name: 'status', label: 'Status', render: ({ status }) => <RequestStatus status={status} /> },
  {
    name: 'postgres',
    label: 'In Postgres',
    isNumber: true,
    render: ({ statements, postgresMs }) => (
      <span class="operations-stack">
        <span>{msText(postgresMs)}</span>
        <span class="soft">
          {statements}
          {'\u00a0'}
          {statements === 1 ? 'statement' : 'statements'}
        </span>
      </span>
    ),
  },
  { name: 'at', label: 'When', render: ({ at }) => <Time value={at} /> },
  { name: 'id', label: 'Request', render: ({ requestId }) => <RequestId id={requestId} /> },
];

type Option = [value: string, text: string];

/** Chooses between two views of a list. The choice is in the address; the first option is the default. */
function ViewChoice({ label, name, options }: { label: string; name: string; options: [Option, Option] }) {
  const [[first]] = options;
  const choose = (value: string) => setParams({ [name]: value === first ? undefined : value });
  return <Choice label={label} options={options} value={place.value.params.get(name) ?? first} onChange={choose} />;
}

const ORDERS: [Option, Option] = [
  ['newest', 'Newest'],
  ['slowest', 'Slowest'],
];

/** The first rows of a table, and a button that shows all. The choice is in the address. */
function LongTable<Row extends object>({
  name,
  rows,
  ...table
}: Parameters<typeof DataTable<Row>>[0] & { name: string }) {
  const isAll = place.value.params.get('all') === name || rows.length <= FIRST_ROWS;
  return (
    <>
      <DataTable {...table} rows={isAll ? rows : rows.slice(0, FIRST_ROWS)} />
      {!isAll && (
        <p class="more">
          <button type="button" onClick={() => setParams({ all: name })}>
            Show all {rows.length}
          </button>
        </p>
      )}
    </>
  );
}

function Requests({ data }: { data: SlowWork }) {
  const rows = data[place.value.params.get('order') === 'slowest' ? 'slowest' : 'newest'];
  const { requestMs } = data.thresholds;
  return (
    <Section title="Slow requests" actions={<ViewChoice label="Order of the requests" name="order" options={ORDERS} />}>
      {rows.length === 0 ? (
        <Nothing title="No slow request">
          <p>
            Requests that take {msText(requestMs)} or longer appear here. Change the limit with{' '}
            <code>
              settings: {'{'} slowLog: {'{'} requestMs: {requestMs} {'}'} {'}'}
            </code>
            .
          </p>
        </Nothing>
      ) : (
        <LongTable
          name="requests"
          label="Slow requests"
          rows={rows}
          columns={REQUEST_COLUMNS}
          keyOf={({ process, requestId, at, ms }) => `${process} ${requestId} ${at} ${ms}`}
        />
      )}
    </Section>
  );
}

/** The text of a statement: its beginning, and all of it on request. */
function Statement({ text }: { text: string }) {
  return (
    <details class="operations-statement">
      <summary>
        <code>{text}</code>
      </summary>
      <pre tabindex={0}>{text}</pre>
    </details>
  );
}

const STATEMENT_COLUMNS: TableColumn<StatementRuns>[] = [
  { name: 'text', label: 'Statement', render: ({ text }) => <Statement text={text} /> },
  { name: 'calls', label: 'Runs', isNumber: true, render: ({ calls }) => numberText(calls) },
  { name: 'mean', label: 'Mean', isNumber: true, render: ({ calls, totalMs }) => msText(totalMs / calls) },
  { name: 'max', label: 'Longest', isNumber: true, render: ({ maxMs }) => msText(maxMs) },
  { name: 'total', label: 'Total', isNumber: true, render: ({ totalMs }) => msText(totalMs) },
  { name: 'rows', label: 'Rows', isNumber: true, render: ({ rows }) => numberText(rows) },
];

const SOURCES: [Option, Option] = [
  ['app', 'Slow runs of the app'],
  ['all', 'All runs in Postgres'],
];

const MISSING = {
  'not installed': 'The database does not have the extension pg_stat_statements.',
  'not loaded': 'The extension pg_stat_statements is created, but the server does not load it.',
  'not permitted': 'The user of the app may not read pg_stat_statements.',
};

/** The statistics of Postgres itself, which count every run of every statement. */
function Statistics() {
  const statistics = useLoaded<StatementStatistics>('/operations/slow/statistics');
  return (
    <Loaded from={statistics}>
      {({ missing, statements }) =>
        missing !== undefined ? (
          <Nothing title={MISSING[missing]}>
            <p>It counts every run of every statement, of all programs. To switch it on:</p>
            <Code label="How to switch on pg_stat_statements" text={ENABLE} />
          </Nothing>
        ) : statements.length === 0 ? (
          <Nothing title="No statement has run since the statistics were reset" />
        ) : (
          <LongTable
            name="statistics"
            label="Statements in Postgres"
            rows={statements}
            columns={STATEMENT_COLUMNS}
            keyOf={({ text, calls }) => `${text} ${calls}`}
          />
        )
      }
    </Loaded>
  );
}

function Statements({ data: { statements, thresholds } }: { data: SlowWork }) {
  const isAll = place.value.params.get('statements') === 'all';
  const empty = (
    <Nothing title="No slow statement">
      <p>
        Statements that take {msText(thresholds.statementMs)} or longer appear here. Change the limit with{' '}
        <code>
          settings: {'{'} slowLog: {'{'} statementMs: {thresholds.statementMs} {'}'} {'}'}
        </code>
        .
      </p>
    </Nothing>
  );
  return (
    <Section
      title="Statements"
      actions={<ViewChoice label="Source of the statements" name="statements" options={SOURCES} />}
    >
      {isAll && <Statistics />}
      {!isAll &&
        (statements.length === 0 ? (
          empty
        ) : (
          <LongTable
            name="statements"
            label="Slow statements"
            rows={statements}
            columns={STATEMENT_COLUMNS}
            keyOf={({ text }) => text}
          />
        ))}
    </Section>
  );
}

/** Requests and statements that took long. */
export function SlowPage() {
  const slow = useLoaded<SlowWork>('/operations/slow', { everyMs: POLL_MS });
  const clear = async () => {
    await call('/operations/slow/clear', { method: 'POST' });
    await slow.reload();
  };
  const question = {
    title: 'Clear the slow work of all processes?',
    text: 'Their memory of slow requests and statements is emptied within 10 seconds. Logs and metrics stay.',
    action: 'Clear',
  };
  return (
    <Page
      title="Slow work"
      intro="What each process remembers since its start: its newest and slowest requests, and the statements that took the most time."
      actions={
        <ActionButton run={clear} confirm={question} done="The slow work is cleared">
          Clear
        </ActionButton>
      }
    >
      <Loaded from={slow}>
        {(data) => (
          <>
            <Requests data={data} />
            <Statements data={data} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
