import type { Lane } from '../../endpoints/endpoint-jobs.ts';
import type { Outcome } from './attempt.ts';
import type { Claim, ClaimedDelivery, ClaimedEndpoint } from './claim.ts';
import type { LaneClaim } from './endpoint-lease.ts';
import { createPaceKeeper, type EndpointPace, type PaceKeeper } from './endpoint-pace.ts';
import type { ReleaseSlot } from './request-slots.ts';

/** What `step` must know besides the state. The caller reads it anew before each event. */
export interface Circumstances {
  /** By `performance.now()`. */
  now: number;
  /** Whether the lease is lost, or its endpoint was changed since the last claim: see `EndpointLease.isOutdated`. */
  isOutdated: boolean;
  isStopping: boolean;
  /** Whether this worker may have one more lease that waits for new deliveries. */
  canWorkerLinger: boolean;
  /** Whether as many jobs run as may, so that other endpoints may have to wait. */
  areJobsFull: boolean;
}

/** What happened to a lease under which deliveries are sent. The slots are only passed on: they come back in an action. */
export type SendingEvent =
  /** The lease begins. `requested`: a requested delivery that was claimed first, with its slot. */
  | { type: 'started'; requested: { claim: Claim; slot: ReleaseSlot } | undefined }
  /** All actions before the action `proceed` have been carried out. */
  | { type: 'proceeded' }
  | { type: 'slotGranted'; slot: ReleaseSlot }
  /** The rate limit allows no request now, so the delivery of the action `send` was not sent. */
  | { type: 'rateLimited'; delivery: ClaimedDelivery; slot: ReleaseSlot }
  /** An attempt has ended. `outcome` is undefined if nothing was sent and the delivery stays as it was. */
  | ({ type: 'attempted'; delivery: ClaimedDelivery; outcome: Outcome | undefined } & AttemptSlot)
  /** Nothing was sent, because the check of what the endpoint's owner may read has failed. */
  | ({ type: 'checkFailed' } & AttemptSlot)
  | { type: 'resultWritten'; isWritten: boolean }
  /** The claim has ended; undefined if it failed or the endpoint must not be sent to. `isUsable` false: its settings could not be read. */
  | { type: 'claimed'; claim: LaneClaim | undefined; isUsable: boolean }
  /** New deliveries were announced. `areJobsFull`: other endpoints may have to wait. */
  | { type: 'announced'; areJobsFull: boolean }
  | { type: 'requestAnnounced' }
  | { type: 'requestedSlotGranted'; slot: ReleaseSlot }
  /** The claim of a requested delivery has ended; undefined if there was none or the claim failed. */
  | { type: 'requestedClaimed'; claim: Claim | undefined; slot: ReleaseSlot }
  | { type: 'lingerTimedOut' }
  /** `dueInMs`: ms until the earliest delivery of the ordered endpoint is due; undefined if there is none. */
  | { type: 'dueChecked'; dueInMs: number | undefined }
  | { type: 'stopped' };

/** The slot of an attempt that has ended. */
export interface AttemptSlot {
  slot: ReleaseSlot;
  /** Whether it was the attempt of a requested delivery. */
  isRequested: boolean;
}

/** What to do next. The actions of a step are carried out in their order. */
export type SendingAction =
  /** Ask for a slot; then comes `slotGranted`, possibly at once. */
  | { type: 'acquireSlot' }
  /** Count a request against the rate limit and make the attempt; then comes `attempted`, `checkFailed` or, at once, `rateLimited`. */
  | { type: 'send'; delivery: ClaimedDelivery; slot: ReleaseSlot }
  /** Write the result of an attempt; then comes `resultWritten`. */
  | { type: 'record'; delivery: ClaimedDelivery; outcome: Outcome }
  | { type: 'releaseSlot'; slot: ReleaseSlot; isGood: boolean | undefined }
  /** Claim due deliveries; then comes `claimed`. */
  | { type: 'claim' }
  /** Ask for a slot for a requested delivery; then comes `requestedSlotGranted`, possibly at once, or after the lease has ended. */
  | { type: 'acquireRequestedSlot' }
  /** Claim a requested delivery; then comes `requestedClaimed`. */
  | { type: 'claimRequested'; slot: ReleaseSlot }
  /** Make the attempt of the requested delivery of the claim; then comes `attempted` or `checkFailed`. */
  | { type: 'sendRequested'; claim: Claim; slot: ReleaseSlot }
  /** Wait for new deliveries; after `ms` comes `lingerTimedOut`, unless `endLinger` comes first. */
  | { type: 'linger'; ms: number }
  | { type: 'endLinger' }
  /** Find out whether a delivery of the ordered endpoint is due soon; then comes `dueChecked`. */
  | { type: 'checkDue' }
  /** The lease is over; no action follows, except that a requested slot that is granted later is released. */
  | { type: 'end' }
  /** Always the last: decide again, now that the actions before it have had their immediate effects; `proceeded` comes at once. */
  | { type: 'proceed' };

/** The state of sending under one lease. Only `step` changes it. All times are by `performance.now()`. */
export interface SendingState {
  readonly lane: Lane;
  readonly maxInFlight: number;
  readonly claimingMs: number;
  /** The endpoint at the time of the last claim. */
  endpoint: ClaimedEndpoint;
  /** The claimed deliveries whose requests have not begun, in their order. */
  readonly queue: ClaimedDelivery[];
  /** Whether the endpoint's last attempt failed or was slow. */
  slow: boolean;
  /** Whether the endpoint's last response was successful and not slow. */
  hasRespondedWell: boolean;
  pace: PaceKeeper;
  /** Since when the response times of `pace` have been measured. */
  paceSince: number;

  /** Number of slots held or waited for, without those of requested deliveries. `awaitingSlot`: how many of them are waited for. */
  inFlight: number;
  awaitingSlot: number;
  /** Number of results that are being written. */
  unwritten: number;
  lastResultAt: number;

  isClaiming: boolean;
  /** Time of the last claim that returned deliveries. */
  claimedAt: number;
  /** Since when the lease has claimed one full batch after the other. */
  claimingSince: number;
  isClaimFull: boolean;
  /** Whether more deliveries may be due. */
  more: boolean;
  /** Whether new deliveries were announced since the last claim began. */
  hasNew: boolean;
  /** Whether the lease was acquired: the first claim that returns deliveries does that. */
  isAcquired: boolean;

  /** Requested deliveries (tests, and retries that a client asked for). The slot that `isAwaitingSlot` means does not keep the lease. */
  readonly requested: { inFlight: number; isAwaitingSlot: boolean; isClaiming: boolean };

  /** Whether no more requests may begin under this lease. */
  isHalted: boolean;
  isRateLimited: boolean;
  /** Whether deliveries could not be checked, for example because Postgres was unavailable. */
  hasUnchecked: boolean;
  hasFailedWrite: boolean;
  hasEnded: boolean;

  isLingerAllowed: boolean;
  isLingering: boolean;
  /** Whether an ordered endpoint had no due delivery after its last claim. */
  isKnownDrained: boolean;
}

/** How sending under a lease begins. */
export interface SendingStart {
  lane: Lane;
  maxInFlight: number;
  /** ms for which the lease continues to claim while more is due. */
  claimingMs: number;
  /** The first claim. */
  first: Claim & Partial<LaneClaim>;
  /** Whether new deliveries were announced during the first claim. */
  hasNew: boolean;
  allowLinger: boolean;
  /** The endpoint's pace under the last lease, if its last response was good. */
  pace: EndpointPace | undefined;
  now: number;
}

/** Creates the state with which a lease begins. */
export function createSendingState(start: SendingStart): SendingState {
  const { lane, maxInFlight, claimingMs, first, pace, now } = start;
  const isClaimFull = first.isFull ?? false;
  return {
    ...{ lane, maxInFlight, claimingMs, endpoint: first.endpoint, queue: [...first.deliveries] },
    ...{ slow: first.endpoint.slow, hasRespondedWell: pace !== undefined },
    ...{ pace: createPaceKeeper(pace, maxInFlight), paceSince: now },
    ...{ inFlight: 0, awaitingSlot: 0, unwritten: 0, lastResultAt: now },
    ...{ isClaiming: false, claimedAt: now, claimingSince: now, isClaimFull, more: isClaimFull || start.hasNew },
    ...{ hasNew: false, isAcquired: first.deliveries.length > 0 },
    requested: { inFlight: 0, isAwaitingSlot: false, isClaiming: false },
    ...{ isHalted: false, isRateLimited: false, hasUnchecked: false, hasFailedWrite: false, hasEnded: false },
    ...{ isLingerAllowed: start.allowLinger && lane === 'fast', isLingering: false, isKnownDrained: false },
  };
}
