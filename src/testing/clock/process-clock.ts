/** The difference between the test clock and the real time, for all test apps of this process. */
interface ProcessClock {
  offsetMs: number;
  /** The functions that apply a new offset to the open test apps. */
  listeners: Set<(offsetMs: number, previousMs: number) => Promise<void>>;
  /** The `Date` of the process while a test clock replaces it. */
  realDate: DateConstructor | undefined;
}

const PROCESS_KEY = Symbol.for('belfry.testing.clock');

/** A test runner may load this module several times in one process, so the state is stored in the process. */
function stateOfProcess(): ProcessClock {
  const store = globalThis as typeof globalThis & { [PROCESS_KEY]?: ProcessClock };
  store[PROCESS_KEY] ??= { offsetMs: 0, listeners: new Set(), realDate: undefined };
  return store[PROCESS_KEY];
}

/** Returns a `Date` that is ahead of the real one. Only the current time differs. */
function createShiftedDate(real: DateConstructor, state: ProcessClock): DateConstructor {
  const now = () => real.now() + state.offsetMs;
  return new Proxy(real, {
    construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new real(now()).toString(),
    get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
  });
}

/** Replaces the `Date` of the process while the clock differs from the real time. */
function applyToDate(state: ProcessClock): void {
  if (state.offsetMs !== 0 && state.realDate === undefined) {
    state.realDate = globalThis.Date;
    globalThis.Date = createShiftedDate(state.realDate, state);
  } else if (state.offsetMs === 0 && state.realDate !== undefined) {
    globalThis.Date = state.realDate;
    state.realDate = undefined;
  }
}

/** Returns the offset of the clock in ms; 0: it shows the real time. */
export function clockOffsetMs(): number {
  return stateOfProcess().offsetMs;
}

/** Moves the clock of this process and of all open test apps. */
export async function setClockOffset(offsetMs: number): Promise<void> {
  const state = stateOfProcess();
  const previousMs = state.offsetMs;
  state.offsetMs = offsetMs;
  applyToDate(state);
  await Promise.all([...state.listeners].map((apply) => apply(offsetMs, previousMs)));
}

/**
 * Registers an open test app. Returns the function that removes it; the last one to go resets the clock.
 *
 * @param apply called with each new offset
 */
export function followClock(apply: (offsetMs: number, previousMs: number) => Promise<void>): () => void {
  const state = stateOfProcess();
  state.listeners.add(apply);
  return () => {
    state.listeners.delete(apply);
    if (state.listeners.size > 0) return;
    state.offsetMs = 0;
    applyToDate(state);
  };
}
