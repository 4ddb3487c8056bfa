import { chooseLane } from '../../endpoints/endpoint-jobs.ts';
import type { Outcome } from './attempt.ts';
import type { LaneClaim } from './endpoint-lease.ts';
import { createPaceKeeper } from './endpoint-pace.ts';
import { LINGER_MS } from './linger.ts';
import type { ReleaseSlot } from './request-slots.ts';
import {
  type Actions,
  askForRequestedSlot,
  endLinger,
  lingerOrEnd,
  mayBeginRequest,
  NOTHING,
  PROCEED,
  proceed,
  wasGood,
} from './sending-decisions.ts';
import type { AttemptSlot, Circumstances, SendingAction, SendingEvent, SendingState } from './sending-state.ts';

type EventOf<Type extends SendingEvent['type']> = Extract<SendingEvent, { type: Type }>;

/** ms after which the response times of a long lease are measured anew. */
const PACE_PERIOD_MS = 1000;

/**
 * Handles one event of a lease under which deliveries are sent, and returns what to do. Deterministic: reads no clock and does no I/O.
 *
 * Changes `state` instead of copying it, because a worker does this several times per delivery. Nothing else may change the state. The
 * caller carries out the actions in their order, and passes an event that one of them causes at once to `step` before the next action.
 */
export function step(state: SendingState, event: SendingEvent, circumstances: Circumstances): Actions {
  switch (event.type) {
    case 'started':
      return start(state, event, circumstances);
    case 'proceeded':
      return proceed(state, circumstances);
    case 'slotGranted':
      return useSlot(state, event.slot, circumstances);
    case 'rateLimited':
      return haltAtRateLimit(state, event);
    case 'attempted':
      return endAttempt(state, event, circumstances);
    case 'checkFailed':
      haltUnchecked(state);
      return endWithoutOutcome(state, event);
    case 'resultWritten':
      return continueAfterWrite(state, event, circumstances);
    case 'claimed':
      return endClaim(state, event, circumstances);
    case 'announced':
      return expectNewDeliveries(state, event, circumstances);
    case 'requestAnnounced':
      return expectRequested(state, circumstances);
    case 'requestedSlotGranted':
      return useRequestedSlot(state, event.slot, circumstances);
    case 'requestedClaimed':
      return sendRequested(state, event, circumstances);
    case 'lingerTimedOut':
      state.isLingering = false;
      return lingerOrEnd(state, circumstances);
    case 'dueChecked':
      return endLingerIfDue(state, event, circumstances);
    case 'stopped':
      return lingerOrEnd(state, circumstances);
  }
}

function start(state: SendingState, { requested }: EventOf<'started'>, circumstances: Circumstances): Actions {
  const actions: SendingAction[] = [];
  if (requested !== undefined) {
    state.requested.inFlight += 1;
    actions.push({ type: 'sendRequested', ...requested });
  }
  if (state.endpoint.requested) askForRequestedSlot(state, circumstances, actions);
  actions.push(PROCEED);
  return actions;
}

/**
 * Ends the wait of an ordered endpoint that has a due delivery: an earlier event may still produce one, and if it does not, nothing
 * announces that.
 */
function endLingerIfDue(
  state: SendingState,
  { dueInMs }: EventOf<'dueChecked'>,
  circumstances: Circumstances,
): Actions {
  if (dueInMs === undefined || dueInMs > LINGER_MS) return NOTHING;
  state.isLingerAllowed = false;
  return lingerOrEnd(state, circumstances);
}

function useSlot(state: SendingState, slot: ReleaseSlot, circumstances: Circumstances): Actions {
  state.awaitingSlot -= 1;
  // The delivery may have waited for this slot, so check again whether its request may begin.
  const delivery = mayBeginRequest(state, circumstances) ? state.queue.shift() : undefined;
  return delivery === undefined ? returnSlot(state, slot) : [{ type: 'send', delivery, slot }];
}

function returnSlot(state: SendingState, slot: ReleaseSlot): Actions {
  state.inFlight -= 1;
  return [{ type: 'releaseSlot', slot, isGood: undefined }, PROCEED];
}

function haltAtRateLimit(state: SendingState, { delivery, slot }: EventOf<'rateLimited'>): Actions {
  state.isRateLimited = true;
  state.queue.unshift(delivery);
  return returnSlot(state, slot);
}

function endAttempt(state: SendingState, event: EventOf<'attempted'>, { now }: Circumstances): Actions {
  const { delivery, outcome, slot, isRequested } = event;
  if (outcome === undefined) {
    // The delivery can be claimed again after the lease is released.
    state.isHalted = true;
    state.more = true;
    return endWithoutOutcome(state, event);
  }
  state.lastResultAt = now;
  adaptToOutcome(state, outcome);
  state.unwritten += 1;
  countEndedRequest(state, isRequested);
  return [
    { type: 'record', delivery, outcome },
    { type: 'releaseSlot', slot, isGood: wasGood(state, outcome) },
    PROCEED,
  ];
}

function endWithoutOutcome(state: SendingState, { slot, isRequested }: AttemptSlot): Actions {
  countEndedRequest(state, isRequested);
  return [{ type: 'releaseSlot', slot, isGood: undefined }, PROCEED];
}

function countEndedRequest(state: SendingState, isRequested: boolean): void {
  if (isRequested) state.requested.inFlight -= 1;
  else state.inFlight -= 1;
}

function adaptToOutcome(state: SendingState, { slow, durationMs, refused }: Outcome): void {
  // A refused attempt says nothing about the receiver.
  if (refused) return;
  state.slow = slow;
  state.hasRespondedWell = !slow;
  state.isHalted ||= slow;
  state.pace.adjust(durationMs, !slow, state.inFlight >= state.pace.limit());
}

function haltUnchecked(state: SendingState): void {
  state.isHalted = true;
  state.hasUnchecked = true;
}

/**
 * A result is stored, or could not be stored. In the second case the delivery stays claimed and is sent again later, and an ordered
 * endpoint sends nothing more under this lease, because it must not continue before the result is stored.
 */
function continueAfterWrite(
  state: SendingState,
  { isWritten }: EventOf<'resultWritten'>,
  circumstances: Circumstances,
): Actions {
  state.unwritten -= 1;
  state.hasFailedWrite ||= !isWritten;
  state.isHalted ||= state.endpoint.ordered && !isWritten;
  return proceed(state, circumstances);
}

function endClaim(state: SendingState, { claim, isUsable }: EventOf<'claimed'>, circumstances: Circumstances): Actions {
  state.isClaiming = false;
  state.isClaimFull = claim?.isFull ?? false;
  state.more = state.isClaimFull || state.hasNew;
  if (claim === undefined) state.isHalted = true;
  else {
    state.endpoint = claim.endpoint;
    if (isUsable) addClaimed(state, claim, circumstances.now);
    else haltUnchecked(state);
  }
  const actions: SendingAction[] = [];
  if (state.endpoint.requested) askForRequestedSlot(state, circumstances, actions);
  actions.push(PROCEED);
  return actions;
}

function addClaimed(state: SendingState, { endpoint, deliveries }: LaneClaim, now: number): void {
  state.queue.push(...deliveries);
  if (deliveries.length > 0) {
    state.claimedAt = now;
    state.isAcquired = true;
  }
  // The lease had expired, because Postgres or this process was stuck.
  state.isHalted ||= endpoint.lease === 'taken';
  if (now - state.paceSince >= PACE_PERIOD_MS) measurePaceAnew(state, now);
  if (chooseLane(endpoint.slow) === state.lane) return;
  // A requested delivery, or the worker that held the lease before, found the endpoint slow meanwhile.
  state.slow = endpoint.slow;
  state.isHalted = true;
  state.more = true;
}

function measurePaceAnew(state: SendingState, now: number): void {
  state.pace = createPaceKeeper(state.pace.getPace(), state.maxInFlight);
  state.paceSince = now;
}

function expectNewDeliveries(
  state: SendingState,
  { areJobsFull }: EventOf<'announced'>,
  circumstances: Circumstances,
): Actions {
  if (state.hasEnded || state.lane !== 'fast') return NOTHING;
  if (state.isLingering) measurePaceAnew(state, circumstances.now);
  const actions: SendingAction[] = [];
  endLinger(state, actions);
  // Continue without a new job, unless full batches or other endpoints wait.
  if (!state.isClaimFull && !areJobsFull) state.claimingSince = circumstances.now;
  state.hasNew = true;
  state.more = true;
  // Otherwise claim with the next response: a delivery must not be claimed to wait for a request that may hang.
  if (state.inFlight === 0) actions.push(PROCEED);
  return actions;
}

function expectRequested(state: SendingState, circumstances: Circumstances): Actions {
  const actions: SendingAction[] = [];
  askForRequestedSlot(state, circumstances, actions);
  return actions;
}

function useRequestedSlot(state: SendingState, slot: ReleaseSlot, { isStopping }: Circumstances): Actions {
  state.requested.isAwaitingSlot = false;
  if (state.hasEnded) return [{ type: 'releaseSlot', slot, isGood: undefined }];
  if (isStopping) return [{ type: 'releaseSlot', slot, isGood: undefined }, PROCEED];
  state.requested.isClaiming = true;
  return [{ type: 'claimRequested', slot }];
}

function sendRequested(
  state: SendingState,
  { claim, slot }: EventOf<'requestedClaimed'>,
  circumstances: Circumstances,
): Actions {
  state.requested.isClaiming = false;
  if (claim === undefined || claim.deliveries.length === 0)
    return [{ type: 'releaseSlot', slot, isGood: undefined }, PROCEED];
  const actions: SendingAction[] = [];
  endLinger(state, actions);
  state.requested.inFlight += 1;
  actions.push({ type: 'sendRequested', claim, slot });
  askForRequestedSlot(state, circumstances, actions);
  return actions;
}
