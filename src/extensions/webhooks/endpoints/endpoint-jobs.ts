import type { Database, JobData, NewJob, Queues } from '../../../extension/index.ts';

/** Where an endpoint is processed: endpoints that fail or are slow have their own queue and slots. */
export type Lane = 'fast' | 'slow';

/** An endpoint that has work. Jobs carry the owner, so that a worker can share its slots among owners before it reads the endpoint. */
export interface EndpointOfOwner {
  id: string;
  owner: string;
}

/** Returns the endpoint of a job. A job that an earlier version added has no owner: its endpoint counts as that of an owner of its own. */
export function readJobEndpoint({ id, owner = id }: JobData): EndpointOfOwner {
  return { id, owner };
}

/** The name of the job queue of each lane. */
export const LANE_QUEUES: Record<Lane, string> = { fast: 'webhooks', slow: 'webhooks-slow' };

/** Names of jobs: `process` means that the endpoint has work; `retry` adds such a job when a retry is due. */
export type JobName = 'process' | 'retry';

/** Returns the lane of an endpoint. @param slow whether the endpoint's last attempt failed or was slow */
export function chooseLane(slow: boolean): Lane {
  return slow ? 'slow' : 'fast';
}

/**
 * Creates the job that processes an endpoint now. At most one such job per endpoint waits in the queue. A job that is added while another
 * job of the endpoint runs starts after the running job, and finds deliveries that the running job did not see.
 */
function createProcessJob({ id, owner }: EndpointOfOwner): NewJob {
  const deduplication = { id: `we_${id}`, keepLastIfActive: true };
  return { name: 'process' satisfies JobName, data: { id, owner }, opts: { deduplication } };
}

/**
 * Adds a job for each of these endpoints that processes the endpoint now, in the queue of its lane. Announces the jobs of the fast lane:
 * a lease that waits for new deliveries then claims them. Its job is running, so the added one starts only when that has ended.
 */
export async function enqueueEndpointJobs(
  queues: Queues,
  endpoints: Iterable<EndpointOfOwner & { lane: Lane }>,
): Promise<void> {
  const byLane = Map.groupBy(endpoints, (endpoint) => endpoint.lane);
  await Promise.all(
    [...byLane].map(([lane, list]) => queues.add(LANE_QUEUES[lane], list.map(createProcessJob), lane === 'fast')),
  );
}

/** Adds the job that continues an endpoint, after its lease was released. */
export async function enqueueNextJob(queues: Queues, next: EndpointOfOwner & { lane: Lane }): Promise<void> {
  await queues.add(LANE_QUEUES[next.lane], [createProcessJob(next)]);
}

/**
 * Adds a job that processes an endpoint after `delayMs`. Its deduplication id differs from that of the job without delay, so it cannot
 * postpone deliveries that are due now. A later call replaces the delay.
 */
export async function scheduleEndpointJob(
  queues: Queues,
  { id, owner, lane }: EndpointOfOwner & { lane: Lane },
  delayMs: number,
): Promise<void> {
  const deduplication = { id: `wr_${id}`, reschedule: true, keepLastIfActive: true };
  await queues.add(LANE_QUEUES[lane], [
    { name: 'retry' satisfies JobName, data: { id, owner }, opts: { delay: delayMs, deduplication } },
  ]);
}

/** The queue of endpoints with requested deliveries, so that their jobs do not wait behind those of other endpoints. */
export const REQUESTED_QUEUE = 'webhooks-requested';

/** Adds jobs that send the requested deliveries of endpoints. @param requestId distinguishes the requests of one endpoint */
async function enqueueRequestedDeliveryJobs(
  queues: Queues,
  requests: readonly (EndpointOfOwner & { requestId: string })[],
): Promise<void> {
  const jobs = requests.map(({ id, owner, requestId }): NewJob => {
    const deduplication = { id: `wa_${requestId}`, keepLastIfActive: true };
    return { name: 'requested', data: { id, owner }, opts: { deduplication } };
  });
  // The lease may be held by another process than that of the job.
  await queues.add(REQUESTED_QUEUE, jobs, true);
}

/** Adds jobs for the requested deliveries that were still unsent when the leases of their endpoints were released. */
export async function enqueueEndpointsWithRequests(
  queues: Queues,
  endpoints: readonly EndpointOfOwner[],
): Promise<void> {
  await enqueueRequestedDeliveryJobs(
    queues,
    endpoints.map((endpoint) => ({ ...endpoint, requestId: endpoint.id })),
  );
}

/** The channel of new deliveries to polled endpoints. It has no jobs. */
export const POLLED_CHANNEL = 'webhooks-polled';

/** Wakes the requests that wait for deliveries of polled endpoints, in all processes. Only a hint: they also look by themselves. */
export function announcePolledEndpoints(queues: Queues, endpointIds: readonly string[]): void {
  if (endpointIds.length > 0) queues.announce(POLLED_CHANNEL, endpointIds);
}

/** Requests that the lease holder sends a delivery before all others of its endpoint. $1 endpoint, $2 delivery, which must be due. */
const REQUEST_DELIVERY = `
  insert into webhook_turns (endpoint_id, requested) select id, array[$2::text] from webhook_endpoints where id = $1
  on conflict (endpoint_id) do update set requested = array_append(array_remove(webhook_turns.requested, $2::text), $2::text)`;

/**
 * Requests that one delivery, which must be due, is sent before all others of its endpoint. The request is stored with the endpoint's
 * lease. The job is announced to the worker that holds the lease, which finds the request at its next renewal at the latest. If the job is lost, the sweep for overdue
 * deliveries finds the endpoint.
 */
export async function requestDelivery(
  database: Database,
  queues: Queues,
  endpoint: EndpointOfOwner,
  deliveryId: string,
): Promise<void> {
  const statement = { name: 'webhook_request', text: REQUEST_DELIVERY, values: [endpoint.id, deliveryId] };
  await database.write(statement);
  await enqueueRequestedDeliveryJobs(queues, [{ ...endpoint, requestId: deliveryId }]);
}
