import { fastOrSlowLaneFor, type Lane } from '../../endpoints/endpoint-jobs.ts';
import { createAttemptTarget, type Outcome } from './attempt.ts';
import { createCheckedAttempts } from './checked-attempts.ts';
import type { Claim, ClaimedDelivery } from './claim.ts';
import { NEXT_DUE_MS } from './due-sql.ts';
import type { EndpointLease, LaneClaim } from './endpoint-lease.ts';
import { createPaceKeeper } from './endpoint-pace.ts';
import { BEGIN_REQUESTS_MS } from './lease-store.ts';
import { createLinger, LINGER_MS } from './linger.ts';
import type { ReleaseSlot } from './request-slots.ts';
import { createRequestedSender } from './requested-sender.ts';
import type { ActiveLease, LeaseSummary, SendParts, SendStart } from './send-parts.ts';

/** ms until an endpoint is processed again after the check of its deliveries failed, for example because Postgres was unavailable. */
const RECHECK_DELAY_MS = 1000;

/** ms after which the response times of a long lease are measured anew. */
const PACE_PERIOD_MS = 1000;

const MAX_CONCURRENCY_LIMITS = 10_000;

/**
 * Sends claimed deliveries, and claims more while more are due and `claimingMs` have not passed. The number of
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
 */
export async function sendUnderLease(
  parts: SendParts,
  lease: EndpointLease,
  lane: Lane,
  first: Claim & Partial<LaneClaim>,
  { slot: firstSlot, mayLinger: isLingerAllowed = false, hasNew: hadNew = false }: SendStart = {},
): Promise<LeaseSummary> {
  const { pacesOfGoodEndpoints, slots, maxInFlight, activeLeases, jobs, host, sender, check } = parts;
  const { id: endpointId } = first.endpoint;
  /** Time of the last claim that returned deliveries. */
  let claimedAt = performance.now();
  /** Since when the lease has claimed one full batch after the other. */
  let claimingSince = claimedAt;
  let lastResultAt = claimedAt;
  const queue: ClaimedDelivery[] = [...first.deliveries];
  let { endpoint } = first;
  let target = createAttemptTarget(sender, endpoint);
  let attempts = createCheckedAttempts({ check, sender, ...host }, endpoint);
  let { slow } = endpoint;
  let isClaimFull = first.isFull ?? false;
  let more = isClaimFull || hadNew;
  let paceSince = claimedAt;
  let pace = createPaceKeeper(pacesOfGoodEndpoints.get(endpointId), maxInFlight[lane]);
  /** Whether the endpoint's last response was successful and not slow. */
  let hasRespondedWell = pacesOfGoodEndpoints.has(endpointId);
  /** Number of slots held or waited for, without those of requested deliveries. `awaitingSlot`: how many of them are waited for. */
  let inFlight = 0;
  let awaitingSlot = 0;
  let unwritten = 0;
  let claiming = false;
  let ended = false;
  let halted = false;
  let isRateLimited = false;
  let hasUnchecked = false;
  let slot = firstSlot?.requested === undefined ? firstSlot?.release : undefined;
  /** Whether new deliveries were announced since the last claim began. */
  let hasNew = false;
  let hasFailedWrite = false;
  /** Whether the lease was acquired: the first claim that returns deliveries does that. */
  let isAcquired = first.deliveries.length > 0;
  let mayLingerAtAll = isLingerAllowed && lane === 'fast';
  /** Whether an ordered endpoint had no due delivery after its last claim. */
  let isKnownDrained = false;

  const elapsedMs = (since: number) => performance.now() - since;
  const mayContinue = () => !halted && !isRateLimited && !lease.isOutdated() && !parts.isStopping();
  const mayBeginRequest = () => mayContinue() && elapsedMs(claimedAt) < BEGIN_REQUESTS_MS;
  /** A claim also gives earlier deliveries of the queue more time to begin, which must not be too late already. */
  const mayClaimMore = () =>
    lane === 'fast' &&
    more &&
    mayContinue() &&
    elapsedMs(claimingSince) < parts.claimingMs &&
    (queue.length === 0 || elapsedMs(claimedAt) < BEGIN_REQUESTS_MS);
  const mayLinger = () =>
    mayLingerAtAll &&
    isAcquired &&
    hasRespondedWell &&
    !more &&
    queue.length === 0 &&
    mayContinue() &&
    !hasFailedWrite &&
    elapsedMs(lastResultAt) < LINGER_MS;

  let unregister = () => {};

  /** Registers this lease. Returns a function that unregisters it. */
  function register(active: ActiveLease): () => void {
    activeLeases.set(endpointId, active);
    lease.onRequested(active.sendRequested);
    // A later lease of the same endpoint may have registered meanwhile.
    return () => void (activeLeases.get(endpointId) === active && activeLeases.delete(endpointId));
  }

  /** Whether a request shows that its receiver does not hang: a slow endpoint need only succeed. Undefined if nothing was sent. */
  function wasGood(outcome: Outcome | undefined): boolean | undefined {
    if (outcome === undefined || outcome.refused) return undefined;
    return lane === 'slow' ? outcome.ok : !outcome.slow;
  }

  /** Returns the target, or undefined if the check took so long that the attempt must no longer begin. */
  const getTargetUnlessTooLate = () =>
    lease.isOutdated() || elapsedMs(claimedAt) >= BEGIN_REQUESTS_MS ? undefined : target;

  function adjustConcurrencyToOutcome(outcome: Outcome): void {
    // A refused attempt says nothing about the receiver.
    if (outcome.refused) return;
    slow = outcome.slow;
    hasRespondedWell = !outcome.slow;
    halted ||= outcome.slow;
    pace.adjust(outcome.durationMs, !outcome.slow, inFlight >= pace.limit());
  }

  function measurePaceAnew(): void {
    pace = createPaceKeeper(pace.getPace(), maxInFlight[lane]);
    paceSince = performance.now();
  }

  async function claimMoreDeliveries(): Promise<void> {
    let claim: LaneClaim | undefined;
    hasNew = false;
    isKnownDrained = false;
    try {
      claim = await lease.claim(lane);
    } catch (error) {
      host.log.error(
        { err: error, endpoint: endpointId },
        'webhook deliveries could not be claimed; the sweep will find them',
      );
    }
    isClaimFull = claim?.isFull ?? false;
    more = isClaimFull || hasNew;
    if (claim === undefined) {
      halted = true;
      return;
    }
    // The endpoint may be bound to another API key by now, with narrower access.
    if (JSON.stringify(claim.endpoint.key) !== JSON.stringify(endpoint.key)) {
      attempts = createCheckedAttempts({ check, sender, ...host }, claim.endpoint);
    } else attempts.setReadOwner(claim.endpoint.readOwner);
    endpoint = claim.endpoint;
    target = createAttemptTarget(sender, endpoint);
    queue.push(...claim.deliveries);
    if (claim.deliveries.length > 0) {
      claimedAt = performance.now();
      isAcquired = true;
    }
    // The lease had expired, because Postgres or this process was stuck.
    halted ||= endpoint.lease === 'taken';
    if (elapsedMs(paceSince) >= PACE_PERIOD_MS) measurePaceAnew();
    if (fastOrSlowLaneFor(endpoint.slow) === lane) return;
    // A requested delivery, or the worker that held the lease before, found the endpoint slow meanwhile.
    slow = endpoint.slow;
    halted = true;
    more = true;
  }

  await new Promise<void>((resolve) => {
    function sendClaimedDelivery(claimed: ClaimedDelivery, release: ReleaseSlot): void {
      void attemptDelivery(claimed).then((outcome) => {
        if (outcome !== undefined) recordOutcome(claimed, outcome);
        inFlight -= 1;
        release(wasGood(outcome));
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
      lastResultAt = performance.now();
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
      hasFailedWrite ||= !isWritten;
      // An ordered endpoint must not continue before this result is stored.
      halted ||= endpoint.ordered && !isWritten;
      fillSlotsAndClaimMore();
    }

    function sendNextInSlot(release: ReleaseSlot): void {
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
      lingerOrResolve();
    }

    /** How many requests may be in flight now, not counting requested deliveries. */
    function getInFlightLimit(): number {
      if (!endpoint.ordered) return pace.limit();
      return requested.countInFlight() > 0 ? 0 : 1 - unwritten;
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
        ? queue.length + inFlight + requested.countInFlight() + unwritten === 0
        : queue.length <= pace.limit();
      if (!claiming && isLow && mayClaimMore()) {
        claiming = true;
        void claimMoreDeliveries()
          .catch(haltAfterFailedCheck)
          .then(() => {
            claiming = false;
            if (endpoint.requested) requested.sendWhenSlotIsFree();
            fillSlotsAndClaimMore();
          });
      }
      lingerOrResolve();
    }

    function lingerOrResolve(): void {
      const isIdle = inFlight === 0 && requested.countInFlight() === 0 && unwritten === 0;
      if (!isIdle || claiming || requested.isClaiming() || ended) return;
      if (mayLinger() && linger.begin(LINGER_MS - elapsedMs(lastResultAt))) {
        if (endpoint.ordered && !isKnownDrained) void endLingerIfDue();
        return;
      }
      linger.end();
      ended = true;
      requested.end();
      resolve();
    }

    /**
     * Ends the wait of an ordered endpoint that has a due delivery: an earlier event may still produce one, and if it does not, nothing
     * announces that.
     */
    async function endLingerIfDue(): Promise<void> {
      isKnownDrained = true;
      const statement = { name: 'webhook_next', text: NEXT_DUE_MS, values: [endpointId] };
      const [earliest] = await host.database.read<[number]>(statement).catch(() => [[0]]);
      if (earliest === undefined || earliest[0] > LINGER_MS) return;
      mayLingerAtAll = false;
      lingerOrResolve();
    }

    function onNewDeliveries(): boolean {
      if (ended || lane !== 'fast') return false;
      const hasWaited = linger.end();
      if (hasWaited) measurePaceAnew();
      // Continue without a new job, unless full batches or other endpoints wait.
      if (!isClaimFull && !jobs.isFull()) claimingSince = performance.now();
      hasNew = true;
      more = true;
      // Otherwise claim with the next response: a delivery must not be claimed to wait for a request that may hang.
      if (inFlight === 0) fillSlotsAndClaimMore();
      return hasWaited;
    }

    const linger = createLinger(lease, jobs, lingerOrResolve);
    const requested = createRequestedSender(parts, lease, endpoint, {
      onBegin: linger.end,
      onOutcome: recordOutcome,
      onFailedCheck: haltAfterFailedCheck,
      onEnd: fillSlotsAndClaimMore,
      wasGood,
    });
    unregister = register({ sendRequested: requested.sendWhenSlotIsFree, onNewDeliveries, endLinger: lingerOrResolve });
    if (firstSlot?.requested !== undefined) void requested.send(firstSlot.requested, firstSlot.release);
    if (endpoint.requested) requested.sendWhenSlotIsFree();
    fillSlotsAndClaimMore();
  });
  unregister();
  pacesOfGoodEndpoints.delete(endpointId);
  if (hasRespondedWell) pacesOfGoodEndpoints.set(endpointId, pace.getPace());
  if (pacesOfGoodEndpoints.size > MAX_CONCURRENCY_LIMITS)
    pacesOfGoodEndpoints.delete(pacesOfGoodEndpoints.keys().next().value!);
  const waitMs = isRateLimited ? lease.rateLimitWaitMs() : 0;
  return { more: more || queue.length > 0, slow, waitMs: hasUnchecked ? Math.max(waitMs, RECHECK_DELAY_MS) : waitMs };
}
