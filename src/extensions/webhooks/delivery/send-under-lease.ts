import type { Host } from '../../../declare/host.ts';
import type { AddToBatch } from '../../../platform/concurrency/micro-batch.ts';
import { type CheckReadability, NOT_READABLE } from '../readability/readability.ts';
import { createAttemptTarget, createNotReadableOutcome, type Outcome, type Sender } from './attempt.ts';
import { createCheckedAttempts } from './checked-attempts.ts';
import type { Claim, ClaimedDelivery } from './claim.ts';
import { fastOrSlowLaneFor, type Lane } from './endpoint-jobs.ts';
import type { EndpointLease, LeaseParts } from './endpoint-lease.ts';
import { BEGIN_REQUESTS_MS } from './lease-store.ts';
import type { CompletedAttempt } from './record-results.ts';
import type { RequestSlots } from './request-slots.ts';

/** ms until an endpoint is processed again after the check of its deliveries failed, for example because Postgres was unavailable. */
const RECHECK_DELAY_MS = 1000;

/** What a worker needs to send deliveries under a lease. */
export interface SendParts extends LeaseParts {
  host: Pick<Host, 'database' | 'log' | 'keyring' | 'tracing'>;
  sender: Sender;
  check: CheckReadability;
  slots: RequestSlots;
  recordResult: AddToBatch<CompletedAttempt>;
  /** Maximum number of concurrent requests to one endpoint, by lane. Requested deliveries are limited by their slots instead. */
  maxInFlight: Record<Lane, number>;
  /** ms for which a lease continues to claim while more is due. After that, other endpoints are processed. */
  claimingMs: number;
  /** Allowed concurrent requests per endpoint, for endpoints whose last response was good. */
  concurrencyLimits: Map<string, number>;
  /** The endpoints whose leases this worker holds, each with a function that sends its requested deliveries. */
  requestedSenders: Map<string, () => void>;
  isStopping(): boolean;
}

const MAX_CONCURRENCY_LIMITS = 10_000;

/** A slot that was acquired before the lease, for the first delivery or for the requested delivery that the first claim returned. */
export interface FirstSlot {
  release: () => void;
  requested?: Claim;
}

/** The result of sending under a lease. */
interface LeaseSummary {
  /** Whether more deliveries may be due. */
  more: boolean;
  slow: boolean;
  /** ms until the endpoint may continue, because of its rate limit or because the database is unavailable. */
  waitMs: number;
}

/**
 * Sends claimed deliveries, and claims more while more are due and `claimingMs` have not passed. Each good response raises the number of
 * concurrent requests by one, up to the endpoint's maximum. After the first failed or slow response no more requests begin, so that a
 * receiver that hangs occupies few slots, and only once. An ordered endpoint has one request at a time, and the next request begins when
 * the previous result is written. After a failure, the next lease of an ordered endpoint retries the failed delivery or, if it failed for
 * good, continues after it.
 *
 * Requested deliveries (tests, and retries that a client asked for) are sent under the same lease, without waiting for other requests in
 * flight: each is claimed when it has one of the slots reserved for requested deliveries, and sent at once. They do not count against
 * the rate limit. An ordered endpoint begins no other delivery while one of them is in flight.
 */
export async function sendUnderLease(
  parts: SendParts,
  lease: EndpointLease,
  lane: Lane,
  first: Claim,
  firstSlot?: FirstSlot,
): Promise<LeaseSummary> {
  const { concurrencyLimits, slots, maxInFlight, requestedSenders, host, sender, check } = parts;
  const { id: endpointId } = first.endpoint;
  const startedAt = performance.now();
  const queue: ClaimedDelivery[] = [...first.deliveries];
  let { endpoint } = first;
  let target = createAttemptTarget(sender, endpoint);
  let attempts = createCheckedAttempts({ check, sender, ...host }, endpoint);
  let { slow } = endpoint;
  let more = first.deliveries.length === parts.chunk[lane];
  let concurrencyLimit = Math.min(concurrencyLimits.get(endpointId) ?? 1, maxInFlight[lane]);
  /** Whether the endpoint's last response was successful and not slow. */
  let hasRespondedWell = concurrencyLimits.has(endpointId);
  /** Number of slots held or waited for, without those of requested deliveries. `awaitingSlot`: how many of them are waited for. */
  let inFlight = 0;
  let awaitingSlot = 0;
  let requestedInFlight = 0;
  let unwritten = 0;
  let claiming = false;
  let awaitingRequestedSlot = false;
  let claimingRequested = false;
  let ended = false;
  let halted = false;
  let isRateLimited = false;
  let hasUnchecked = false;
  let slot = firstSlot?.requested === undefined ? firstSlot?.release : undefined;

  const elapsedMs = () => performance.now() - startedAt;
  const mayBeginRequest = () =>
    !halted && !isRateLimited && !lease.isOutdated() && !parts.isStopping() && elapsedMs() < BEGIN_REQUESTS_MS;
  const mayClaimMore = () => lane === 'fast' && more && mayBeginRequest() && elapsedMs() < parts.claimingMs;

  let unregister = () => {};

  /** Registers this lease as the sender of the endpoint's requested deliveries. Returns a function that unregisters the lease. */
  function registerAsRequestedSender(sendRequestedWhenSlotIsFree: () => void): () => void {
    requestedSenders.set(endpointId, sendRequestedWhenSlotIsFree);
    lease.onRequested(sendRequestedWhenSlotIsFree);
    // A later lease of the same endpoint may have registered meanwhile.
    return () =>
      void (requestedSenders.get(endpointId) === sendRequestedWhenSlotIsFree && requestedSenders.delete(endpointId));
  }

  /** Returns the target, or undefined if the check took so long that the attempt must no longer begin. */
  const getTargetUnlessTooLate = () => (lease.isOutdated() || elapsedMs() >= BEGIN_REQUESTS_MS ? undefined : target);

  function adjustConcurrencyToOutcome(outcome: Outcome): void {
    // A refused attempt says nothing about the receiver.
    if (outcome.refused) return;
    slow = outcome.slow;
    hasRespondedWell = !outcome.slow;
    halted ||= outcome.slow;
    concurrencyLimit = outcome.slow ? 1 : Math.min(concurrencyLimit + 1, maxInFlight[lane]);
  }

  async function claimMoreDeliveries(): Promise<void> {
    let claim: Claim | undefined;
    try {
      claim = await lease.claim(lane);
    } catch (error) {
      host.log.error(
        { err: error, endpoint: endpointId },
        'webhook deliveries could not be claimed; the sweep will find them',
      );
    }
    more = claim !== undefined && claim.deliveries.length === parts.chunk[lane];
    if (claim === undefined) {
      halted = true;
      return;
    }
    // The endpoint may be bound to another API key by now, with narrower access.
    if (JSON.stringify(claim.endpoint.key) !== JSON.stringify(endpoint.key)) {
      attempts = createCheckedAttempts({ check, sender, ...host }, claim.endpoint);
    }
    endpoint = claim.endpoint;
    target = createAttemptTarget(sender, endpoint);
    queue.push(...claim.deliveries);
    if (fastOrSlowLaneFor(endpoint.slow) === lane) return;
    // A requested delivery, or the worker that held the lease before, found the endpoint slow meanwhile.
    slow = endpoint.slow;
    halted = true;
    more = true;
  }

  await new Promise<void>((resolve) => {
    function sendClaimedDelivery(claimed: ClaimedDelivery, release: () => void): void {
      void attemptDelivery(claimed).then((outcome) => {
        if (outcome !== undefined) recordOutcome(claimed, outcome);
        inFlight -= 1;
        release();
        fillSlotsAndClaimMore();
      });
    }

    /** Makes an attempt. Returns undefined if no attempt was made; the delivery can be claimed again after the lease is released. */
    async function attemptDelivery(claimed: ClaimedDelivery): Promise<Outcome | undefined> {
      const current = attempts;
      try {
        // Do not send what was checked for one API key to a URL that was set with another key meanwhile.
        const getCheckedTarget = () => (current === attempts ? getTargetUnlessTooLate() : undefined);
        const outcome = await current.attemptIfReadable(getCheckedTarget, claimed, queue);
        if (outcome === undefined) more = true;
        halted ||= outcome === undefined;
        return outcome;
      } catch (error) {
        haltAfterFailedCheck(error);
        return undefined;
      }
    }

    function haltAfterFailedCheck(error: unknown): void {
      host.log.error(
        { err: error, endpoint: endpointId },
        'webhook deliveries could not be checked; they will be retried',
      );
      halted = true;
      hasUnchecked = true;
    }

    function recordOutcome(claimed: ClaimedDelivery, outcome: Outcome): void {
      const { id, eventId, attempt, scheduleAttempt, dueAt } = claimed;
      const isEncrypted = claimed.encryptedBody !== null;
      adjustConcurrencyToOutcome(outcome);
      unwritten += 1;
      parts.recordResult({ id, endpointId, eventId, isEncrypted, attempt, scheduleAttempt, dueAt, outcome }).then(
        () => continueAfterResultWrite(id, true),
        (error: unknown) => {
          host.log.error(
            { err: error, endpoint: endpointId },
            'the result of a webhook delivery could not be stored; it may be sent again',
          );
          continueAfterResultWrite(id, false);
        },
      );
    }

    /**
     * Called when a result is stored, or could not be stored. In the second case the delivery stays claimed and is sent again later, and an
     * ordered endpoint sends nothing more under this lease.
     */
    function continueAfterResultWrite(id: string, isWritten: boolean): void {
      lease.setResultWritten(id, isWritten);
      unwritten -= 1;
      // An ordered endpoint must not continue before this result is stored.
      halted ||= endpoint.ordered && !isWritten;
      if (endpoint.ordered) fillSlotsAndClaimMore();
      else resolveIfIdle();
    }

    /** Sends a requested delivery, with the endpoint settings that its own claim returned. */
    async function sendRequestedDelivery(
      { endpoint: claimedFor, deliveries }: Claim,
      release: () => void,
    ): Promise<void> {
      const [claimed] = deliveries as [ClaimedDelivery];
      requestedInFlight += 1;
      try {
        const own = createCheckedAttempts({ check, sender, ...host }, claimedFor);
        const ownTarget = createAttemptTarget(sender, claimedFor);
        const outcome = await own.attemptIfReadable(() => ownTarget, claimed, []);
        // The outcome is undefined if the endpoint must not be sent to any more since the claim a moment ago.
        recordOutcome(claimed, outcome ?? createNotReadableOutcome(NOT_READABLE));
      } catch (error) {
        haltAfterFailedCheck(error);
      }
      requestedInFlight -= 1;
      release();
      fillSlotsAndClaimMore();
    }

    /**
     * Claims and sends requested deliveries, each as soon as it has a slot. The lease does not wait for a slot: if no slot becomes free
     * before the lease ends, its release adds a job for the requests. Otherwise hanging tests of other endpoints would delay the ordinary
     * deliveries of this endpoint.
     */
    function sendRequestedWhenSlotIsFree(): void {
      if (awaitingRequestedSlot || claimingRequested || parts.isStopping()) return;
      awaitingRequestedSlot = true;
      slots.acquire('requested', endpoint.owner, (release) => {
        awaitingRequestedSlot = false;
        if (ended) release();
        else void claimAndSendOneRequested(release);
      });
    }

    async function claimAndSendOneRequested(release: () => void): Promise<void> {
      claimingRequested = true;
      let claim: Claim | undefined;
      try {
        if (!parts.isStopping()) claim = await lease.claimRequestedDelivery();
      } catch (error) {
        host.log.error(
          { err: error, endpoint: endpointId },
          'a requested webhook delivery could not be claimed; the sweep will find it',
        );
      }
      claimingRequested = false;
      if (claim === undefined || claim.deliveries.length === 0) {
        release();
        resolveIfIdle();
        return;
      }
      void sendRequestedDelivery(claim, release);
      sendRequestedWhenSlotIsFree();
    }

    function sendNextInSlot(release: () => void): void {
      awaitingSlot -= 1;
      // The delivery may have waited for this slot, so check again whether its request may begin.
      const goesOn = mayBeginRequest() && queue.length > 0;
      isRateLimited ||= goesOn && !lease.tryCountAgainstRateLimit();
      const next = goesOn && !isRateLimited ? queue.shift() : undefined;
      if (next !== undefined) {
        sendClaimedDelivery(next, release);
        return;
      }
      inFlight -= 1;
      release();
      resolveIfIdle();
    }

    /** How many requests may be in flight now, not counting requested deliveries. */
    function getInFlightLimit(): number {
      if (!endpoint.ordered) return concurrencyLimit;
      return requestedInFlight > 0 ? 0 : 1 - unwritten;
    }

    function fillSlotsAndClaimMore(): void {
      while (inFlight < getInFlightLimit() && awaitingSlot < queue.length && mayBeginRequest()) {
        inFlight += 1;
        awaitingSlot += 1;
        const own = slot;
        slot = undefined;
        if (own === undefined) slots.acquire(lane, endpoint.owner, sendNextInSlot);
        else sendNextInSlot(own);
      }
      const isLow = endpoint.ordered
        ? queue.length + inFlight + requestedInFlight + unwritten === 0
        : queue.length <= concurrencyLimit;
      if (!claiming && isLow && mayClaimMore()) {
        claiming = true;
        void claimMoreDeliveries().then(() => {
          claiming = false;
          if (endpoint.requested) sendRequestedWhenSlotIsFree();
          fillSlotsAndClaimMore();
        });
      }
      resolveIfIdle();
    }

    function resolveIfIdle(): void {
      const isIdle = inFlight === 0 && requestedInFlight === 0 && unwritten === 0;
      if (!isIdle || claiming || claimingRequested) return;
      ended = true;
      resolve();
    }

    unregister = registerAsRequestedSender(sendRequestedWhenSlotIsFree);
    if (firstSlot?.requested !== undefined) void sendRequestedDelivery(firstSlot.requested, firstSlot.release);
    if (endpoint.requested) sendRequestedWhenSlotIsFree();
    fillSlotsAndClaimMore();
  });
  unregister();
  concurrencyLimits.delete(endpointId);
  if (hasRespondedWell) concurrencyLimits.set(endpointId, concurrencyLimit);
  if (concurrencyLimits.size > MAX_CONCURRENCY_LIMITS) concurrencyLimits.delete(concurrencyLimits.keys().next().value!);
  const waitMs = isRateLimited ? lease.rateLimitWaitMs() : 0;
  return { more: more || queue.length > 0, slow, waitMs: hasUnchecked ? Math.max(waitMs, RECHECK_DELAY_MS) : waitMs };
}
