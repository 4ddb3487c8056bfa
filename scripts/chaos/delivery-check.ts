import type { Held } from './held-deliveries.ts';
import type { Expected } from './load.ts';
import type { Receivers } from './receiver.ts';

/** The result of a run. */
export interface Books {
  /** Deliveries of acknowledged records. */
  sent: number;
  received: number;
  lost: number;
  /** Messages whose `webhook-id` had been accepted before. */
  duplicates: number;
  /** The part of them that a worker held when it was killed or Postgres was stopped: at most one for each time. */
  explained: number;
  unexplained: number;
  /** Deliveries that arrived under more than one `webhook-id`. */
  otherIds: number;
  /** Deliveries to an endpoint that must not get them, or of a record that was never acknowledged. */
  strangers: number;
  /** Requests whose signature was not valid. */
  refused: number;
}

/**
 * Compares the received deliveries with the expected ones.
 *
 * @param held the attempts that were held at faults, each once
 */
export function balance(expected: Expected, receivers: Receivers, held: readonly Held[]): Books {
  const allowed = new Map<string, number>();
  for (const { messageId } of held) allowed.set(messageId, (allowed.get(messageId) ?? 0) + 1);
  const books: Books = {
    sent: 0,
    received: 0,
    lost: 0,
    duplicates: 0,
    explained: 0,
    unexplained: 0,
    otherIds: 0,
    strangers: 0,
    refused: receivers.refused(),
  };
  for (const [name, records] of expected) {
    const arrivals = receivers.arrivals(name);
    books.sent += records.size;
    for (const [record, ids] of arrivals) {
      if (!records.has(record)) books.strangers += 1;
      else books.received += 1;
      if (ids.size > 1) books.otherIds += 1;
      for (const [id, times] of ids) {
        books.duplicates += times - 1;
        books.explained += Math.min(times - 1, allowed.get(id) ?? 0);
      }
    }
  }
  books.lost = books.sent - books.received;
  books.unexplained = books.duplicates - books.explained;
  return books;
}

/** Returns whether the run failed. */
export function isWrong({ lost, unexplained, otherIds, strangers, refused }: Books): boolean {
  return lost + unexplained + otherIds + strangers + refused > 0;
}
