import type { HeldDelivery } from './held-deliveries.ts';
import type { Expected } from './load.ts';
import type { Receivers } from './receiver.ts';

/** The result of a run. */
export interface DeliveryCheck {
  /** Deliveries of acknowledged records. */
  sent: number;
  received: number;
  lost: number;
  /** Messages whose `webhook-id` had been accepted before. */
  duplicates: number;
  /** Duplicates of deliveries that a worker held when it was killed or Postgres was stopped: at most one for each time. */
  explained: number;
  unexplained: number;
  /** Deliveries that arrived under more than one `webhook-id`. */
  changedIds: number;
  /** Deliveries to an endpoint that must not get them, or of a record that was never acknowledged. */
  misdirected: number;
  /** Requests whose signature was not valid. */
  refused: number;
}

/**
 * Compares the received deliveries with the expected ones.
 *
 * @param held the attempts that were held at disruptions, each once
 */
export function checkDeliveries(
  expected: Expected,
  receivers: Receivers,
  held: readonly HeldDelivery[],
): DeliveryCheck {
  const allowed = new Map<string, number>();
  for (const { messageId } of held) allowed.set(messageId, (allowed.get(messageId) ?? 0) + 1);
  const check: DeliveryCheck = {
    sent: 0,
    received: 0,
    lost: 0,
    duplicates: 0,
    explained: 0,
    unexplained: 0,
    changedIds: 0,
    misdirected: 0,
    refused: receivers.refused(),
  };
  for (const [name, records] of expected) {
    const arrivals = receivers.arrivals(name);
    check.sent += records.size;
    for (const [record, ids] of arrivals) {
      if (!records.has(record)) check.misdirected += 1;
      else check.received += 1;
      if (ids.size > 1) check.changedIds += 1;
      for (const [id, times] of ids) {
        check.duplicates += times - 1;
        check.explained += Math.min(times - 1, allowed.get(id) ?? 0);
      }
    }
  }
  check.lost = check.sent - check.received;
  check.unexplained = check.duplicates - check.explained;
  return check;
}

/** Returns whether the run failed. */
export function hasFailed({ lost, unexplained, changedIds, misdirected, refused }: DeliveryCheck): boolean {
  return lost + unexplained + changedIds + misdirected + refused > 0;
}
