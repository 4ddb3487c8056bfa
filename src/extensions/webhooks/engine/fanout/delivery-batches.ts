import { isAccountActive, plainArrayLiteral, type Viewer } from '../../../../extension/index.ts';
import { earliestFinishSql } from '../../deliveries/deliveries-sql.ts';
import type { Candidate, CandidatePage, CandidatesByEvent } from './candidates.ts';
import type { OutgoingEvent } from './outgoing-event.ts';
import type { NewDelivery, OwnerDeliveries } from './owner-deliveries.ts';

/** Deliveries stored by one statement. A body can be as large as a record, and a statement should not hold hundreds of megabytes. */
export const INSERT_ROWS = 1000;
const OWNERS_AT_ONCE = 16;
// Whether owners may receive events is decided for more owners at once, because checks of related records share a statement.
const OWNERS_CHECKED_AT_ONCE = 200;
// Maximum number of deliveries of one transaction, which handles at least one event. Later events are added to the outbox again.
const MAX_DELIVERIES_PER_TRANSACTION = 5000;

/** The events that one transaction of the fan-out handles, and those that it leaves to a later transaction. */
export interface Batch {
  /** The events and endpoints to check, by `reader` of the endpoints. */
  byReader: Map<string, CandidatesByEvent>;
  /** Maximum number of deliveries. */
  size: number;
  /** The events with further endpoints, each with the id of the last endpoint that has been handled. */
  unfinished: [event: OutgoingEvent, after: string][];
}

/** Divides events, which begin after the same endpoint, by the readers of the endpoints that could get them. */
export function divideByReader(
  events: readonly OutgoingEvent[],
  pageOf: (event: OutgoingEvent) => CandidatePage,
): Batch {
  const batch: Batch = { byReader: new Map(), size: 0, unfinished: [] };
  let room = MAX_DELIVERIES_PER_TRANSACTION;
  for (const event of events) {
    const { candidates: found, end } = pageOf(event);
    if (room < found.length && room < MAX_DELIVERIES_PER_TRANSACTION) {
      batch.unfinished.push([event, event.after]);
      continue;
    }
    room -= found.length;
    batch.size += found.length;
    if (end !== undefined) batch.unfinished.push([event, end]);
    for (const candidate of found) {
      const byEvent: CandidatesByEvent = batch.byReader.get(candidate.reader) ?? new Map();
      batch.byReader.set(candidate.reader, byEvent);
      byEvent.set(event, [...(byEvent.get(event) ?? []), candidate]);
    }
  }
  return batch;
}

/** Creates the parameters of `INSERT_DELIVERIES`. */
export function createInsertParameters(rows: readonly NewDelivery[]): unknown[] {
  return [
    rows.map(({ id }) => id),
    rows.map(({ endpointId }) => endpointId),
    rows.map(({ eventId }) => eventId),
    rows.map(({ messageId }) => messageId),
    rows.map(({ type }) => type),
    rows.map(({ body }) => body),
    rows.map(({ encryptedBody }) => encryptedBody),
    rows.map(({ position }) => position),
    rows.map(({ subjectId }) => subjectId),
    rows.map(({ trace }) => trace),
    // Each as the text of an array, because `unnest` would flatten an array of arrays.
    rows.map(({ mentions }) => plainArrayLiteral(mentions)),
    earliestFinishSql(rows.map(({ eventId }) => eventId)),
  ];
}

/** What a fan-out has stored or prepared. */
export interface Result {
  deliveries: number;
  /** The endpoints that get a delivery, by id. */
  endpoints: Map<string, Candidate>;
}

/** Returns the polled endpoints among those of deliveries. */
export function listPolled(rows: readonly NewDelivery[], { endpoints }: Pick<Result, 'endpoints'>): string[] {
  return [...new Set(rows.flatMap(({ endpointId }) => (endpoints.get(endpointId)!.polled ? [endpointId] : [])))];
}

/** Creates the deliveries to endpoints of active owners, up to `INSERT_ROWS` at a time. Adds them to `result`. */
export async function* createDeliveries(
  deliveriesOfOwner: OwnerDeliveries,
  { byReader }: Pick<Batch, 'byReader'>,
  readers: ReadonlyMap<string, Viewer>,
  result: Result,
): AsyncGenerator<NewDelivery[]> {
  const candidates = new Map(
    [...byReader.values()].flatMap((byEvent) => [...byEvent.values()].flat()).map((one) => [one.id, one]),
  );
  const active = [...readers].filter(([reader, owner]) => byReader.has(reader) && isAccountActive(owner));
  const receiving: [owner: Viewer, selected: CandidatesByEvent][] = [];
  for (let at = 0; at < active.length; at += OWNERS_CHECKED_AT_ONCE) {
    const some = active.slice(at, at + OWNERS_CHECKED_AT_ONCE);
    const selected = await Promise.all(
      some.map(([reader, user]) => deliveriesOfOwner.select(byReader.get(reader)!, user)),
    );
    for (const [i, [, user]] of some.entries()) if (selected[i]!.size > 0) receiving.push([user, selected[i]!]);
  }
  let gathered: NewDelivery[] = [];
  while (receiving.length > 0) {
    const some = receiving.splice(0, OWNERS_AT_ONCE);
    const made = await Promise.all(some.map(([user, selected]) => deliveriesOfOwner.create(selected, user)));
    gathered.push(...made.flat());
    while (gathered.length >= INSERT_ROWS || (receiving.length === 0 && gathered.length > 0)) {
      const rows = gathered.slice(0, INSERT_ROWS);
      gathered = gathered.slice(INSERT_ROWS);
      result.deliveries += rows.length;
      for (const { endpointId } of rows) result.endpoints.set(endpointId, candidates.get(endpointId)!);
      yield rows;
    }
  }
}
