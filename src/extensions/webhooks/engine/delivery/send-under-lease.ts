import type { Lane } from '../../endpoints/endpoint-jobs.ts';
import { createAttemptTarget } from './attempt.ts';
import type { Claim } from './claim.ts';
import type { EndpointLease, LaneClaim } from './endpoint-lease.ts';
import type { EndpointPace } from './endpoint-pace.ts';
import { createLinger } from './linger.ts';
import type { ActiveLease, LeaseSummary, SendDependencies, SendStart } from './send-parts.ts';
import { createAttempts, handle, type Sending } from './sending-actions.ts';
import { createSendingState, type SendingState } from './sending-state.ts';

/** ms until an endpoint is processed again after the check of its deliveries failed, for example because Postgres was unavailable. */
const RECHECK_DELAY_MS = 1000;

/** Of how many endpoints a worker remembers the pace. */
const MAX_PACES = 10_000;

/**
 * Sends claimed deliveries, and claims more while more are due and `claimingMs` have not passed, or longer if no other endpoint waits. The number of
 * concurrent requests follows the receiver: see `createPaceKeeper`. After the first failed or slow response no more requests begin, so that a
 * receiver that hangs occupies few slots, and only once. An ordered endpoint has one request at a time, and the next request begins when
 * the previous result is written. After a failure, the next lease of an ordered endpoint retries the failed delivery or, if it failed for
 * good, continues after it.
 *
 * Requested deliveries (tests, and retries that a client asked for) are sent under the same lease, without waiting for other requests in
 * flight: each is claimed when it has one of the slots reserved for requested deliveries, and sent at once. They do not count against
 * the rate limit. An ordered endpoint begins no other delivery while one of them is in flight.
 *
 * When everything is sent, the lease of a healthy endpoint lingers: it waits for new deliveries, which are announced, without a slot. (For an
 * ordered endpoint, one query finds out whether a delivery is due.) So a delivery to an endpoint that gets many needs no job and no lease of its own.
 *
 * `step` makes these decisions, and `handle` carries them out.
 */
export async function sendUnderLease(
  parts: SendDependencies,
  lease: EndpointLease,
  lane: Lane,
  first: Claim & Partial<LaneClaim>,
  { slot, allowLinger = false, hasNew = false }: SendStart = {},
): Promise<LeaseSummary> {
  const { pacesOfGoodEndpoints, claimingMs } = parts;
  const { endpoint } = first;
  const [maxInFlight, pace, now] = [parts.maxInFlight[lane], pacesOfGoodEndpoints.get(endpoint.id), performance.now()];
  const state = createSendingState({ lane, maxInFlight, claimingMs, first, hasNew, allowLinger, pace, now });
  const ended = Promise.withResolvers<void>();
  const sending: Sending = {
    parts,
    lease,
    state,
    circumstances: { now, isOutdated: false, isStopping: false, canWorkerLinger: false, areJobsFull: true },
    attempts: createAttempts(parts, endpoint),
    target: createAttemptTarget(parts.sender, endpoint),
    firstSlot: slot?.requested === undefined ? slot?.release : undefined,
    linger: createLinger(lease, parts.jobs, () => handle(sending, { type: 'lingerTimedOut' })),
    onEnd: ended.resolve,
  };
  const unregister = register(sending);
  const requested = slot?.requested && { claim: slot.requested, slot: slot.release };
  handle(sending, { type: 'started', requested });
  await ended.promise;
  unregister();
  rememberPace(pacesOfGoodEndpoints, state);
  return summarize(state, lease);
}

/** Registers the lease, so that it learns of new and requested deliveries. Returns a function that unregisters it. */
function register(sending: Sending): () => void {
  const { parts, lease, state } = sending;
  const { activeLeases, jobs } = parts;
  const endpointId = state.endpoint.id;
  const active: ActiveLease = {
    sendRequested: () => handle(sending, { type: 'requestAnnounced' }),
    onNewDeliveries() {
      const wasLingering = state.isLingering;
      handle(sending, { type: 'announced', areJobsFull: jobs.isFull(wasLingering ? 1 : 0) });
      return wasLingering;
    },
    endLinger: () => handle(sending, { type: 'stopped' }),
  };
  activeLeases.set(endpointId, active);
  lease.onRequested(active.sendRequested);
  // A later lease of the same endpoint may have registered meanwhile.
  return () => void (activeLeases.get(endpointId) === active && activeLeases.delete(endpointId));
}

/** Remembers the pace of an endpoint whose last response was good, for its next lease. */
function rememberPace(paces: Map<string, EndpointPace>, { endpoint, hasRespondedWell, pace }: SendingState): void {
  paces.delete(endpoint.id);
  if (hasRespondedWell) paces.set(endpoint.id, pace.getPace());
  if (paces.size > MAX_PACES) paces.delete(paces.keys().next().value!);
}

function summarize(
  { more, queue, slow, isRateLimited, hasUnchecked }: SendingState,
  lease: EndpointLease,
): LeaseSummary {
  const waitMs = isRateLimited ? lease.rateLimitWaitMs() : 0;
  return { more: more || queue.length > 0, slow, waitMs: hasUnchecked ? Math.max(waitMs, RECHECK_DELAY_MS) : waitMs };
}
