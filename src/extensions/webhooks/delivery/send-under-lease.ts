import type { Host } from '../../../declare/host.ts';
import type { AddToBatch } from '../../../platform/micro-batch.ts';
import { type CheckReadability, NOT_READABLE } from '../readability/readability.ts';
import { type Outcome, refusedOutcome, type Sender, targetOf } from './attempt.ts';
import { createCheckedAttempts } from './checked-attempts.ts';
import type { Claim, ClaimedDelivery } from './claim.ts';
import { type Lane, laneOf } from './endpoint-jobs.ts';
import type { EndpointLease, LeaseParts } from './endpoint-lease.ts';
import { LAUNCH_MS } from './lease-store.ts';
import type { Result } from './record-results.ts';
import type { RequestSlots } from './request-slots.ts';

/** When deliveries could not be checked, their endpoint is served again after this time, in ms. */
const CHECK_AGAIN_MS = 1000;

/** What deliveries are sent with: one of each per worker. */
export interface SendParts extends LeaseParts {
  host: Pick<Host, 'database' | 'log' | 'keyring'>;
  sender: Sender;
  check: CheckReadability;
  slots: RequestSlots;
  recordResult: AddToBatch<Result>;
  /** How many requests one endpoint may have in flight, by lane. Requested deliveries are limited by their slots instead. */
  maxInFlight: Record<Lane, number>;
  /** ms for which a lease goes on claiming while more is due; then other endpoints are served. */
  sliceMs: number;
  /** Requests that an endpoint may have in flight, for those whose last response was good. */
  windows: Map<string, number>;
  /** The endpoints whose leases this worker holds: sends their requested deliveries. */
  leased: Map<string, () => void>;
  isStopping(): boolean;
}

const MAX_WINDOWS = 10_000;

/** A slot that was acquired before the lease: for the first delivery, or for the requested delivery that the first claim returned. */
export interface FirstSlot {
  release: () => void;
  requested?: Claim;
}

/** The result of sending under a lease. */
interface Served {
  /** More may be due. */
  more: boolean;
  slow: boolean;
  /** How long the endpoint waits, in ms: for its rate limit, or for a database that is unavailable. */
  waitMs: number;
}

/**
 * Sends what was claimed, and claims more while more is due and the slice lasts: first one request, then more at once with each good
 * response, up to the endpoint's maximum. After the first that fails or is slow no further one begins: a receiver that hangs holds few
 * slots, and those only once. An ordered endpoint has one request at a time, and the next begins when the result of the one before is
 * written: after a failure the lease is released, and the next one begins with that delivery again or, if it failed for good, after it.
 *
 * Requested deliveries (a test, a retry that a client asked for) are sent under the same lease, but they wait for nothing that is in
 * flight there: each is claimed when it has one of the slots that are reserved for them, and sent at once. They are not counted against
 * the rate limit. An ordered endpoint begins no other delivery while one of them is in flight.
 */
export async function sendUnderLease(
  parts: SendParts,
  lease: EndpointLease,
  lane: Lane,
  first: Claim,
  firstSlot?: FirstSlot,
): Promise<Served> {
  const { windows, slots, maxInFlight, leased, host, sender, check } = parts;
  const { id: endpointId } = first.endpoint;
  const startedAt = performance.now();
  const queue: ClaimedDelivery[] = [...first.deliveries];
  let { endpoint } = first;
  let target = targetOf(sender, endpoint);
  let attempts = createCheckedAttempts({ check, sender, ...host }, endpoint);
  let { slow } = endpoint;
  let more = first.deliveries.length === parts.chunk[lane];
  let window = Math.min(windows.get(endpointId) ?? 1, maxInFlight[lane]);
  /** Its last response was good. */
  let tried = windows.has(endpointId);
  /** Requests in flight, and slots that were asked for; `asked`: of these, those in which nothing has begun. */
  let inFlight = 0;
  let asked = 0;
  let requestedInFlight = 0;
  let unwritten = 0;
  let claiming = false;
  let claimingRequested = false;
  let halted = false;
  let limited = false;
  let unchecked = false;
  let slot = firstSlot?.requested === undefined ? firstSlot?.release : undefined;

  const elapsedMs = () => performance.now() - startedAt;
  const mayBegin = () => !halted && !limited && !lease.isOutdated() && !parts.isStopping() && elapsedMs() < LAUNCH_MS;
  const mayClaim = () => lane === 'fast' && more && mayBegin() && elapsedMs() < parts.sliceMs;

  let stopListening = () => {};

  /** Makes this lease the one that sends the endpoint's requested deliveries. */
  function listen(claimRequested: () => void): () => void {
    leased.set(endpointId, claimRequested);
    lease.onRequested(claimRequested);
    // A later lease of the same endpoint may have taken its place.
    return () => void (leased.get(endpointId) === claimRequested && leased.delete(endpointId));
  }

  /** The target, unless the check took so long that the attempt must not begin any more. */
  const targetNow = () => (lease.isOutdated() || elapsedMs() >= LAUNCH_MS ? undefined : target);

  function note(outcome: Outcome): void {
    // A refused attempt says nothing about the receiver.
    if (outcome.refused) return;
    slow = outcome.slow;
    tried = !outcome.slow;
    halted ||= outcome.slow;
    window = outcome.slow ? 1 : Math.min(window + 1, maxInFlight[lane]);
  }

  async function claimMore(): Promise<void> {
    let claim: Claim | undefined;
    try {
      claim = await lease.claim(lane);
    } catch (error) {
      host.log.error({ err: error, endpoint: endpointId }, 'deliveries were not claimed; the sweep finds them again');
    }
    more = claim !== undefined && claim.deliveries.length === parts.chunk[lane];
    if (claim === undefined) {
      halted = true;
      return;
    }
    // Bound to another API key by now, it may be sent less.
    if (JSON.stringify(claim.endpoint.key) !== JSON.stringify(endpoint.key)) {
      attempts = createCheckedAttempts({ check, sender, ...host }, claim.endpoint);
    }
    endpoint = claim.endpoint;
    target = targetOf(sender, endpoint);
    queue.push(...claim.deliveries);
    if (laneOf(endpoint.slow) === lane) return;
    // A requested delivery, or another worker that held the lease before, found it slow in the meantime.
    slow = endpoint.slow;
    halted = true;
    more = true;
  }

  await new Promise<void>((resolve) => {
    function send(claimed: ClaimedDelivery, release: () => void): void {
      void attemptOf(claimed).then((outcome) => {
        if (outcome !== undefined) record(claimed, outcome);
        inFlight -= 1;
        release();
        pump();
      });
    }

    /** Makes an attempt. Returns undefined if none was made; the delivery can be claimed again when the lease is released. */
    async function attemptOf(claimed: ClaimedDelivery): Promise<Outcome | undefined> {
      const current = attempts;
      try {
        // What was checked for one API key is not sent to the URL that another has set meanwhile.
        const targetOfCheck = () => (current === attempts ? targetNow() : undefined);
        const outcome = await current.make(targetOfCheck, claimed, queue);
        if (outcome === undefined) more = true;
        halted ||= outcome === undefined;
        return outcome;
      } catch (error) {
        noteUnchecked(error);
        return undefined;
      }
    }

    function noteUnchecked(error: unknown): void {
      host.log.error(
        { err: error, endpoint: endpointId },
        'webhook deliveries could not be checked; they are tried again',
      );
      halted = true;
      unchecked = true;
    }

    function record(claimed: ClaimedDelivery, outcome: Outcome): void {
      const { id, eventId, attempt, scheduleAttempt, dueAt } = claimed;
      const isEncrypted = claimed.encryptedBody !== null;
      note(outcome);
      unwritten += 1;
      parts.recordResult({ id, endpointId, eventId, isEncrypted, attempt, scheduleAttempt, dueAt, outcome }).then(
        () => afterResult(id, true),
        (error: unknown) => {
          host.log.error({ err: error, endpoint: endpointId }, 'the result of a webhook was not written');
          afterResult(id, false);
        },
      );
    }

    function afterResult(id: string, isWritten: boolean): void {
      lease.noteResult(id, isWritten);
      unwritten -= 1;
      // An ordered endpoint does not go on before this result is stored.
      halted ||= endpoint.ordered && !isWritten;
      if (endpoint.ordered) pump();
      else finish();
    }

    /** Sends a requested delivery to the endpoint as its own claim returned it. */
    async function sendRequested({ endpoint: claimedFor, deliveries }: Claim, release: () => void): Promise<void> {
      const [claimed] = deliveries as [ClaimedDelivery];
      requestedInFlight += 1;
      try {
        const own = createCheckedAttempts({ check, sender, ...host }, claimedFor);
        const ownTarget = targetOf(sender, claimedFor);
        const outcome = await own.make(() => ownTarget, claimed, []);
        // Undefined: since the claim, a moment ago, sending to the endpoint was stopped.
        record(claimed, outcome ?? refusedOutcome(NOT_READABLE));
      } catch (error) {
        noteUnchecked(error);
      }
      requestedInFlight -= 1;
      release();
      pump();
    }

    /** Claims and sends requested deliveries, each as soon as it has a slot. */
    function claimRequested(): void {
      if (claimingRequested || parts.isStopping()) return;
      claimingRequested = true;
      slots.acquire('requested', (release) => void claimOneRequested(release));
    }

    async function claimOneRequested(release: () => void): Promise<void> {
      let claim: Claim | undefined;
      try {
        if (!parts.isStopping()) claim = await lease.claimRequested();
      } catch (error) {
        host.log.error(
          { err: error, endpoint: endpointId },
          'a requested delivery was not claimed; the sweep finds it',
        );
      }
      claimingRequested = false;
      if (claim === undefined || claim.deliveries.length === 0) {
        release();
        finish();
        return;
      }
      void sendRequested(claim, release);
      claimRequested();
    }

    function begin(release: () => void): void {
      asked -= 1;
      // It may have waited for its slot.
      const goesOn = mayBegin() && queue.length > 0;
      limited ||= goesOn && !lease.mayBegin();
      const next = goesOn && !limited ? queue.shift() : undefined;
      if (next !== undefined) {
        send(next, release);
        return;
      }
      inFlight -= 1;
      release();
      finish();
    }

    /** How many requests may be in flight now, without the requested ones. */
    function limitNow(): number {
      if (!endpoint.ordered) return window;
      return requestedInFlight > 0 ? 0 : 1 - unwritten;
    }

    function pump(): void {
      while (inFlight < limitNow() && asked < queue.length && mayBegin()) {
        inFlight += 1;
        asked += 1;
        const own = slot;
        slot = undefined;
        if (own === undefined) slots.acquire(lane, begin);
        else begin(own);
      }
      const isLow = endpoint.ordered
        ? queue.length + inFlight + requestedInFlight + unwritten === 0
        : queue.length <= window;
      if (!claiming && isLow && mayClaim()) {
        claiming = true;
        void claimMore().then(() => {
          claiming = false;
          if (endpoint.requested) claimRequested();
          pump();
        });
      }
      finish();
    }

    function finish(): void {
      const isIdle = inFlight === 0 && requestedInFlight === 0 && unwritten === 0;
      if (isIdle && !claiming && !claimingRequested) resolve();
    }

    stopListening = listen(claimRequested);
    if (firstSlot?.requested !== undefined) void sendRequested(firstSlot.requested, firstSlot.release);
    if (endpoint.requested) claimRequested();
    pump();
  });
  stopListening();
  windows.delete(endpointId);
  if (tried) windows.set(endpointId, window);
  if (windows.size > MAX_WINDOWS) windows.delete(windows.keys().next().value!);
  const waitMs = limited ? lease.waitMs() : 0;
  return { more: more || queue.length > 0, slow, waitMs: unchecked ? Math.max(waitMs, CHECK_AGAIN_MS) : waitMs };
}
