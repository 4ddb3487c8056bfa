import type { Host } from '../../declare/host.ts';
import type { AddToBatch } from '../../platform/micro-batch.ts';
import type { Claim, Claimed } from './claimed.ts';
import { deliver, type Outcome, type Sender } from './deliver.ts';
import type { Places } from './places.ts';
import { EARLIEST, NEXT } from './sql/deliveries.ts';
import { createTurn, type Turn, type TurnParts } from './turn.ts';
import { type Lane, laneOf, wakeUp, wakeUpLater } from './wake-up.ts';
import type { Result } from './write-back.ts';

/** What drains are made with: one of each per worker. */
export interface DrainParts extends TurnParts {
  host: Pick<Host, 'database' | 'queues' | 'log'>;
  sender: Sender;
  places: Places;
  writeBack: AddToBatch<Result>;
  /** How many requests one endpoint may have in flight, by lane. */
  share: Record<Lane, number>;
  /** ms for which a drain goes on claiming while more is due; then other endpoints have their turn. */
  sliceMs: number;
  /** ms after the first claim within which requests are begun. */
  launchMs: number;
  claimOneText: string;
  /** Requests that an endpoint may have in flight by how it did of late. */
  windows: Map<string, number>;
  isStopping(): boolean;
}

const MOST_WINDOWS = 10_000;
/** ms after which an ordered endpoint is looked at again whose next delivery is due but not ready. */
const HELD_UP_MS = 50;

/** How a turn went. */
interface Served {
  /** More may be due. */
  more: boolean;
  slow: boolean;
  /** The rate holds it back. */
  limited: boolean;
}

/**
 * Sends what was claimed, and claims more while there is more and the turn lasts: first one request, then more at once with each that
 * is answered well, up to the endpoint's share. After the first that fails or takes long no further one is begun: a receiver that
 * hangs holds few places, and those only once. An ordered endpoint has one request at a time, and the next when the result of the one
 * before is written: after a failure the turn ends, and the next one begins with that delivery again or, if it failed for good, after it.
 */
async function serve(parts: DrainParts, turn: Turn, lane: Lane, first: Claim): Promise<Served> {
  const { windows, places, share, host, sender } = parts;
  const { id: endpointId } = first.endpoint;
  const begun = performance.now();
  const queue: Claimed[] = [...first.deliveries];
  let { endpoint } = first;
  let { slow } = endpoint;
  let more = first.deliveries.length === parts.chunk[lane];
  let window = Math.min(windows.get(endpointId) ?? 1, share[lane]);
  /** Requests, and places that were asked for; of these, those that nothing was begun in yet. */
  let inFlight = 0;
  let asked = 0;
  let unwritten = 0;
  let claiming = false;
  let halted = false;
  let limited = false;

  const mayBegin = () => !halted && !limited && !parts.isStopping() && performance.now() - begun < parts.launchMs;
  const mayClaim = () => lane === 'fast' && more && mayBegin() && performance.now() - begun < parts.sliceMs;

  function note(outcome: Outcome): void {
    slow = outcome.slow;
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
    endpoint = claim.endpoint;
    queue.push(...claim.deliveries);
    if (laneOf(endpoint.slow) === lane) return;
    // A test or a retry, or another worker that had the turn before, found it slow in the meantime.
    slow = endpoint.slow;
    halted = true;
    more = true;
  }

  await new Promise<void>((resolve) => {
    function send(claimed: Claimed, leave: () => void): void {
      const { id, messageId, body, attempt, scheduleAttempt, dueAt } = claimed;
      const { url, secrets } = endpoint;
      void deliver(sender, { endpointId, url, secrets, messageId, body }).then((outcome) => {
        note(outcome);
        unwritten += 1;
        parts.writeBack({ id, attempt, scheduleAttempt, dueAt, outcome }).then(
          () => settle(id, true),
          (error: unknown) => {
            host.log.error({ err: error, endpoint: endpointId }, 'the result of a webhook was not written');
            settle(id, false);
          },
        );
        inFlight -= 1;
        leave();
        pump();
      });
    }

    function settle(id: string, isWritten: boolean): void {
      turn.settle(id, isWritten);
      unwritten -= 1;
      // Of an ordered endpoint nothing goes on before this one's result is kept.
      halted ||= endpoint.ordered && !isWritten;
      if (endpoint.ordered) pump();
      else finish();
    }

    function begin(leave: () => void): void {
      asked -= 1;
      // It may have waited for its place.
      const goesOn = mayBegin() && queue.length > 0;
      limited ||= goesOn && !turn.mayBegin();
      const next = goesOn && !limited ? queue.shift() : undefined;
      if (next !== undefined) {
        send(next, leave);
        return;
      }
      inFlight -= 1;
      leave();
      finish();
    }

    function pump(): void {
      while (inFlight < (endpoint.ordered ? 1 - unwritten : window) && asked < queue.length && mayBegin()) {
        inFlight += 1;
        asked += 1;
        places.take(lane, begin);
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
  windows.set(endpointId, window);
  if (windows.size > MOST_WINDOWS) windows.delete(windows.keys().next().value!);
  return { more: more || queue.length > 0, slow, limited };
}

/**
 * Gives an endpoint its turn: sends what is due, writes the results back. Then, if more is due, puts it at the back of the queue,
 * else asks to be called when its earliest retry is due. Where somebody else has the turn, it leaves that to him.
 */
export async function drain(parts: DrainParts, endpointId: string, lane: Lane): Promise<void> {
  const { queues, database } = parts.host;
  const turn = createTurn(parts, endpointId, lane);
  const claim = await turn.claim();
  if (claim === undefined) return;
  const { endpoint } = claim;
  if (laneOf(endpoint.slow) !== lane) return wakeUp(queues, [{ id: endpointId, lane: laneOf(endpoint.slow) }]);
  if (endpoint.turn === 'taken') return;

  const { more, slow, limited } = await serve(parts, turn, lane, claim);
  await turn.end();
  const next = laneOf(slow);
  const waitMs = limited ? turn.waitMs() : 0;
  if (waitMs > 0) return wakeUpLater(queues, endpointId, next, waitMs);
  if (more) return wakeUp(queues, [{ id: endpointId, lane: next }]);
  const { ordered } = endpoint;
  const statement = ordered ? { name: 'webhook_next', text: NEXT } : { name: 'webhook_earliest', text: EARLIEST };
  const [earliest] = await database.read<[number]>({ ...statement, values: [endpointId] });
  if (earliest === undefined) return;
  // It is due, and yet it was not claimed: something before it is still to come.
  const isHeldUp = ordered && claim.deliveries.length === 0;
  const delayMs = Math.max(earliest[0], isHeldUp ? HELD_UP_MS : 0);
  if (delayMs === 0) await wakeUp(queues, [{ id: endpointId, lane: next }]);
  else await wakeUpLater(queues, endpointId, next, delayMs);
}
