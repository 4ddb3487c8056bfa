import { ApiError } from './errors.ts';

/** Ends the work of one call, by its time-out or by the caller's signal. */
export interface Deadline {
  /** Aborted when the call has ended early. */
  readonly signal: AbortSignal;
  /** Why the call has ended early: the reason of the caller's signal, or the time-out. */
  readonly reason: unknown;
  /** Resolves or rejects like the work, but rejects at once with the reason when the call ends early. */
  race<T>(work: Promise<T> | T): Promise<T>;
  /** Like `race`, without counting the time: for work that waits for the user. */
  pause<T>(work: () => Promise<T>): Promise<T>;
  /** ms until the time-out. */
  remainingMs(): number;
  /** Releases the timer. `keepsSignal`: the caller's signal still aborts, because the response is being read. */
  end(keepsSignal: boolean): void;
}

// Timers with a longer delay would fire at once.
const MAX_TIMER_MS = 2 ** 31 - 1;

/** React Native has signals without a reason. */
function reasonOf({ reason }: AbortSignal): unknown {
  return reason ?? Object.assign(new Error('The call was aborted'), { name: 'AbortError' });
}

/**
 * Starts the time of a call.
 *
 * @param caller the caller's signal
 * @param timeoutMs Infinity, or too long for a timer: no time-out
 * @param name the request, for the message
 */
export function createDeadline(caller: AbortSignal | undefined, timeoutMs: number, name: string): Deadline {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let endsAt = 0;
  let endReason: unknown;
  let rejectEnded: (reason: unknown) => void;
  const ended = new Promise<never>((_, reject) => {
    rejectEnded = reject;
  });
  // Prevents an unhandled rejection when nothing awaits the promise.
  ended.catch(() => undefined);

  const abort = (reason: unknown) => {
    clearTimeout(timer);
    endReason = reason;
    rejectEnded(reason);
    controller.abort(reason);
  };
  const abortAsCaller = () => abort(reasonOf(caller!));
  const startTimer = (ms: number) => {
    endsAt = Date.now() + ms;
    if (!(ms <= MAX_TIMER_MS)) return;
    const message = `${name} did not complete within ${timeoutMs} ms`;
    timer = setTimeout(() => abort(new ApiError({ status: 0, code: 'TIMEOUT', message })), ms);
  };

  if (caller?.aborted) abortAsCaller();
  else {
    caller?.addEventListener('abort', abortAsCaller);
    startTimer(timeoutMs);
  }
  const race = <T>(work: Promise<T> | T): Promise<T> => Promise.race([ended, work]);
  return {
    signal: controller.signal,
    get reason() {
      return endReason;
    },
    race,
    remainingMs: () => endsAt - Date.now(),
    async pause(work) {
      clearTimeout(timer);
      const leftMs = endsAt - Date.now();
      try {
        return await race(work());
      } finally {
        if (!controller.signal.aborted) startTimer(leftMs);
      }
    },
    end(keepsSignal) {
      clearTimeout(timer);
      if (!keepsSignal) caller?.removeEventListener('abort', abortAsCaller);
    },
  };
}
