/** Decides when a list is loaded again: at once after a single change, and less often the more often it happens. */
export interface ReloadSchedule {
  /** Plans a load, unless one is planned. */
  schedule(): void;
  cancel(): void;
  /** The load has succeeded. */
  succeed(): void;
  /**
   * The load has failed, and is to be repeated.
   *
   * @param leastMs the shortest delay that the server allows
   */
  fail(leastMs: number | undefined): void;
  /** Delays the next load by a random time: a reset reaches all clients at the same moment. */
  delayForReset(): void;
}

/** Changes that arrive together are loaded together. */
const FIRST_DELAY_MS = 20;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2000;
const MAX_FAILURE_DELAY_MS = 30_000;
const MAX_RESET_DELAY_MS = 500;

/**
 * Creates a schedule.
 *
 * @param load starts a load
 */
export function createReloadSchedule(load: () => void): ReloadSchedule {
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** The pause after a load, in ms. It doubles with every load that follows soon after another one. */
  let pauseMs = 0;
  let readyAt = 0;
  let failures = 0;

  function postpone(ms: number): void {
    readyAt = Math.max(readyAt, Date.now() + ms);
  }

  return {
    schedule() {
      if (timer !== undefined) return;
      const delayMs = Math.max(FIRST_DELAY_MS, readyAt - Date.now());
      timer = setTimeout(() => {
        timer = undefined;
        load();
      }, delayMs);
    },
    cancel() {
      clearTimeout(timer);
      timer = undefined;
    },
    succeed() {
      failures = 0;
      const wasSoon = Date.now() - readyAt < MAX_PAUSE_MS;
      pauseMs = wasSoon ? Math.min(MAX_PAUSE_MS, pauseMs * 2 || FIRST_PAUSE_MS) : 0;
      readyAt = Date.now() + pauseMs;
    },
    fail(leastMs = 0) {
      failures += 1;
      const longest = Math.min(MAX_FAILURE_DELAY_MS, 1000 * 2 ** Math.min(failures, 5));
      postpone(Math.max(leastMs, longest * (0.5 + Math.random() / 2)));
    },
    delayForReset: () => postpone(Math.random() * MAX_RESET_DELAY_MS),
  };
}
