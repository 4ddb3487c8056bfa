import type { TargetedEvent } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { app, Code, clockText, Facts, Nothing, Page, place, setParams } from '../../console/kit.ts';
import { Marked, msText, numberText } from './format.tsx';
import type { LogFields, LogLine } from './log-fields.ts';
import { filterLines, LEVELS, type LogFilters, useLines } from './log-lines.ts';
import { LogSubject, LogTarget } from './log-target.tsx';
import { OUTCOME_OPTIONS, OutcomeStatus, outcomeOf } from './outcome.tsx';
import { texts } from './texts.ts';

const { log: words } = texts;
/** More lines would make the page slow; filters reach the others. */
const MAX_SHOWN = 400;
/** Fields that the line itself shows. */
const SHOWN_FIELDS = new Set(['time', 'msg']);

const fieldText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

/** All fields of a line, on request. */
function Details({ fields }: { fields: LogFields }) {
  const { requestId, err } = fields;
  const { stack, ...error } = err ?? {};
  const others = Object.entries({ ...fields, err: err && error }).filter(
    ([name, value]) => !SHOWN_FIELDS.has(name) && value !== undefined,
  );
  return (
    <details class="operations-details">
      <summary class="operations-toggle">{words.details}</summary>
      <div class="operations-fields" role="group" aria-label={words.fields}>
        {requestId && (
          <p>
            <a href={`/console/operations/log?request=${encodeURIComponent(requestId)}`}>{words.onlyRequest}</a>
          </p>
        )}
        <Facts of={others.map(([name, value]) => [name, <code>{fieldText(value)}</code>])} />
        {stack && <Code label={words.stack} text={stack} />}
      </div>
    </details>
  );
}

function Line({ line: { id, fields } }: { line: LogLine }) {
  const { time, durationMs, err, error } = fields;
  const date = new Date(time ?? '');
  const outcome = outcomeOf(fields);
  const problem =
    err?.message ??
    error ??
    (fields.decision !== undefined && outcome?.group !== 'succeeded' ? fields.outcome : undefined);
  return (
    <li key={id} class="operations-line">
      <time datetime={time} title={time}>
        {Number.isNaN(date.getTime()) ? '' : clockText(date, { hasSeconds: true })}
      </time>
      <span class="operations-subject">
        <LogSubject fields={fields} />
        {problem && <span class="operations-problem">{problem}</span>}
      </span>
      <span class="operations-outcome">{outcome && <OutcomeStatus outcome={outcome} />}</span>
      <LogTarget fields={fields} />
      <span class="soft operations-duration">{durationMs !== undefined && msText(durationMs)}</span>
      <Details fields={fields} />
    </li>
  );
}

function Filters(props: { filters: LogFilters; isPaused: boolean; onPause: () => void; onClear: () => void }) {
  const { filters, isPaused, onPause, onClear } = props;
  const change = (name: keyof LogFilters) => (event: TargetedEvent<HTMLInputElement | HTMLSelectElement>) =>
    setParams({ [name]: event.currentTarget.value }, { replace: true });
  return (
    <form
      class="filters operations-filters"
      role="search"
      aria-label={words.filter}
      onSubmit={(event) => event.preventDefault()}
    >
      <label>
        {words.outcome}
        <select value={filters.outcome} onChange={change('outcome')}>
          <option value="">{words.anyOutcome}</option>
          {OUTCOME_OPTIONS.map(([group, text]) => (
            <option key={group} value={group}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label>
        {words.level}
        <select value={filters.level} onChange={change('level')}>
          {LEVELS.map((level) => (
            <option key={level} value={level === 'trace' ? '' : level}>
              {level === 'trace' ? words.anyLevel : words.fromLevel(level)}
            </option>
          ))}
        </select>
      </label>
      <label class="operations-grow">
        {words.search}
        <input type="search" value={filters.q} placeholder={words.searchHint} onInput={change('q')} />
      </label>
      <label class="operations-grow">
        {words.request}
        <input value={filters.request} placeholder={words.requestHint} spellcheck={false} onInput={change('request')} />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={filters.console !== ''}
          onChange={(event) =>
            setParams({ console: event.currentTarget.checked ? 'show' : undefined }, { replace: true })
          }
        />
        {words.console}
      </label>
      <button type="button" aria-pressed={isPaused ? 'true' : 'false'} onClick={onPause}>
        {isPaused ? words.continue : words.pause}
      </button>
      <button type="button" onClick={onClear}>
        {words.clear}
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
  return (
    <Nothing title={isFiltered ? words.noMatch : words.none}>
      <p>
        <Marked text={isFiltered ? words.noMatchNote : words.noneNote} />
      </p>
    </Nothing>
  );
}

/** How many lines there are, and how many are shown. */
function countText(matching: number, all: number, shown: number, isPaused: boolean): string {
  return [
    words.count(numberText(matching), numberText(all)),
    shown < matching ? words.newest(numberText(shown)) : undefined,
    isPaused ? words.paused : undefined,
  ]
    .filter((part) => part !== undefined)
    .join(', ');
}

function Lines() {
  const [isPaused, setPaused] = useState(false);
  const { lines, error, isLoading, clear } = useLines(isPaused);
  const { params } = place.value;
  const read = (name: keyof LogFilters) => params.get(name) ?? '';
  const filters: LogFilters = {
    level: read('level'),
    outcome: read('outcome'),
    q: read('q'),
    request: read('request'),
    console: read('console'),
  };
  const matching = useMemo(() => filterLines(lines, filters), [lines, ...Object.values(filters)]);
  const shown = matching.slice(-MAX_SHOWN);
  const { box, onScroll } = useFollow(shown.at(-1)?.id);
  return (
    <>
      <Filters filters={filters} isPaused={isPaused} onPause={() => setPaused(!isPaused)} onClear={clear} />
      {error && (
        <p class="banner bad" role="alert">
          <span>{error.message}</span>
        </p>
      )}
      <p class="soft operations-count" role="status">
        {isLoading ? words.loading : countText(matching.length, lines.length, shown.length, isPaused)}
      </p>
      {shown.length === 0 ? (
        !isLoading && <NoLines isFiltered={matching.length < lines.length} />
      ) : (
        <div class="operations-log" ref={box} onScroll={onScroll} role="region" aria-label={words.lines} tabindex={0}>
          <ol>
            {shown.map((line) => (
              <Line key={line.id} line={line} />
            ))}
          </ol>
        </div>
      )}
    </>
  );
}

/** The log of all processes, while it is written. It exists only in development. */
export function LogPage() {
  if (app.value.mode !== 'development')
    return (
      <Page title={words.title}>
        <Nothing title={words.onlyDevelopment}>
          <p>{words.onlyDevelopmentNote}</p>
        </Nothing>
      </Page>
    );
  return (
    <Page title={words.title} intro={words.intro}>
      <Lines />
    </Page>
  );
}
