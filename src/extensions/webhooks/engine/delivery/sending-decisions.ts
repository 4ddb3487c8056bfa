import type { Outcome } from './attempt.ts';
import { BEGIN_REQUESTS_MS } from './lease-store.ts';
import { LINGER_MS } from './linger.ts';
import type { Circumstances, SendingAction, SendingState } from './sending-state.ts';

// The parts of `step` that decide what to do next. Actions without data are created once.

/**
 * For how many times `claimingMs` a lease claims while no other endpoint waits for a job: a job and a lease cost as much as several deliveries.
 * Not for longer, so that other workers get endpoints.
 */
const TURNS_WITHOUT_WAIT = 4;

/** Actions to carry out in their order. */
export type Actions = readonly SendingAction[];

export const NOTHING: Actions = [];
export const PROCEED: SendingAction = { type: 'proceed' };
const ACQUIRE_SLOT: Actions = [{ type: 'acquireSlot' }, PROCEED];
const CLAIM: Actions = [{ type: 'claim' }];
const ACQUIRE_REQUESTED_SLOT: SendingAction = { type: 'acquireRequestedSlot' };
const END_LINGER: SendingAction = { type: 'endLinger' };

/** Whether more may be claimed or begin under this lease at all. */
function mayContinue(state: SendingState, { isOutdated, isStopping }: Circumstances): boolean {
  return !state.isHalted && !state.isRateLimited && !isOutdated && !isStopping;
}

/** Whether an attempt that has got its slot may still send its request, for example after a long check. */
export function mayStillSend({ claimedAt }: SendingState, { now, isOutdated }: Circumstances): boolean {
  return !isOutdated && now - claimedAt < BEGIN_REQUESTS_MS;
}

/** Whether a request may begin now. */
export function mayBeginRequest(state: SendingState, circumstances: Circumstances): boolean {
  return mayContinue(state, circumstances) && mayStillSend(state, circumstances);
}

/** Returns how many requests may be in flight now, not counting requested deliveries. */
function getInFlightLimit({ endpoint, pace, requested, unwritten }: SendingState): number {
  if (!endpoint.ordered) return pace.limit();
  // The next request begins when the last result is written.
  return requested.inFlight > 0 ? 0 : 1 - unwritten;
}

/** Whether a slot is to be acquired for a delivery of the queue. */
function needsSlot(state: SendingState, circumstances: Circumstances): boolean {
  return (
    state.inFlight < getInFlightLimit(state) &&
    state.awaitingSlot < state.queue.length &&
    mayBeginRequest(state, circumstances)
  );
}

/** Whether no more claimed deliveries wait than are in flight: more would only wait longer in memory, and in the lease. */
function isQueueLow({ endpoint, queue, inFlight, awaitingSlot, requested, unwritten }: SendingState): boolean {
  if (!endpoint.ordered) return queue.length <= inFlight - awaitingSlot;
  return queue.length + inFlight + requested.inFlight + unwritten === 0;
}

/** Whether the time is not over for which a lease claims while more is due. */
function mayKeepTurn({ claimingSince, claimingMs }: SendingState, { now, areJobsFull }: Circumstances): boolean {
  return now - claimingSince < claimingMs * (areJobsFull ? 1 : TURNS_WITHOUT_WAIT);
}

/** Whether more deliveries are to be claimed. */
function needsClaim(state: SendingState, circumstances: Circumstances): boolean {
  return (
    state.lane === 'fast' &&
    state.more &&
    !state.isClaiming &&
    isQueueLow(state) &&
    mayContinue(state, circumstances) &&
    mayKeepTurn(state, circumstances) &&
    // A claim also gives earlier deliveries of the queue more time to begin, which must not be too late already.
    (state.queue.length === 0 || mayStillSend(state, circumstances))
  );
}

/** Whether a slot is to be acquired for requested deliveries. */
function needsRequestedSlot({ requested, hasEnded }: SendingState, { isStopping }: Circumstances): boolean {
  return !requested.isAwaitingSlot && !requested.isClaiming && !hasEnded && !isStopping;
}

/** Whether nothing is under way that the lease must wait for. */
function isIdle({ inFlight, unwritten, isClaiming, requested }: SendingState): boolean {
  return inFlight === 0 && requested.inFlight === 0 && unwritten === 0 && !isClaiming && !requested.isClaiming;
}

/** Whether an idle lease may wait for new deliveries. */
function shouldLinger(state: SendingState, circumstances: Circumstances): boolean {
  return (
    state.isLingerAllowed &&
    state.isAcquired &&
    state.hasRespondedWell &&
    !state.more &&
    state.queue.length === 0 &&
    mayContinue(state, circumstances) &&
    !state.hasFailedWrite &&
    circumstances.now - state.lastResultAt < LINGER_MS &&
    (state.isLingering || circumstances.canWorkerLinger)
  );
}

/** Whether a request shows that its receiver does not hang: a slow endpoint need only succeed. Undefined if nothing was sent. */
export function wasGood({ lane }: SendingState, outcome: Outcome): boolean | undefined {
  if (outcome.refused) return undefined;
  return lane === 'slow' ? outcome.ok : !outcome.slow;
}

/** Begins one request, or claims more, or lingers or ends if nothing is left to do. */
export function proceed(state: SendingState, circumstances: Circumstances): Actions {
  if (needsSlot(state, circumstances)) {
    state.inFlight += 1;
    state.awaitingSlot += 1;
    // Only one, because what follows depends on whether it is granted at once, and on the rate limit.
    return ACQUIRE_SLOT;
  }
  if (needsClaim(state, circumstances)) {
    state.isClaiming = true;
    state.hasNew = false;
    state.isKnownDrained = false;
    return CLAIM;
  }
  return lingerOrEnd(state, circumstances);
}

/** Waits for new deliveries, or ends the lease, if nothing is under way. */
export function lingerOrEnd(state: SendingState, circumstances: Circumstances): Actions {
  if (!isIdle(state) || state.hasEnded) return NOTHING;
  const actions: SendingAction[] = [];
  if (!shouldLinger(state, circumstances)) {
    endLinger(state, actions);
    state.hasEnded = true;
    actions.push({ type: 'end' });
    return actions;
  }
  if (!state.isLingering) {
    state.isLingering = true;
    actions.push({ type: 'linger', ms: LINGER_MS - (circumstances.now - state.lastResultAt) });
  }
  if (state.endpoint.ordered && !state.isKnownDrained) {
    state.isKnownDrained = true;
    actions.push({ type: 'checkDue' });
  }
  return actions;
}

/** Adds the action that ends the wait, if the lease waits. */
export function endLinger(state: SendingState, actions: SendingAction[]): void {
  if (state.isLingering) actions.push(END_LINGER);
  state.isLingering = false;
}

/** Adds the action that acquires a slot for requested deliveries, unless that is under way. */
export function askForRequestedSlot(state: SendingState, circumstances: Circumstances, actions: SendingAction[]): void {
  if (!needsRequestedSlot(state, circumstances)) return;
  state.requested.isAwaitingSlot = true;
  actions.push(ACQUIRE_REQUESTED_SLOT);
}
