import type { Host } from '../../../declare/host.ts';
import type { AddToBatch } from '../../../platform/micro-batch.ts';
import type { CheckReadability } from '../readability/readability.ts';
import type { Outcome, Sender } from './attempt.ts';
import { targetOf } from './attempt.ts';
import { createCheckedAttempts } from './checked-attempts.ts';
import type { Claim, ClaimedDelivery } from './claim.ts';
import { type Lane, laneOf } from './endpoint-jobs.ts';
import type { Turn, TurnParts } from './endpoint-lease.ts';
import { LAUNCH_MS } from './lease-store.ts';
import type { Result } from './record-results.ts';
import type { RequestSlots } from './request-slots.ts';

/** When deliveries could not be checked, their endpoint is served again after this time, in ms. */
const CHECK_AGAIN_MS = 1000;

/** What endpoints are served with: one of each per worker. */
export interface ServeParts extends TurnParts {
  host: Pick<Host, 'database' | 'log' | 'keyring'>;
  sender: Sender;
  check: CheckReadability;
  slots: RequestSlots;
  recordResult: AddToBatch<Result>;
  /** How many requests one endpoint may have in flight, by lane. */
  share: Record<Lane, number>;
  /** ms for which a turn goes on claiming while more is due; then other endpoints have their turn. */
  sliceMs: number;
  /** Requests that an endpoint may have in flight, for those whose last answer was good. */
  windows: Map<string, number>;
  isStopping(): boolean;
}

const MAX_WINDOWS = 10_000;

/** How a turn went. */
interface Served {
  /** More may be due. */
  more: boolean;
  slow: boolean;
  /** How long the endpoint waits, in ms: for its rate limit, or for a database that is away. */
  waitMs: number;
}

/**
 * Sends what was claimed, and claims more while there is more and the turn lasts: first one request, then more at once with each that
 * is answered well, up to the endpoint's share. After the first that fails or takes long no further one is begun: a receiver that
 * hangs holds few slots, and those only once. An ordered endpoint has one request at a time, and the next when the result of the one
 * before is written: after a failure the turn ends, and the next one begins with that delivery again or, if it failed for good, after it.
 *
 * @param held a slot for its first request, if it has one
 */
export async function serve(
  parts: ServeParts,
  turn: Turn,
  lane: Lane,
  first: Claim,
  held?: () => void,
): Promise<Served> {
  const { windows, slots, share, host, sender } = parts;
  const { id: endpointId } = first.endpoint;
  const begun = performance.now();
  const queue: ClaimedDelivery[] = [...first.deliveries];
  let { endpoint } = first;
  let target = targetOf(sender, endpoint);
  const { check } = parts;
  let attempts = createCheckedAttempts({ check, sender, ...host }, endpoint);
  let { slow } = endpoint;
  let more = first.deliveries.length === parts.chunk[lane];
  let window = Math.min(windows.get(endpointId) ?? 1, share[lane]);
  /** Its last answer was good. */
  let tried = windows.has(endpointId);
  /** Requests, and slots that were asked for; of these, those that nothing was begun in yet. */
  let inFlight = 0;
  let asked = 0;
  let unwritten = 0;
  let claiming = false;
  let halted = false;
  let limited = false;
  let unchecked = false;
  let slot = held;

  const mayBegin = () =>
    !halted && !limited && !turn.isOutdated() && !parts.isStopping() && performance.now() - begun < LAUNCH_MS;
  const mayClaim = () => lane === 'fast' && more && mayBegin() && performance.now() - begun < parts.sliceMs;

  /** The target, unless the check took so long that the attempt must not begin any more. */
  const targetNow = () => (turn.isOutdated() || performance.now() - begun >= LAUNCH_MS ? undefined : target);

  function note(outcome: Outcome): void {
    // A refused attempt says nothing about the receiver.
    if (outcome.refused) return;
    slow = outcome.slow;
    tried = !outcome.slow;
    halted ||= outcome.slow;
    window = outcome.slow ? 1 : Math.min(window + 1, share[lane]);
  }

  async function claimMore(): Promise<void> {
    let claim: Claim | undefined;
    try {
      claim = await turn.claim();
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
    // A test or a retry, or another worker that had the turn before, found it slow in the meantime.
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

    /** Makes an attempt. Returns undefined if none was made; the delivery can be claimed again when the lease ends. */
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
        host.log.error(
          { err: error, endpoint: endpointId },
          'webhook deliveries could not be checked; they are tried again',
        );
        halted = true;
        unchecked = true;
        return undefined;
      }
    }

    function record(claimed: ClaimedDelivery, outcome: Outcome): void {
      const { id, attempt, scheduleAttempt, dueAt } = claimed;
      const isEncrypted = claimed.encryptedBody !== null;
      note(outcome);
      unwritten += 1;
      parts.recordResult({ id, isEncrypted, attempt, scheduleAttempt, dueAt, outcome }).then(
        () => afterResult(id, true),
        (error: unknown) => {
          host.log.error({ err: error, endpoint: endpointId }, 'the result of a webhook was not written');
          afterResult(id, false);
        },
      );
    }

    function afterResult(id: string, isWritten: boolean): void {
      turn.noteResult(id, isWritten);
      unwritten -= 1;
      // Of an ordered endpoint nothing goes on before this one's result is kept.
      halted ||= endpoint.ordered && !isWritten;
      if (endpoint.ordered) pump();
      else finish();
    }

    function begin(release: () => void): void {
      asked -= 1;
      // It may have waited for its slot.
      const goesOn = mayBegin() && queue.length > 0;
      limited ||= goesOn && !turn.mayBegin();
      const next = goesOn && !limited ? queue.shift() : undefined;
      if (next !== undefined) {
        send(next, release);
        return;
      }
      inFlight -= 1;
      release();
      finish();
    }

    function pump(): void {
      while (inFlight < (endpoint.ordered ? 1 - unwritten : window) && asked < queue.length && mayBegin()) {
        inFlight += 1;
        asked += 1;
        const own = slot;
        slot = undefined;
        if (own === undefined) slots.acquire(lane, begin);
        else begin(own);
      }
      const isLow = endpoint.ordered ? queue.length + inFlight + unwritten === 0 : queue.length <= window;
      if (!claiming && isLow && mayClaim()) {
        claiming = true;
        void claimMore().then(() => {
          claiming = false;
          pump();
        });
      }
      finish();
    }

    function finish(): void {
      if (inFlight === 0 && unwritten === 0 && !claiming) resolve();
    }
    pump();
  });
  windows.delete(endpointId);
  if (tried) windows.set(endpointId, window);
  if (windows.size > MAX_WINDOWS) windows.delete(windows.keys().next().value!);
  const waitMs = limited ? turn.waitMs() : 0;
  return { more: more || queue.length > 0, slow, waitMs: unchecked ? Math.max(waitMs, CHECK_AGAIN_MS) : waitMs };
}
