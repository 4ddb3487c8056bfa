import {
  ActionButton,
  app,
  Choice,
  Code,
  call,
  DataTable,
  FilterForm,
  Loaded,
  Nothing,
  Page,
  place,
  Section,
  SelectFilter,
  setParams,
  type TableColumn,
  Time,
  useLoaded,
} from '../../console/kit.ts';
import { msText, numberText } from './format.tsx';
import { RequestTarget } from './log-target.tsx';
import { OUTCOME_OPTIONS, OutcomeStatus, requestOutcome } from './outcome.tsx';
import { texts } from './texts.ts';
import type { ListedRequest, SlowWork, StatementRuns, StatementStatistics } from './types.ts';

const { slow: words } = texts;
const POLL_MS = 5000;
const ENABLE = `-- ${words.enableConfig}
shared_preload_libraries = 'pg_stat_statements'

-- ${words.enableDatabase}
create extension pg_stat_statements;
grant pg_read_all_stats to <${words.enableUser}>;`;

/** The rows that are shown until the user asks for all. */
const FIRST_ROWS = 25;
const MAX_ID = 13;
const shortId = (id: string) => (id.length > MAX_ID ? `${id.slice(0, MAX_ID)}…` : id);

/** The id of a request; in development a link to its lines of the log. */
function RequestId({ id }: { id: string | null }) {
  if (id === null) return '–';
  if (app.value.mode !== 'development') return <code title={id}>{shortId(id)}</code>;
  return (
    <a href={`/console/operations/log?request=${encodeURIComponent(id)}`} title={words.showLines(id)}>
      <code>{shortId(id)}</code>
    </a>
  );
}

const REQUEST_COLUMNS: TableColumn<ListedRequest>[] = [
  {
    name: 'route',
    label: words.request,
    render: ({ method, route }) => (
      <span class="operations-stack">
        <span class="operations-route">{route ?? words.unknownPath}</span>
        <span class="soft">
          {method} {route !== null && <RequestTarget route={route} />}
        </span>
      </span>
    ),
  },
  { name: 'ms', label: words.duration, isNumber: true, render: ({ ms }) => msText(ms) },
  {
    name: 'outcome',
    label: words.outcome,
    render: ({ status }) => <OutcomeStatus outcome={requestOutcome(status)} />,
  },
  {
    name: 'postgres',
    label: words.postgres,
    isNumber: true,
    render: ({ statements, postgresMs }) => (
      <span class="operations-stack">
        <span>{msText(postgresMs)}</span>
        <span class="soft">{words.statementCount(numberText(statements))}</span>
      </span>
    ),
  },
  { name: 'at', label: words.when, render: ({ at }) => <Time value={at} /> },
  { name: 'id', label: words.id, render: ({ requestId }) => <RequestId id={requestId} /> },
];

type Option = [value: string, text: string];

/** Chooses between two views of a list. The choice is in the address; the first option is the default. */
function ViewChoice({ label, name, options }: { label: string; name: string; options: [Option, Option] }) {
  const [[first]] = options;
  const choose = (value: string) => setParams({ [name]: value === first ? undefined : value });
  return <Choice label={label} options={options} value={place.value.params.get(name) ?? first} onChange={choose} />;
}

const ORDERS: [Option, Option] = [
  ['newest', words.newest],
  ['slowest', words.slowest],
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
            {words.showRows(numberText(rows.length))}
          </button>
        </p>
      )}
    </>
  );
}

/** The slow requests that the address selects: in its order, and with its outcome. */
function selectRequests(data: SlowWork): readonly ListedRequest[] {
  const { params } = place.value;
  const group = params.get('outcome');
  const rows = data[params.get('order') === 'slowest' ? 'slowest' : 'newest'];
  return group === null ? rows : rows.filter(({ status }) => requestOutcome(status).group === group);
}

function NoRequests({ data }: { data: SlowWork }) {
  const { requestMs } = data.thresholds;
  if (data.newest.length > 0) return <Nothing title={words.noMatch} />;
  return (
    <Nothing title={words.noRequest}>
      <p>
        {words.noRequestNote(msText(requestMs))}{' '}
        <code>
          settings: {'{'} slowLog: {'{'} requestMs: {requestMs} {'}'} {'}'}
        </code>
        .
      </p>
    </Nothing>
  );
}

/** Requests are never retried by the server. */
const REQUEST_OUTCOMES = OUTCOME_OPTIONS.filter(([group]) => group !== 'retry');

function Requests({ data }: { data: SlowWork }) {
  const rows = selectRequests(data);
  return (
    <Section title={words.requests} actions={<ViewChoice label={words.order} name="order" options={ORDERS} />}>
      <FilterForm kind="operations-outcomes" label={words.requests}>
        <SelectFilter name="outcome" label={words.outcome} all={words.anyOutcome} options={REQUEST_OUTCOMES} />
      </FilterForm>
      {rows.length === 0 ? (
        <NoRequests data={data} />
      ) : (
        <LongTable
          name="requests"
          label={words.requests}
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
  { name: 'text', label: words.statement, render: ({ text }) => <Statement text={text} /> },
  { name: 'calls', label: words.runs, isNumber: true, render: ({ calls }) => numberText(calls) },
  { name: 'mean', label: words.mean, isNumber: true, render: ({ calls, totalMs }) => msText(totalMs / calls) },
  { name: 'max', label: words.longest, isNumber: true, render: ({ maxMs }) => msText(maxMs) },
  { name: 'total', label: words.total, isNumber: true, render: ({ totalMs }) => msText(totalMs) },
  { name: 'rows', label: words.rows, isNumber: true, render: ({ rows }) => numberText(rows) },
];

const SOURCES: [Option, Option] = [
  ['app', words.ofApp],
  ['all', words.ofPostgres],
];

/** The statistics of Postgres itself, which count every run of every statement. */
function Statistics() {
  const statistics = useLoaded<StatementStatistics>('/operations/slow/statistics');
  return (
    <Loaded from={statistics}>
      {({ missing, statements }) =>
        missing !== undefined ? (
          <Nothing title={words.missing[missing]}>
            <p>{words.missingNote}</p>
            <Code label={words.enableLabel} text={ENABLE} />
          </Nothing>
        ) : statements.length === 0 ? (
          <Nothing title={words.noStatistics} />
        ) : (
          <LongTable
            name="statistics"
            label={words.allTable}
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
    <Nothing title={words.noStatement}>
      <p>
        {words.noStatementNote(msText(thresholds.statementMs))}{' '}
        <code>
          settings: {'{'} slowLog: {'{'} statementMs: {thresholds.statementMs} {'}'} {'}'}
        </code>
        .
      </p>
    </Nothing>
  );
  return (
    <Section title={words.statements} actions={<ViewChoice label={words.source} name="statements" options={SOURCES} />}>
      {isAll && <Statistics />}
      {!isAll &&
        (statements.length === 0 ? (
          empty
        ) : (
          <LongTable
            name="statements"
            label={words.slowTable}
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
    title: words.clearTitle,
    text: words.clearText,
    action: words.clear,
  };
  return (
    <Page
      title={words.title}
      intro={words.intro}
      actions={
        <ActionButton run={clear} confirm={question} done={words.cleared}>
          {words.clear}
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
