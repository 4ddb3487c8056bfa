import {
  ActionButton,
  app,
  Choice,
  Code,
  call,
  DataTable,
  html,
  Loaded,
  Nothing,
  Page,
  place,
  Section,
  Status,
  setParams,
  Time,
  useLoaded,
} from 'belfry/console';
import { msText, numberText } from './format.js';

const POLL_MS = 5000;
const ENABLE = `-- postgresql.conf, then restart Postgres:
shared_preload_libraries = 'pg_stat_statements'

-- In the database of the app, as its owner or a superuser:
create extension pg_stat_statements;
grant pg_read_all_stats to <the user of DATABASE_URL>;`;

function RequestStatus({ status }) {
  if (status === null) return html`<${Status} kind="neutral">client left<//>`;
  return html`<${Status} kind=${status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good'}>${status}<//>`;
}

/** The rows that are shown until the user asks for all. */
const FIRST_ROWS = 25;
const MAX_ID = 13;
const shortId = (id) => (id.length > MAX_ID ? `${id.slice(0, MAX_ID)}…` : id);

/** The id of a request; in development a link to its lines of the log. */
function RequestId({ id }) {
  if (id === null) return '–';
  if (app.value.mode !== 'development') return html`<code title=${id}>${shortId(id)}</code>`;
  return html`<a href=${`/console/operations/log?request=${encodeURIComponent(id)}`} title=${`Show the lines of request ${id} in the log`}>
    <code>${shortId(id)}</code>
  </a>`;
}

const REQUEST_COLUMNS = [
  {
    name: 'route',
    label: 'Route',
    render: ({ method, route }) => html`<span class="operations-stack">
      <span class="operations-route">${route ?? 'unknown path'}</span><span class="soft">${method}</span>
    </span>`,
  },
  { name: 'ms', label: 'Duration', isNumber: true, render: ({ ms }) => msText(ms) },
  { name: 'status', label: 'Status', render: ({ status }) => html`<${RequestStatus} status=${status} />` },
  {
    name: 'postgres',
    label: 'In Postgres',
    isNumber: true,
    render: ({ statements, postgresMs }) => html`<span class="operations-stack">
      <span>${msText(postgresMs)}</span><span class="soft">${statements}${'\u00a0'}${statements === 1 ? 'statement' : 'statements'}</span>
    </span>`,
  },
  { name: 'at', label: 'When', render: ({ at }) => html`<${Time} value=${at} />` },
  { name: 'id', label: 'Request', render: ({ requestId }) => html`<${RequestId} id=${requestId} />` },
];

/** Chooses between views of a list. The choice is in the address; the first option is the default. */
function ViewChoice({ label, name, options }) {
  const [[first]] = options;
  const choose = (value) => setParams({ [name]: value === first ? undefined : value });
  return html`<${Choice} label=${label} options=${options} value=${place.value.params.get(name) ?? first} onChange=${choose} />`;
}

const ORDERS = [
  ['newest', 'Newest'],
  ['slowest', 'Slowest'],
];

/** The first rows of a table, and a button that shows all. The choice is in the address. */
function LongTable({ name, rows, ...table }) {
  const isAll = place.value.params.get('all') === name || rows.length <= FIRST_ROWS;
  return html`<${DataTable} ...${table} rows=${isAll ? rows : rows.slice(0, FIRST_ROWS)} />
    ${!isAll && html`<p class="more"><button type="button" onClick=${() => setParams({ all: name })}>Show all ${rows.length}</button></p>`}`;
}

function Requests({ data }) {
  const rows = data[place.value.params.get('order') === 'slowest' ? 'slowest' : 'newest'];
  const { requestMs } = data.thresholds;
  return html`<${Section} title="Slow requests" actions=${html`<${ViewChoice} label="Order of the requests" name="order" options=${ORDERS} />`}>
    ${
      rows.length === 0
        ? html`<${Nothing} title="No slow request">
            <p>Requests that take ${msText(requestMs)} or longer appear here. Change the limit with <code>settings: { slowLog: { requestMs: ${requestMs} } }</code>.</p>
          <//>`
        : html`<${LongTable}
            name="requests"
            label="Slow requests"
            rows=${rows}
            columns=${REQUEST_COLUMNS}
            keyOf=${({ process, requestId, at, ms }) => `${process} ${requestId} ${at} ${ms}`}
          />`
    }
  <//>`;
}

/** The text of a statement: its beginning, and all of it on request. */
function Statement({ text }) {
  return html`<details class="operations-statement"><summary><code>${text}</code></summary><pre tabindex="0">${text}</pre></details>`;
}

const statementColumns = [
  { name: 'text', label: 'Statement', render: ({ text }) => html`<${Statement} text=${text} />` },
  { name: 'calls', label: 'Runs', isNumber: true, render: ({ calls }) => numberText(calls) },
  { name: 'mean', label: 'Mean', isNumber: true, render: ({ calls, totalMs }) => msText(totalMs / calls) },
  { name: 'max', label: 'Longest', isNumber: true, render: ({ maxMs }) => msText(maxMs) },
  { name: 'total', label: 'Total', isNumber: true, render: ({ totalMs }) => msText(totalMs) },
  { name: 'rows', label: 'Rows', isNumber: true, render: ({ rows }) => numberText(rows) },
];

const SOURCES = [
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
  const statistics = useLoaded('/operations/slow/statistics');
  return html`<${Loaded} from=${statistics}>
    ${({ missing, statements }) =>
      missing !== undefined
        ? html`<${Nothing} title=${MISSING[missing]}>
            <p>It counts every run of every statement, of all programs. To switch it on:</p>
            <${Code} label="How to switch on pg_stat_statements" text=${ENABLE} />
          <//>`
        : statements.length === 0
          ? html`<${Nothing} title="No statement has run since the statistics were reset" />`
          : html`<${LongTable} name="statistics" label="Statements in Postgres" rows=${statements} columns=${statementColumns} keyOf=${({ text, calls }) => `${text} ${calls}`} />`}
  <//>`;
}

function Statements({ data: { statements, thresholds } }) {
  const isAll = place.value.params.get('statements') === 'all';
  const empty = html`<${Nothing} title="No slow statement">
    <p>Statements that take ${msText(thresholds.statementMs)} or longer appear here. Change the limit with <code>settings: { slowLog: { statementMs: ${thresholds.statementMs} } }</code>.</p>
  <//>`;
  return html`<${Section} title="Statements" actions=${html`<${ViewChoice} label="Source of the statements" name="statements" options=${SOURCES} />`}>
    ${isAll && html`<${Statistics} />`}
    ${!isAll && (statements.length === 0 ? empty : html`<${LongTable} name="statements" label="Slow statements" rows=${statements} columns=${statementColumns} keyOf=${({ text }) => text} />`)}
  <//>`;
}

/** Requests and statements that took long. */
export function SlowPage() {
  const slow = useLoaded('/operations/slow', { everyMs: POLL_MS });
  const clear = async () => {
    await call('/operations/slow/clear', { method: 'POST' });
    await slow.reload();
  };
  const question = {
    title: 'Clear the slow work of all processes?',
    text: 'Their memory of slow requests and statements is emptied within 10 seconds. Logs and metrics stay.',
    action: 'Clear',
  };
  return html`<${Page}
    title="Slow work"
    intro="What each process remembers since its start: its newest and slowest requests, and the statements that took the most time."
    actions=${html`<${ActionButton} run=${clear} confirm=${question} done="The slow work is cleared">Clear<//>`}
  >
    <${Loaded} from=${slow}>${(data) => html`<${Requests} data=${data} /><${Statements} data=${data} />`}<//>
  <//>`;
}
