import type { TargetedEvent } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { app, Code, clockText, Nothing, Page, place, setParams } from '../../console/kit.ts';
import { filterLines, LEVELS, type LogFilters, type LogLine, summaryOf, useLines } from './log-lines.ts';

/** More lines would make the page slow; filters reach the others. */
const MAX_SHOWN = 400;
const KINDS: Record<string, string> = { warn: 'warn', error: 'bad', fatal: 'bad' };
/** Fields that the line itself shows. */
const SHOWN_FIELDS = new Set(['level', 'time', 'msg', 'process']);

function Line({ line: { id, fields } }: { line: LogLine }) {
  const { level, time, msg, process, requestId } = fields;
  const details = Object.fromEntries(Object.entries(fields).filter(([name]) => !SHOWN_FIELDS.has(name)));
  const hasDetails = Object.keys(details).length > 0;
  const date = new Date(time ?? '');
  const head = (
    <>
      <time datetime={time} title={time}>
        {Number.isNaN(date.getTime()) ? '' : clockText(date, { hasSeconds: true })}
      </time>
      <span class={`operations-level ${KINDS[level ?? ''] ?? ''}`}>{level}</span>
      <span class="operations-message">
        <span class="operations-text">{msg}</span> <span class="soft">{summaryOf(fields)}</span>
      </span>
      <span class="soft operations-process">{process}</span>
    </>
  );
  if (!hasDetails)
    return (
      <li key={id} class="operations-line">
        {head}
      </li>
    );
  return (
    <li key={id}>
      <details>
        <summary class="operations-line">{head}</summary>
        <div class="operations-fields">
          {requestId && (
            <p>
              <a href={`/console/operations/log?request=${encodeURIComponent(requestId)}`}>Show only this request</a>
            </p>
          )}
          <Code label="Fields of the line" text={JSON.stringify(details, null, 2)} />
        </div>
      </details>
    </li>
  );
}

function Filters(props: { filters: LogFilters; isPaused: boolean; onPause: () => void; onClear: () => void }) {
  const { filters, isPaused, onPause, onClear } = props;
  const change = (name: keyof LogFilters) => (event: TargetedEvent<HTMLInputElement | HTMLSelectElement>) =>
    setParams({ [name]: event.currentTarget.value }, { replace: true });
  return (
    <form
      class="operations-filters"
      role="search"
      aria-label="Filter the log"
      onSubmit={(event) => event.preventDefault()}
    >
      <label>
        Level
        <select value={filters.level} onChange={change('level')}>
          {LEVELS.map((level) => (
            <option key={level} value={level === 'trace' ? '' : level}>
              {level === 'trace' ? 'all' : `${level} and above`}
            </option>
          ))}
        </select>
      </label>
      <label class="operations-grow">
        Search
        <input type="search" value={filters.q} placeholder="in all fields" onInput={change('q')} />
      </label>
      <label class="operations-grow">
        Request
        <input value={filters.request} placeholder="id of a request" spellcheck={false} onInput={change('request')} />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={filters.console !== ''}
          onChange={(event) =>
            setParams({ console: event.currentTarget.checked ? 'show' : undefined }, { replace: true })
          }
        />
        Show console requests
      </label>
      <button type="button" aria-pressed={isPaused ? 'true' : 'false'} onClick={onPause}>
        {isPaused ? 'Continue' : 'Pause'}
      </button>
      <button type="button" onClick={onClear}>
        Clear
      </button>
    </form>
  );
}

/** Keeps the newest line in view, unless the reader has scrolled up. */
function useFollow(newest: string | undefined) {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const onScroll = ({ currentTarget }: TargetedEvent<HTMLDivElement>) => {
    const { scrollTop, clientHeight, scrollHeight } = currentTarget;
    isAtEnd.current = scrollTop + clientHeight > scrollHeight - 40;
  };
  useEffect(() => {
    if (box.current !== null && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [newest]);
  return { box, onScroll };
}

function NoLines({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Nothing title="No line matches">
        <p>Change the filters. Older lines than the newest 2,000 are only in the terminal.</p>
      </Nothing>
    );
  return (
    <Nothing title="No lines yet">
      <p>
        Each request and each unit of background work writes a line. Your code writes some with{' '}
        <code>
          ctx.log.info({'{'} orderId {'}'}, 'paid')
        </code>
        .
      </p>
    </Nothing>
  );
}

/** The log of all processes, while it is written. It exists only in development. */
export function LogPage() {
  const [isPaused, setPaused] = useState(false);
  const { lines, error, isLoading, clear } = useLines(isPaused);
  const { params } = place.value;
  const filters = {
    level: params.get('level') ?? '',
    q: params.get('q') ?? '',
    request: params.get('request') ?? '',
    console: params.get('console') ?? '',
  };
  const matching = useMemo(() => filterLines(lines, filters), [lines, ...Object.values(filters)]);
  const shown = matching.slice(-MAX_SHOWN);
  const { box, onScroll } = useFollow(shown.at(-1)?.id);
  const isFiltered = matching.length < lines.length;
  if (app.value.mode !== 'development')
    return (
      <Page title="Log">
        <Nothing title="The log is shown only in development">
          <p>In production, each process writes its log to standard output.</p>
        </Nothing>
      </Page>
    );
  return (
    <Page title="Log" intro="The newest lines of all processes on this machine, as they are written.">
      <Filters filters={filters} isPaused={isPaused} onPause={() => setPaused(!isPaused)} onClear={clear} />
      {error && (
        <p class="banner bad" role="alert">
          <span>{error.message}</span>
        </p>
      )}
      <p class="soft operations-count" role="status">
        {isLoading
          ? 'Loading…'
          : `${matching.length} of ${lines.length} lines${shown.length < matching.length ? `, the newest ${shown.length} are shown` : ''}${isPaused ? ', paused' : ''}`}
      </p>
      {shown.length === 0 ? (
        !isLoading && <NoLines isFiltered={isFiltered} />
      ) : (
        <div
          class="operations-log"
          ref={box}
          onScroll={onScroll}
          role="region"
          aria-label="Lines of the log"
          tabindex={0}
        >
          <ol>
            {shown.map((line) => (
              <Line key={line.id} line={line} />
            ))}
          </ol>
        </div>
      )}
    </Page>
  );
}
