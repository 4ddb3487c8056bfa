import type { Held } from './held.ts';
import type { Expected } from './load.ts';
import type { Receivers } from './receiver.ts';

/** What came of a run. */
export interface Books {
  /** Deliveries of records that were acknowledged. */
  sent: number;
  received: number;
  lost: number;
  /** Receipts of a `webhook-id` that had been accepted before. */
  duplicates: number;
  /** Of these, those whose delivery a worker held when it was killed, or when Postgres went away: at most one for each time. */
  explained: number;
  unexplained: number;
  /** Deliveries that came under more than one `webhook-id`. */
  otherIds: number;
  /** Deliveries to an endpoint that should not have them, or of a record that nobody was told of. */
  strangers: number;
  /** Requests whose signature did not verify. */
  refused: number;
}

/**
 * Compares what arrived with what should have.
 *
 * @param held what was held at faults, each attempt once
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

/** Whether something is wrong. */
export function isWrong({ lost, unexplained, otherIds, strangers, refused }: Books): boolean {
  return lost + unexplained + otherIds + strangers + refused > 0;
}
