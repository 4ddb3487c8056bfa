/** The rule for locking a name. Times in ms. */
export interface LockoutRule {
  /** The number of failed attempts within the window that locks the name. */
  maxAttempts: number;
  windowMs: number;
  lockMs: number;
}

/** The attempts under one name. Times are ms since the epoch. */
export interface LockoutState {
  /** The times of the failed attempts. */
  failures: readonly number[];
  /** The reservations of running attempts: the time when each expires unless it is renewed, by the id of the attempt. */
  flights: Readonly<Record<string, number>>;
  /** The end of the lock; 0: the name is not locked. */
  lockedUntil: number;
}

/** The state of a name without attempts. */
export const EMPTY_STATE: LockoutState = { failures: [], flights: {}, lockedUntil: 0 };

/** ms after which a reservation that is not renewed expires. */
const ABANDONED_MS = 10_000;

/** ms between two renewals of a running attempt's reservation. */
export const RENEW_MS = 3000;

/** The new state and the result of a change. If `state` is the object that the change received, nothing has to be stored. */
export interface Transition<T> {
  state: LockoutState;
  result: T;
}

/** Returns a lockout state without the failures, reservations and lock that have expired at `now`. */
function withoutExpired(
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

function omitReservation(flights: LockoutState['flights'], id: string): LockoutState['flights'] {
  return Object.fromEntries(Object.entries(flights).filter(([reservedId]) => reservedId !== id));
}

/**
 * Reserves an attempt, so that no more attempts run at once than may still fail.
 *
 * @returns `go`; `wait` while too many attempts are running; or the remaining ms of the lock
 */
export function reserveAttempt(
  held: LockoutState,
  rule: LockoutRule,
  id: string,
  now: number,
): Transition<'go' | 'wait' | number> {
  const state = withoutExpired(held, rule, now);
  if (state.lockedUntil > 0) return { state: held, result: state.lockedUntil - now };
  const taken = state.failures.length + Object.keys(state.flights).length;
  // The rule may have become stricter since the failures were counted.
  if (state.failures.length >= rule.maxAttempts)
    return { state: held, result: Math.max(...state.failures) + rule.lockMs - now };
  if (taken >= rule.maxAttempts) return { state: held, result: 'wait' };
  return { state: { ...state, flights: { ...state.flights, [id]: now + ABANDONED_MS } }, result: 'go' };
}

/** Renews the reservation of a running attempt. Changes nothing if the attempt has ended. */
export function renewReservation(
  held: LockoutState,
  rule: LockoutRule,
  id: string,
  now: number,
): Transition<undefined> {
  if (!Object.hasOwn(held.flights, id)) return { state: held, result: undefined };
  const state = withoutExpired(held, rule, now);
  return { state: { ...state, flights: { ...state.flights, [id]: now + ABANDONED_MS } }, result: undefined };
}

/** Ends the reservation of an attempt that neither failed nor completed: its check threw, or a further step follows. */
export function releaseReservation(
  held: LockoutState,
  rule: LockoutRule,
  id: string,
  now: number,
): Transition<undefined> {
  const state = withoutExpired(held, rule, now);
  return { state: { ...state, flights: omitReservation(state.flights, id) }, result: undefined };
}

/** Clears the failed attempts. A lock remains. */
export function clearFailures(held: LockoutState, rule: LockoutRule, now: number): Transition<undefined> {
  if (held.failures.length === 0) return { state: held, result: undefined };
  return { state: { ...withoutExpired(held, rule, now), failures: [] }, result: undefined };
}

/** Ends a completed attempt and clears the failed attempts. */
export function recordSuccess(held: LockoutState, rule: LockoutRule, id: string, now: number): Transition<undefined> {
  const { flights, lockedUntil } = withoutExpired(held, rule, now);
  return { state: { failures: [], flights: omitReservation(flights, id), lockedUntil }, result: undefined };
}

/** Ends a failed attempt. The result is the end of the lock if this attempt locked the name. */
export function recordFailure(
  held: LockoutState,
  rule: LockoutRule,
  id: string,
  now: number,
): Transition<number | undefined> {
  const state = withoutExpired(held, rule, now);
  const flights = omitReservation(state.flights, id);
  if (state.lockedUntil > 0) return { state: { ...state, flights }, result: undefined };
  const failures = [...state.failures, now];
  if (failures.length < rule.maxAttempts) return { state: { failures, flights, lockedUntil: 0 }, result: undefined };
  const lockedUntil = now + rule.lockMs;
  return { state: { failures: [], flights, lockedUntil }, result: lockedUntil };
}

/** The failed attempts under a name, as administrators see them. */
export interface LockoutStatus {
  /** Those that still count. A lock clears them. */
  failures: number;
  /** The end of the lock, ISO 8601; null: the name is not locked. */
  lockedUntil: string | null;
}

/** Returns the failed attempts that still count, and the end of the lock. Changes nothing. */
export function readStatus(held: LockoutState, rule: LockoutRule, now: number): LockoutStatus {
  const { failures, lockedUntil } = withoutExpired(held, rule, now);
  // The rule may have become stricter since the failures were counted: see `reserveAttempt`.
  const isOver = lockedUntil === 0 && failures.length >= rule.maxAttempts;
  const until = isOver ? Math.max(...failures) + rule.lockMs : lockedUntil;
  return { failures: failures.length, lockedUntil: until > 0 ? new Date(until).toISOString() : null };
}

/** Returns the ms until all failures, reservations and the lock in a state have expired; 0 if they already have. */
export function msUntilStateExpires(
  { failures, flights, lockedUntil }: LockoutState,
  { windowMs }: LockoutRule,
  now: number,
): number {
  return Math.max(now, lockedUntil, ...failures.map((at) => at + windowMs), ...Object.values(flights)) - now;
}
