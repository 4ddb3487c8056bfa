import type { Host } from '../../../declare/host.ts';
import { EARLIEST, NEXT } from '../log/deliveries-sql.ts';
import type { Claim } from './claim.ts';
import { type Lane, laneOf, wakeUp, wakeUpLater } from './endpoint-jobs.ts';
import { createEndpointLease, type EndpointLease } from './endpoint-lease.ts';
import { type FirstSlot, type SendParts, sendUnderLease } from './send-under-lease.ts';

/** Dependencies for processing endpoints. Each worker has one set. */
export interface WorkerParts extends SendParts {
  host: Pick<Host, 'database' | 'queues' | 'log' | 'keyring'>;
  /** Endpoints that wait for a slot without a job. */
  waitingEndpoints: Set<string>;
  /** The processing of these endpoints, which runs outside of a job. A stopping worker waits for it. */
  detached: Set<Promise<void>>;
}

/** ms until an ordered endpoint whose next delivery is due but not ready is processed again. */
const HELD_UP_MS = 50;

/**
 * Sends under a lease and releases it. If more is due, adds a job at the end of the queue; otherwise adds a job for the time of the
 * endpoint's earliest retry.
 */
async function serve(parts: WorkerParts, lease: EndpointLease, lane: Lane, first: Claim, slot?: FirstSlot) {
  const { queues, database } = parts.host;
  const { id, ordered } = first.endpoint;
  const { more, slow, waitMs } = await sendUnderLease(parts, lease, lane, first, slot);
  await lease.release();
  const next = laneOf(slow);
  if (waitMs > 0) return wakeUpLater(queues, id, next, waitMs);
  if (more) return wakeUp(queues, [{ id, lane: next }]);
  const statement = ordered ? { name: 'webhook_next', text: NEXT } : { name: 'webhook_earliest', text: EARLIEST };
  const [earliest] = await database.read<[number]>({ ...statement, values: [id] });
  if (earliest === undefined) return;
  // A delivery is due but was not claimed: an earlier event may still produce a delivery.
  const isHeldUp = ordered && first.deliveries.length === 0;
  const delayMs = Math.max(earliest[0], isHeldUp ? HELD_UP_MS : 0);
  if (delayMs === 0) await wakeUp(queues, [{ id, lane: next }]);
  else await wakeUpLater(queues, id, next, delayMs);
}

async function claimAndServe(parts: WorkerParts, endpointId: string, lane: Lane, release?: () => void): Promise<void> {
  const lease = createEndpointLease(parts, endpointId);
  const claim = await lease.claim(lane);
  if (claim === undefined) return;
  const { endpoint } = claim;
  if (laneOf(endpoint.slow) !== lane)
    return wakeUp(parts.host.queues, [{ id: endpointId, lane: laneOf(endpoint.slow) }]);
  if (endpoint.lease === 'taken') return;
  await serve(parts, lease, lane, claim, release && { release });
}

/** Waits for a slot, then serves the endpoint. Never rejects. */
function serveWithSlot(parts: WorkerParts, endpointId: string): Promise<void> {
  return new Promise((resolve) => {
    parts.slots.acquire('untried', (release) => {
      parts.waitingEndpoints.delete(endpointId);
      let isHeld = true;
      const releaseOnce = () => {
        if (isHeld) release();
        isHeld = false;
      };
      const served = parts.isStopping() ? Promise.resolve() : claimAndServe(parts, endpointId, 'fast', releaseOnce);
      const failed = (error: unknown) =>
        parts.host.log.error({ err: error, endpoint: endpointId }, 'an endpoint could not be served');
      void served.catch(failed).then(releaseOnce).then(resolve);
    });
  });
}

/**
 * Acquires the lease of an endpoint, sends what is due and writes the results. If another process holds the lease, does
 * nothing: that process sends.
 *
 * An endpoint that has not yet responded to this worker gets one of a few slots for its first request. If none is free, it waits outside
 * of its job, because receivers that hang would otherwise block all jobs. If the worker dies meanwhile, the sweep finds the endpoint.
 */
export async function processEndpoint(parts: WorkerParts, endpointId: string, lane: Lane): Promise<void> {
  const { windows, slots, waitingEndpoints, detached } = parts;
  if (lane === 'slow' || windows.has(endpointId)) return claimAndServe(parts, endpointId, lane);
  if (waitingEndpoints.has(endpointId)) return;
  const waits = slots.isFull('untried');
  if (waits) waitingEndpoints.add(endpointId);
  const served = serveWithSlot(parts, endpointId);
  if (!waits) return served;
  detached.add(served);
  void served.then(() => detached.delete(served));
}

/**
 * Sends the requested deliveries of an endpoint, regardless of its other deliveries. If this worker holds the endpoint's lease, it sends
 * them under that lease at once. If another process holds the lease, that process finds them when it renews the lease.
 */
export async function processRequested(parts: WorkerParts, endpointId: string): Promise<void> {
  const sendRequested = parts.leased.get(endpointId);
  if (sendRequested !== undefined) return sendRequested();
  const release = await new Promise<() => void>((resolve) => parts.slots.acquire('requested', resolve));
  let requested: Claim | undefined;
  const lease = createEndpointLease(parts, endpointId);
  try {
    requested = parts.isStopping() ? undefined : await lease.claimRequested();
  } finally {
    if (requested === undefined || requested.deliveries.length === 0) release();
  }
  if (requested === undefined || requested.deliveries.length === 0) return;
  const { endpoint } = requested;
  await serve(parts, lease, laneOf(endpoint.slow), { endpoint, deliveries: [] }, { release, requested });
}
