import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { RequestError } from '../../kit/request.ts';
import { readStream } from '../api.ts';
import { recoveries, waitForRecovery } from '../outage.ts';

const RECONNECT_MS = 1500;
/** Reconnect after this many ms without a byte. The server sends a heartbeat every 15 s. */
const SILENCE_MS = 40_000;
/** Wait this many ms for further changes, so that a burst of changes is one read. */
const GATHER_MS = 150;

/** Whether changes arrive: `off` on pages that show none. */
export const liveState = signal<'off' | 'live' | 'lost'>('off');

/** A change of a record. */
interface Change {
  id: string;
}

function parseChange(data: string): Change | undefined {
  try {
    const change = JSON.parse(data);
    return typeof change?.id === 'string' ? change : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the stream of changes until it is aborted, and reconnects when it ends. `onMissed`: some changes did not arrive. */
async function follow(
  path: string,
  stop: AbortSignal,
  { onChange, onMissed }: { onChange: (change: Change) => void; onMissed: () => void },
) {
  let isFirst = true;
  while (!stop.aborted) {
    const attempt = new AbortController();
    const abort = () => attempt.abort();
    stop.addEventListener('abort', abort);
    let silence = setTimeout(abort, SILENCE_MS);
    try {
      await readStream(path, {
        signal: attempt.signal,
        onOpen() {
          liveState.value = 'live';
          // Changes during the interruption are unknown.
          if (!isFirst) onMissed();
          isFirst = false;
        },
        onEvent({ name, data }) {
          clearTimeout(silence);
          silence = setTimeout(abort, SILENCE_MS);
          const change = parseChange(data);
          if (change !== undefined) onChange(change);
          else if (name === 'lost') onMissed();
        },
      });
    } catch (error) {
      // A refusal does not change by repeating; the next call of a route asks for the sign-in.
      if (error instanceof RequestError && [401, 403, 404].includes(error.status ?? 0)) break;
    } finally {
      clearTimeout(silence);
      stop.removeEventListener('abort', abort);
    }
    if (stop.aborted) return;
    liveState.value = 'lost';
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
    await waitForRecovery(['server', 'postgres']);
  }
  if (!stop.aborted) liveState.value = 'lost';
}

/**
 * Calls a function when records of a resource change.
 *
 * @param resource its name
 * @param onChange gets the ids of the changed records; none after an interruption
 */
export function useChanges(resource: string, onChange: (ids: ReadonlySet<string>) => void): void {
  const latest = useRef(onChange);
  latest.current = onChange;
  const count = recoveries.value;
  const first = useRef(count);
  useEffect(() => {
    // Without Redis, the changes of other processes do not arrive.
    if (count > first.current) latest.current(new Set());
  }, [count]);
  useEffect(() => {
    const stop = new AbortController();
    let ids = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const report = () => {
      timer = undefined;
      const gathered = ids;
      ids = new Set<string>();
      latest.current(gathered);
    };
    const gather = (change: Change | undefined) => {
      if (change !== undefined) ids.add(change.id);
      timer ??= setTimeout(report, GATHER_MS);
    };
    follow(`/changes?${new URLSearchParams({ resource })}`, stop.signal, {
      onChange: gather,
      onMissed: () => gather(undefined),
    });
    return () => {
      clearTimeout(timer);
      stop.abort();
      liveState.value = 'off';
    };
  }, [resource]);
}
