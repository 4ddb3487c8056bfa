/** When a name is locked. Times in ms. */
export interface LockoutRule {
  /** The failed attempt of this number locks. */
  maxAttempts: number;
  windowMs: number;
  lockMs: number;
}

/** What is remembered of the attempts under one name. Times are ms since the epoch. */
export interface LockoutState {
  /** When attempts failed. */
  failures: readonly number[];
  /** Attempts that are being decided, and when each counts as abandoned unless it is renewed: its process may have died. */
  flights: Readonly<Record<string, number>>;
  /** 0: not locked. */
  lockedUntil: number;
}

/** Nothing is remembered. */
export const CLEAN: LockoutState = { failures: [], flights: {}, lockedUntil: 0 };

/** How long a process that says nothing keeps its place. */
const ABANDONED_MS = 10_000;

/** How often a process must say that an attempt is still being decided. */
export const RENEW_MS = 3000;

/** What a change of the state leaves and says. */
export interface Decided<T> {
  state: LockoutState;
  answer: T;
}

/** The state at this moment, without what is over. */
function current(
  { failures, flights, lockedUntil }: LockoutState,
  { windowMs }: LockoutRule,
  now: number,
): LockoutState {
  return {
    failures: failures.filter((at) => at > now - windowMs),
    flights: Object.fromEntries(Object.entries(flights).filter(([, until]) => until > now)),
    lockedUntil: lockedUntil > now ? lockedUntil : 0,
  };
}

function without(flights: LockoutState['flights'], id: string): LockoutState['flights'] {
  return Object.fromEntries(Object.entries(flights).filter(([one]) => one !== id));
}

/**
 * Reserves an attempt, so that no more of them are decided at once than may fail.
 *
 * @returns `go`, or `wait` for those that are being decided, or for how many ms the name is still locked
 */
export function reserve(
  held: LockoutState,
  rule: LockoutRule,
  id: string,
  now: number,
): Decided<'go' | 'wait' | number> {
  const state = current(held, rule, now);
  if (state.lockedUntil > 0) return { state: held, answer: state.lockedUntil - now };
  const taken = state.failures.length + Object.keys(state.flights).length;
  // The rule may have become stricter since they were counted.
  if (state.failures.length >= rule.maxAttempts)
    return { state: held, answer: Math.max(...state.failures) + rule.lockMs - now };
  if (taken >= rule.maxAttempts) return { state: held, answer: 'wait' };
  return { state: { ...state, flights: { ...state.flights, [id]: now + ABANDONED_MS } }, answer: 'go' };
}

/** Says that an attempt is still being decided. Said too late, when it is over, it changes nothing. */
export function renew(held: LockoutState, rule: LockoutRule, id: string, now: number): Decided<undefined> {
  if (!Object.hasOwn(held.flights, id)) return { state: held, answer: undefined };
  const state = current(held, rule, now);
  return { state: { ...state, flights: { ...state.flights, [id]: now + ABANDONED_MS } }, answer: undefined };
}

/** Ends an attempt that neither failed nor completed: something else went wrong, or a further step is to come. */
export function abandon(held: LockoutState, rule: LockoutRule, id: string, now: number): Decided<undefined> {
  const state = current(held, rule, now);
  return { state: { ...state, flights: without(state.flights, id) }, answer: undefined };
}

/** Clears the failed attempts: the count begins anew. A lock stays. */
export function clearFailures(held: LockoutState, rule: LockoutRule, now: number): Decided<undefined> {
  if (held.failures.length === 0) return { state: held, answer: undefined };
  return { state: { ...current(held, rule, now), failures: [] }, answer: undefined };
}

/** Ends an attempt that completed, and clears the failed ones. */
export function pass(held: LockoutState, rule: LockoutRule, id: string, now: number): Decided<undefined> {
  const { flights, lockedUntil } = current(held, rule, now);
  return { state: { failures: [], flights: without(flights, id), lockedUntil }, answer: undefined };
}

/** Ends an attempt that failed. Gives until when the name is locked, if this one locked it. */
export function fail(held: LockoutState, rule: LockoutRule, id: string, now: number): Decided<number | undefined> {
  const state = current(held, rule, now);
  const flights = without(state.flights, id);
  if (state.lockedUntil > 0) return { state: { ...state, flights }, answer: undefined };
  const failures = [...state.failures, now];
  if (failures.length < rule.maxAttempts) return { state: { failures, flights, lockedUntil: 0 }, answer: undefined };
  const lockedUntil = now + rule.lockMs;
  return { state: { failures: [], flights, lockedUntil }, answer: lockedUntil };
}

/** ms until nothing of a state matters any more; 0 when nothing does already. */
export function lifetime(
  { failures, flights, lockedUntil }: LockoutState,
  { windowMs }: LockoutRule,
  now: number,
): number {
  return Math.max(now, lockedUntil, ...failures.map((at) => at + windowMs), ...Object.values(flights)) - now;
}
