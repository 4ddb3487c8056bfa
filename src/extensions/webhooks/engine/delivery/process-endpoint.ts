import type { Host } from '../../../../extension/index.ts';
import {
  chooseLane,
  type EndpointOfOwner,
  enqueueEndpointJobs,
  enqueueNextJob,
  type Lane,
  scheduleEndpointJob,
} from '../../endpoints/endpoint-jobs.ts';
import type { Claim } from './claim.ts';
import { EARLIEST_DUE_MS, NEXT_DUE_MS } from './due-sql.ts';
import { createEndpointLease, type EndpointLease, type LaneClaim } from './endpoint-lease.ts';
import type { ReleaseSlot, SlotKind } from './request-slots.ts';
import type { LeaseSummary, SendDependencies, SendStart } from './send-parts.ts';
import { sendUnderLease } from './send-under-lease.ts';

/** What a worker needs to process endpoints. */
export interface WebhookWorkerDependencies extends SendDependencies {
  host: Pick<Host, 'database' | 'queues' | 'log' | 'keyring' | 'tracing'>;
  /** The endpoints that wait for a slot after their job has ended, as texts `<kind of slot> <endpoint id>`. */
  waitingEndpoints: Set<string>;
  /** Promises of processing endpoints whose job has ended. A stopping worker waits for them. */
  detached: Set<Promise<void>>;
}

/** ms until an ordered endpoint whose next delivery is due but not ready is processed again. */
const HELD_UP_RETRY_MS = 50;

/**
 * Sends under a lease and releases it. If more is due, adds a job at the end of the queue; otherwise adds a job for the time of the
 * endpoint's earliest retry.
 */
async function sendAndReschedule(
  parts: WebhookWorkerDependencies,
  lease: EndpointLease,
  lane: Lane,
  first: Claim & Partial<LaneClaim>,
  start: SendStart,
): Promise<void> {
  const { queues, database } = parts.host;
  const { id, owner, ordered } = first.endpoint;
  let summary: LeaseSummary;
  try {
    summary = await sendUnderLease(parts, lease, lane, first, start);
  } finally {
    await lease.release();
  }
  const { more, slow, waitMs } = summary;
  const next = { id, owner, lane: chooseLane(slow) };
  if (waitMs > 0) return scheduleEndpointJob(queues, next, waitMs);
  if (more) return enqueueNextJob(queues, next);
  const statement = ordered
    ? { name: 'webhook_next', text: NEXT_DUE_MS, values: [id] }
    : { name: 'webhook_earliest', text: EARLIEST_DUE_MS, values: [id, lease.getDueFrom()] };
  const [earliest] = await database.read<[number]>(statement);
  if (earliest === undefined) return;
  // A delivery is due but was not claimed: an earlier event may still produce a delivery.
  const isHeldUp = ordered && first.deliveries.length === 0;
  const delayMs = Math.max(earliest[0], isHeldUp ? HELD_UP_RETRY_MS : 0);
  if (delayMs === 0) await enqueueNextJob(queues, next);
  else await scheduleEndpointJob(queues, next, delayMs);
}

async function claimAndSend(
  parts: WebhookWorkerDependencies,
  endpointId: string,
  lane: Lane,
  start: SendStart,
): Promise<void> {
  const lease = createEndpointLease(parts, endpointId);
  const { claimingEndpoints } = parts;
  const claiming = claimingEndpoints.get(endpointId) ?? { hasNew: false };
  claimingEndpoints.set(endpointId, claiming);
  const claim = await lease.claim(lane).finally(() => claimingEndpoints.delete(endpointId));
  if (claim === undefined) return;
  const { id, owner, slow, lease: holder } = claim.endpoint;
  if (chooseLane(slow) !== lane) return enqueueEndpointJobs(parts.host.queues, [{ id, owner, lane: chooseLane(slow) }]);
  if (holder === 'taken') return;
  await sendAndReschedule(parts, lease, lane, claim, { ...start, hasNew: claiming.hasNew });
}

async function claimRequestedAndSend(
  parts: WebhookWorkerDependencies,
  endpointId: string,
  release: ReleaseSlot,
): Promise<void> {
  const lease = createEndpointLease(parts, endpointId);
  const requested = await lease.claimRequestedDelivery();
  if (requested === undefined || requested.deliveries.length === 0) return;
  const { endpoint } = requested;
  await sendAndReschedule(
    parts,
    lease,
    chooseLane(endpoint.slow),
    { endpoint, deliveries: [] },
    { slot: { release, requested } },
  );
}

/**
 * Runs `task` as soon as the endpoint gets a slot; never rejects. The job ends before that if waiting in the job could block the jobs of
 * other endpoints: if the owner's share of the slots is used up, or if the endpoint has not yet responded to this worker and no slot is
 * free. If the worker dies meanwhile, the sweep for overdue deliveries finds the endpoint.
 *
 * @param task gets the function that releases the slot, and may call it before it ends; and whether the job has ended
 */
async function runWhenSlotIsFree(
  parts: WebhookWorkerDependencies,
  kind: SlotKind,
  { id, owner }: EndpointOfOwner,
  task: (release: ReleaseSlot, isDetached: boolean) => Promise<void>,
): Promise<void> {
  const { slots, waitingEndpoints, detached, host } = parts;
  const key = `${kind} ${id}`;
  if (waitingEndpoints.has(key)) return;
  const isDetached = kind === 'untried' ? slots.isFull(kind, owner) : slots.isOwnerAtLimit(kind, owner);
  if (isDetached) waitingEndpoints.add(key);
  const served = new Promise<void>((resolve) => {
    slots.acquire(kind, owner, (release) => {
      waitingEndpoints.delete(key);
      let isHeld = true;
      const releaseOnce: ReleaseSlot = (isGood) => {
        if (isHeld) release(isGood);
        isHeld = false;
      };
      const serving = parts.isStopping() ? Promise.resolve() : task(releaseOnce, isDetached);
      const logError = (error: unknown) =>
        host.log.error(
          { err: error, endpoint: id },
          'a webhook endpoint could not be processed; the sweep will retry it',
        );
      void serving
        .catch(logError)
        .then(() => releaseOnce())
        .then(resolve);
    });
  });
  if (!isDetached) return served;
  detached.add(served);
  void served.then(() => detached.delete(served));
}

/**
 * Acquires the lease of an endpoint, sends what is due and writes the results. If another process holds the lease, does
 * nothing: that process sends. If this worker's lease waits for new deliveries, continues that one.
 *
 * An endpoint of the slow lane, or one that has not yet responded to this worker, first gets one of the few slots for such endpoints.
 */
export async function processEndpoint(
  parts: WebhookWorkerDependencies,
  endpoint: EndpointOfOwner,
  lane: Lane,
): Promise<void> {
  if (parts.activeLeases.get(endpoint.id)?.onNewDeliveries()) return;
  if (lane === 'fast' && parts.pacesOfGoodEndpoints.has(endpoint.id))
    return claimAndSend(parts, endpoint.id, lane, { allowLinger: true });
  const kind = lane === 'slow' ? 'slow' : 'untried';
  await runWhenSlotIsFree(parts, kind, endpoint, (release, isDetached) =>
    claimAndSend(parts, endpoint.id, lane, { slot: { release }, allowLinger: !isDetached }),
  );
}

/**
 * Sends the requested deliveries of an endpoint, regardless of its other deliveries. If this worker holds the endpoint's lease, it sends
 * them under that lease at once. If another process holds the lease, that process finds them when it renews the lease.
 */
export async function sendRequestedDeliveries(
  parts: WebhookWorkerDependencies,
  endpoint: EndpointOfOwner,
): Promise<void> {
  const active = parts.activeLeases.get(endpoint.id);
  if (active !== undefined) return active.sendRequested();
  await runWhenSlotIsFree(parts, 'requested', endpoint, (release) =>
    claimRequestedAndSend(parts, endpoint.id, release),
  );
}
