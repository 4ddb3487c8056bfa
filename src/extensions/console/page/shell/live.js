import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { readStream } from '../api.js';

const RECONNECT_MS = 1500;
/** Reconnect after this many ms without a byte. The server sends a heartbeat every 15 s. */
const SILENCE_MS = 40_000;
/** Wait this many ms for further changes, so that a burst of changes is one read. */
const GATHER_MS = 150;

/** Whether changes arrive: `off` on pages that show none. */
export const liveState = signal('off');

function parseChange(data) {
  try {
    const change = JSON.parse(data);
    return typeof change?.id === 'string' ? change : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the stream of changes until it is aborted, and reconnects when it ends. `onMissed`: some changes did not arrive. */
async function follow(path, stop, { onChange, onMissed }) {
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
      if ([401, 403, 404].includes(error.status)) break;
    } finally {
      clearTimeout(silence);
      stop.removeEventListener('abort', abort);
    }
    if (stop.aborted) return;
    liveState.value = 'lost';
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
  }
  if (!stop.aborted) liveState.value = 'lost';
}

/**
 * Calls a function when records of a resource change.
 *
 * @param {string} resource its name
 * @param {(ids: Set<string>) => void} onChange gets the ids of the changed records; none after an interruption
 */
export function useChanges(resource, onChange) {
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    const stop = new AbortController();
    let ids = new Set();
    let timer;
    const report = () => {
      timer = undefined;
      const gathered = ids;
      ids = new Set();
      latest.current(gathered);
    };
    const gather = (change) => {
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
