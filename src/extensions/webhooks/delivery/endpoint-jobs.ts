import type { Database } from '../../../platform/postgres/database.ts';
import type { NewJob, Queues } from '../../../platform/queues.ts';
import { REQUEST_DELIVERY } from './lease-store.ts';

/** Where an endpoint is served: those that fail or take long have a queue and slots of their own. */
export type Lane = 'fast' | 'slow';

/** The queue of a lane. */
export const QUEUES: Record<Lane, string> = { fast: 'webhooks', slow: 'webhooks-slow' };

/** Jobs say "this endpoint has work": `process` does it, `retry` asks for that when a retry is due. */
export type JobName = 'process' | 'retry';

/** The lane of an endpoint. */
export function laneOf(slow: boolean): Lane {
  return slow ? 'slow' : 'fast';
}

/**
 * At most one such job of an endpoint waits. One that is asked for while another runs comes after it: what that one did not see
 * any more is found by this one. It never has a delay, so that nothing can put it off.
 */
function processJob(endpointId: string): NewJob {
  const deduplication = { id: `we_${endpointId}`, keepLastIfActive: true };
  return { name: 'process' satisfies JobName, data: { id: endpointId }, opts: { deduplication } };
}

/** Asks for endpoints to be processed. */
export async function wakeUp(queues: Queues, endpoints: Iterable<{ id: string; lane: Lane }>): Promise<void> {
  const byLane = Map.groupBy(endpoints, (endpoint) => endpoint.lane);
  await Promise.all(
    [...byLane].map(([lane, list]) =>
      queues.add(
        QUEUES[lane],
        list.map(({ id }) => processJob(id)),
      ),
    ),
  );
}

/**
 * Asks for an endpoint to be processed at a later time. An id of its own keeps it from putting off what is due now; a later call moves it, so
 * `delayMs` must be the time to the earliest delivery in the database.
 */
export async function wakeUpLater(queues: Queues, endpointId: string, lane: Lane, delayMs: number): Promise<void> {
  const deduplication = { id: `wr_${endpointId}`, reschedule: true, keepLastIfActive: true };
  await queues.add(QUEUES[lane], [
    { name: 'retry' satisfies JobName, data: { id: endpointId }, opts: { delay: delayMs, deduplication } },
  ]);
}

/** The queue of endpoints that have requested deliveries. Its jobs do not wait behind those of other endpoints. */
export const REQUESTED_QUEUE = 'webhooks-requested';

/** Asks for the requested deliveries of endpoints to be sent. @param requestId tells apart the requests of one endpoint */
async function wakeUpRequests(queues: Queues, requests: readonly { id: string; requestId: string }[]): Promise<void> {
  const jobs = requests.map(({ id, requestId }): NewJob => {
    const deduplication = { id: `wa_${requestId}`, keepLastIfActive: true };
    return { name: 'requested', data: { id }, opts: { deduplication } };
  });
  await queues.add(REQUESTED_QUEUE, jobs);
}

/** Asks for the requested deliveries of endpoints to be sent, after a release of their leases left some unsent. */
export async function wakeUpRequested(queues: Queues, endpointIds: readonly string[]): Promise<void> {
  await wakeUpRequests(
    queues,
    endpointIds.map((id) => ({ id, requestId: id })),
  );
}

/**
 * Asks for one delivery, which must be due, to be sent before all others of its endpoint. The request is stored with the endpoint's lease:
 * if a worker holds the lease, it learns of the request at the latest when it renews. If the job is lost, the sweep finds the endpoint,
 * because the delivery is overdue.
 */
export async function requestDelivery(
  database: Database,
  queues: Queues,
  endpointId: string,
  deliveryId: string,
): Promise<void> {
  const statement = { name: 'webhook_request', text: REQUEST_DELIVERY, values: [endpointId, deliveryId] };
  await database.write(statement);
  await wakeUpRequests(queues, [{ id: endpointId, requestId: deliveryId }]);
}
