import { useEffect, useRef, useState } from 'preact/hooks';
import { call, type RequestError, toRequestError } from '../../console/kit.ts';
import type { LogFields, LogLine } from './log-fields.ts';
import { outcomeOf } from './outcome.tsx';

/** What lines are limited to, as in the address; empty: no limit. */
export interface LogFilters {
  level: string;
  outcome: string;
  q: string;
  request: string;
  /** Whether requests to the console are shown. */
  console: string;
}

const POLL_MS = 1000;
const MAX_LINES = 2000;

/** The levels of lines, from the lowest. */
export const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];

/** Reads new lines while it is not paused. The lines are oldest first. */
export function useLines(isPaused: boolean) {
  const [lines, setLines] = useState<LogLine[]>([]);
  const [error, setError] = useState<RequestError>();
  const [isLoading, setLoading] = useState(true);
  const last = useRef<string>(undefined);
  useEffect(() => {
    if (isPaused) return undefined;
    let timer: ReturnType<typeof setTimeout>;
    let isStopped = false;
    const read = async () => {
      try {
        const query = last.current === undefined ? '' : `?${new URLSearchParams({ after: last.current })}`;
        const { data } = document.hidden ? { data: [] } : await call<LogLine[]>(`/operations/log${query}`);
        if (isStopped) return;
        last.current = data.at(-1)?.id ?? last.current;
        if (data.length > 0) setLines((before) => [...before, ...data].slice(-MAX_LINES));
        setError(undefined);
      } catch (failure) {
        if (isStopped) return;
        setError(toRequestError(failure));
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

/** Whether a line is the one of a request to the console, which open pages send every few seconds. */
const isConsoleRequest = ({ method, route }: LogFields) => method !== undefined && /^\/console(\/|$)/.test(route ?? '');

/** Returns the lines that the filters of the address include. */
export function filterLines(lines: LogLine[], { level, outcome, q, request, console: ofConsole }: LogFilters) {
  const lowest = LEVELS.indexOf(level);
  const wanted = q.toLowerCase();
  // A request whose id is given is shown, also if it is one to the console.
  const showsConsole = ofConsole !== '' || request !== '';
  return lines.filter(
    ({ fields }) =>
      LEVELS.indexOf(fields.level ?? '') >= lowest &&
      (showsConsole || !isConsoleRequest(fields)) &&
      (request === '' || fields.requestId === request) &&
      (outcome === '' || outcomeOf(fields)?.group === outcome) &&
      (wanted === '' || JSON.stringify(fields).toLowerCase().includes(wanted)),
  );
}
