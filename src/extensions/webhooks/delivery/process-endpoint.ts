import type { Host } from '../../../declare/host.ts';
import { EARLIEST, NEXT } from '../log/deliveries-sql.ts';
import { type Lane, laneOf, wakeUp, wakeUpLater } from './endpoint-jobs.ts';
import { createTurn } from './endpoint-lease.ts';
import { type ServeParts, serve } from './send-under-lease.ts';

/** What endpoints are processed with: one of each per worker. */
export interface WorkerParts extends ServeParts {
  host: Pick<Host, 'database' | 'queues' | 'log' | 'keyring'>;
  claimOneText: string;
  /** ms that the claim of a single delivery lasts. */
  deliveryLeaseMs: number;
  /** Endpoints that wait for a slot without a job. */
  waitingEndpoints: Set<string>;
  /** What comes of them; a worker that stops waits for it. */
  waitingTurns: Set<Promise<void>>;
}

/** ms after which an ordered endpoint is looked at again whose next delivery is due but not ready. */
const HELD_UP_MS = 50;

async function takeTurn(parts: WorkerParts, endpointId: string, lane: Lane, held?: () => void): Promise<void> {
  const { queues, database } = parts.host;
  const turn = createTurn(parts, endpointId, lane);
  const claim = await turn.claim();
  if (claim === undefined) return;
  const { endpoint } = claim;
  if (laneOf(endpoint.slow) !== lane) return wakeUp(queues, [{ id: endpointId, lane: laneOf(endpoint.slow) }]);
  if (endpoint.turn === 'taken') return;

  const { more, slow, waitMs } = await serve(parts, turn, lane, claim, held);
  await turn.end();
  const next = laneOf(slow);
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

/** Waits for a slot, then takes a turn. Never rejects. */
function takeTurnWithSlot(parts: WorkerParts, endpointId: string): Promise<void> {
  return new Promise((resolve) => {
    parts.slots.acquire('untried', (release) => {
      parts.waitingEndpoints.delete(endpointId);
      let isHeld = true;
      const giveBack = () => {
        if (isHeld) release();
        isHeld = false;
      };
      const taken = parts.isStopping() ? Promise.resolve() : takeTurn(parts, endpointId, 'fast', giveBack);
      const failed = (error: unknown) =>
        parts.host.log.error({ err: error, endpoint: endpointId }, 'an endpoint could not be served');
      void taken.catch(failed).then(giveBack).then(resolve);
    });
  });
}

/**
 * Gives an endpoint its turn: sends what is due, writes the results back. Then, if more is due, puts it at the back of the queue,
 * else asks to be called when its earliest retry is due. Where somebody else has the turn, it leaves that to him.
 *
 * An endpoint of which this worker does not know that it answers gets one of few slots for its first request. Where there is none it
 * waits outside of its job: those that hang would else hold up all jobs. Should it be lost there, the sweep finds it.
 */
export async function processEndpoint(parts: WorkerParts, endpointId: string, lane: Lane): Promise<void> {
  const { windows, slots, waitingEndpoints, waitingTurns } = parts;
  if (lane === 'slow' || windows.has(endpointId)) return takeTurn(parts, endpointId, lane);
  if (waitingEndpoints.has(endpointId)) return;
  const waits = slots.isFull('untried');
  if (waits) waitingEndpoints.add(endpointId);
  const turn = takeTurnWithSlot(parts, endpointId);
  if (!waits) return turn;
  waitingTurns.add(turn);
  void turn.then(() => waitingTurns.delete(turn));
}
