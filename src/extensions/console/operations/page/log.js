import { app, Code, call, clockText, html, Nothing, Page, place, setParams } from 'belfry/console';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { msText } from './format.js';

const POLL_MS = 1000;
const MAX_LINES = 2000;
/** More lines would make the page slow; filters reach the others. */
const MAX_SHOWN = 400;
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];
const KINDS = { warn: 'warn', error: 'bad', fatal: 'bad' };
/** Fields that the line itself shows. */
const SHOWN_FIELDS = new Set(['level', 'time', 'msg', 'process']);

/** Reads new lines while it is not paused. @returns {{ lines: any[], error: any, isLoading: boolean }} oldest first */
function useLines(isPaused) {
  const [lines, setLines] = useState([]);
  const [error, setError] = useState();
  const [isLoading, setLoading] = useState(true);
  const last = useRef();
  useEffect(() => {
    if (isPaused) return undefined;
    let timer;
    let isStopped = false;
    const read = async () => {
      try {
        const query = last.current === undefined ? '' : `?${new URLSearchParams({ after: last.current })}`;
        const { data } = document.hidden ? { data: [] } : await call(`/operations/log${query}`);
        if (isStopped) return;
        last.current = data.at(-1)?.id ?? last.current;
        if (data.length > 0) setLines((before) => [...before, ...data].slice(-MAX_LINES));
        setError(undefined);
      } catch (failure) {
        if (isStopped) return;
        setError(failure);
      }
      setLoading(false);
      timer = setTimeout(read, POLL_MS);
    };
    read();
    return () => {
      isStopped = true;
      clearTimeout(timer);
    };
  }, [isPaused]);
  return { lines, error, isLoading, clear: () => setLines([]) };
}

/** What a line of a request says, besides its message. */
function summaryOf({ method, route, status, durationMs, outcome, err }) {
  const request = method === undefined ? undefined : `${method} ${route ?? 'unknown path'}`;
  const parts = [
    request,
    status,
    outcome === 'aborted' ? 'client left' : undefined,
    durationMs === undefined ? undefined : msText(durationMs),
    err?.message,
  ];
  return parts.filter((part) => part !== undefined).join(' · ');
}

function Line({ line: { id, fields } }) {
  const { level, time, msg, process, requestId } = fields;
  const details = Object.fromEntries(Object.entries(fields).filter(([name]) => !SHOWN_FIELDS.has(name)));
  const hasDetails = Object.keys(details).length > 0;
  const date = new Date(time);
  const head = html`<time datetime=${time} title=${time}>${Number.isNaN(date.getTime()) ? '' : clockText(date, { hasSeconds: true })}</time>
    <span class=${`operations-level ${KINDS[level] ?? ''}`}>${level}</span>
    <span class="operations-message"><span class="operations-text">${msg}</span> <span class="soft">${summaryOf(fields)}</span></span>
    <span class="soft operations-process">${process}</span>`;
  if (!hasDetails) return html`<li key=${id} class="operations-line">${head}</li>`;
  return html`<li key=${id}>
    <details>
      <summary class="operations-line">${head}</summary>
      <div class="operations-fields">
        ${
          requestId &&
          html`<p><a href=${`/console/operations/log?request=${encodeURIComponent(requestId)}`}>Show only this request</a></p>`
        }
        <${Code} label="Fields of the line" text=${JSON.stringify(details, null, 2)} />
      </div>
    </details>
  </li>`;
}

/** Whether a line is the one of a request to the console, which open pages send every few seconds. */
const isConsoleRequest = ({ method, route }) => method !== undefined && /^\/console(\/|$)/.test(route ?? '');

/** Returns the lines that the filters of the address include. */
function filterLines(lines, { level, q, request, console: ofConsole }) {
  const lowest = LEVELS.indexOf(level);
  const wanted = q.toLowerCase();
  // A request whose id is given is shown, also if it is one to the console.
  const showsConsole = ofConsole !== '' || request !== '';
  return lines.filter(
    ({ fields }) =>
      LEVELS.indexOf(fields.level) >= lowest &&
      (showsConsole || !isConsoleRequest(fields)) &&
      (request === '' || fields.requestId === request) &&
      (wanted === '' || JSON.stringify(fields).toLowerCase().includes(wanted)),
  );
}

function Filters({ filters, isPaused, onPause, onClear }) {
  const change = (name) => (event) => setParams({ [name]: event.target.value }, { replace: true });
  return html`<form class="operations-filters" role="search" aria-label="Filter the log" onSubmit=${(event) => event.preventDefault()}>
    <label>Level
      <select value=${filters.level} onChange=${change('level')}>
        ${LEVELS.map((level) => html`<option key=${level} value=${level === 'trace' ? '' : level}>${level === 'trace' ? 'all' : `${level} and above`}</option>`)}
      </select>
    </label>
    <label class="operations-grow">Search
      <input type="search" value=${filters.q} placeholder="in all fields" onInput=${change('q')} />
    </label>
    <label class="operations-grow">Request
      <input value=${filters.request} placeholder="id of a request" spellcheck=${false} onInput=${change('request')} />
    </label>
    <label class="check">
      <input
        type="checkbox"
        checked=${filters.console !== ''}
        onChange=${(event) => setParams({ console: event.target.checked ? 'show' : undefined }, { replace: true })}
      />
      Show console requests
    </label>
    <button type="button" aria-pressed=${isPaused ? 'true' : 'false'} onClick=${onPause}>${isPaused ? 'Continue' : 'Pause'}</button>
    <button type="button" onClick=${onClear}>Clear</button>
  </form>`;
}

/** Keeps the newest line in view, unless the reader has scrolled up. */
function useFollow(count) {
  const box = useRef(null);
  const isAtEnd = useRef(true);
  const onScroll = ({ target }) => {
    isAtEnd.current = target.scrollTop + target.clientHeight > target.scrollHeight - 40;
  };
  useEffect(() => {
    if (box.current !== null && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [count]);
  return { box, onScroll };
}

function NoLines({ isFiltered }) {
  if (isFiltered)
    return html`<${Nothing} title="No line matches"><p>Change the filters. Older lines than the newest 2,000 are only in the terminal.</p><//>`;
  return html`<${Nothing} title="No lines yet"><p>Each request and each unit of background work writes a line. Your code writes some with <code>ctx.log.info({ orderId }, 'paid')</code>.</p><//>`;
}

/** The log of all processes, while it is written. It exists only in development. */
export function LogPage() {
  const [isPaused, setPaused] = useState(false);
  const { lines, error, isLoading, clear } = useLines(isPaused);
  const { params } = place.value;
  const [level, q, request, ofConsole] = ['level', 'q', 'request', 'console'].map((name) => params.get(name) ?? '');
  const filters = { level, q, request, console: ofConsole };
  const matching = useMemo(() => filterLines(lines, filters), [lines, level, q, request, ofConsole]);
  const shown = matching.slice(-MAX_SHOWN);
  const { box, onScroll } = useFollow(shown.at(-1)?.id);
  const isFiltered = matching.length < lines.length;
  if (app.value.mode !== 'development')
    return html`<${Page} title="Log"><${Nothing} title="The log is shown only in development"><p>In production, each process writes its log to standard output.</p><//><//>`;
  return html`<${Page} title="Log" intro="The newest lines of all processes on this machine, as they are written.">
    <${Filters} filters=${filters} isPaused=${isPaused} onPause=${() => setPaused(!isPaused)} onClear=${clear} />
    ${error && html`<p class="banner bad" role="alert"><span>${error.message}</span></p>`}
    <p class="soft operations-count" role="status">
      ${isLoading ? 'Loading…' : `${matching.length} of ${lines.length} lines${shown.length < matching.length ? `, the newest ${shown.length} are shown` : ''}${isPaused ? ', paused' : ''}`}
    </p>
    ${
      shown.length === 0
        ? !isLoading && html`<${NoLines} isFiltered=${isFiltered} />`
        : html`<div class="operations-log" ref=${box} onScroll=${onScroll} role="region" aria-label="Lines of the log" tabindex="0">
            <ol>${shown.map((line) => html`<${Line} key=${line.id} line=${line} />`)}</ol>
          </div>`
    }
  <//>`;
}
