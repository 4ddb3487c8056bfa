import type { NewJob, Queues } from '../../../platform/queues.ts';

/** The queue of single deliveries that somebody asked for and may be waiting for: they go past whatever else waits. */
export const REQUESTED_QUEUE = 'webhooks-requested';

/**
 * Asks for one delivery, which must be due, to be sent now. Should the job be lost, the sweep finds the delivery like any other that
 * is overdue.
 */
export async function requestDelivery(queues: Queues, deliveryId: string): Promise<void> {
  const deduplication = { id: `wa_${deliveryId}`, keepLastIfActive: true };
  const job: NewJob = { name: 'send', data: { id: deliveryId }, opts: { deduplication } };
  await queues.add(REQUESTED_QUEUE, [job]);
}
