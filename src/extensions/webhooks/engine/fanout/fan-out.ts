import { lockStillDeletedUsers } from '../../../../accounts/users/user-state.ts';
import { isAccountActive } from '../../../../declare/actor.ts';
import { gatewaysByName } from '../../../../declare/gateways.ts';
import type { Host, ResourceGateway, StoredRecord } from '../../../../declare/host.ts';
import { createWorkLogger, startTimer } from '../../../../platform/observability/log-work.ts';
import type { OutboxConsumer } from '../../../../platform/outbox/consumer.ts';
import type { OutboxRow } from '../../../../platform/outbox/table.ts';
import type { Executor } from '../../../../platform/postgres/database.ts';
import { plainArrayLiteral } from '../../../../platform/postgres/values.ts';
import { earliestFinishOf } from '../../deliveries/deliveries-sql.ts';
import { enqueueEndpointJobs, fastOrSlowLaneFor } from '../../endpoints/endpoint-jobs.ts';
import { MAX_DELIVERIES_REMOVED, REMOVE_BY_OWNERS } from '../../endpoints/endpoints-sql.ts';
import type { KeyLimits } from '../../endpoints/key-limits.ts';
import type { WebhookSettings } from '../../settings/settings.ts';
import type { DeletedRecords } from '../readability/deleted-records.ts';
import { type Candidate, type CandidatePage, createCandidateReader } from './candidates.ts';
import { INSERT_DELIVERIES, INSERT_DELIVERIES_OF_CLAIMED } from './insert-deliveries-sql.ts';
import { type OutgoingEvent, OWN_ROW_NAME, type OwnPayload, readOutgoingEvent } from './outgoing-event.ts';
import { type CandidatesByEvent, createOwnerDeliveries, type NewDelivery } from './owner-deliveries.ts';

/**
 * Adds events to the outbox again. $1 name of the rows, then arrays: $2 events, $3 resources, $4 records, $5 payloads, $6 when the events
 * happened, $7 trace contexts. The resource is stored so that a rotation of encryption keys finds the encrypted fields of the records.
 */
const REQUEUE = `
  insert into outbox (event_id, name, resource, record_id, payload, created_at, trace_context)
  select event_id, $1, resource, record_id, payload::jsonb, created_at, trace_context
  from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[])
    as r(event_id, resource, record_id, payload, created_at, trace_context)`;

/**
 * Adds events with more endpoints than one transaction handles to the end of the outbox, in the transaction that handled their first
 * endpoints. So no endpoint is lost, and an event with many endpoints does not delay other events.
 *
 * @param unfinished events, each with the id of the last endpoint that has been handled
 */
async function requeueUnfinishedEvents(
  tx: Executor,
  unfinished: readonly [event: OutgoingEvent, after: string][],
): Promise<void> {
  const payloads = unfinished.map(([event, after]): OwnPayload => {
    const { name, position } = event;
    if (event.gateway === undefined) return { name, after, position, data: event.data, owner: event.owner };
    return { name, after, position, record: event.stored };
  });
  const events = unfinished.map(([event]) => event);
  const values = [
    OWN_ROW_NAME,
    events.map(({ id }) => id),
    events.map(({ gateway }) => gateway?.name ?? null),
    events.map((event) => (event.gateway === undefined ? null : event.record.id)),
    payloads.map((payload) => JSON.stringify(payload)),
    events.map(({ at }) => at),
    events.map(({ trace }) => trace),
  ];
  await tx.write({ name: 'webhook_requeue', text: REQUEUE, values });
}

// Deliveries stored by one statement. A body can be as large as a record, and a statement should not hold hundreds of megabytes.
const INSERT_ROWS = 1000;
const OWNERS_AT_ONCE = 16;
// Whether owners may receive events is decided for more owners at once, because checks of related records share a statement.
const OWNERS_CHECKED_AT_ONCE = 200;
// Maximum number of deliveries of one transaction, which handles at least one event. Later events are added to the outbox again.
const MAX_DELIVERIES_PER_TRANSACTION = 5000;

/** The events that one transaction of the fan-out handles, and those that it leaves to a later transaction. */
interface Batch {
  /** The events and endpoints to check, by owner. */
  byOwner: Map<string, CandidatesByEvent>;
  /** Maximum number of deliveries. */
  size: number;
  /** The events with further endpoints, each with the id of the last endpoint that has been handled. */
  unfinished: [event: OutgoingEvent, after: string][];
}

function divideByOwner(events: readonly OutgoingEvent[], pageOf: (event: OutgoingEvent) => CandidatePage): Batch {
  const batch: Batch = { byOwner: new Map(), size: 0, unfinished: [] };
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
      const byEvent: CandidatesByEvent = batch.byOwner.get(candidate.ownerId) ?? new Map();
      batch.byOwner.set(candidate.ownerId, byEvent);
      byEvent.set(event, [...(byEvent.get(event) ?? []), candidate]);
    }
  }
  return batch;
}

function createInsertParameters(rows: readonly NewDelivery[]): unknown[] {
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
    earliestFinishOf(rows.map(({ eventId }) => eventId)),
  ];
}

/** What a fan-out has stored or prepared. */
interface Result {
  deliveries: number;
  /** The endpoints that get a delivery, by id. */
  endpoints: Map<string, Candidate>;
}

/** Creates the fan-out, which turns events into deliveries for the endpoints whose owners may read them. */
export function createFanOut(
  host: Host,
  users: ResourceGateway,
  settings: WebhookSettings,
  deleted: Pick<DeletedRecords, 'keep'>,
  limits: Pick<KeyLimits, 'readLimitOf'>,
): OutboxConsumer {
  const gateways = gatewaysByName(host.resources);
  const readCandidates = createCandidateReader(users);
  const deliveriesOfOwner = createOwnerDeliveries(host, settings, limits);
  const logWork = createWorkLogger(host);
  const isSentResource = (name: string) => gateways.has(name) && gateways.get(name)!.declaration.webhooks !== false;
  const isOutgoingEvent = ({ name, resource }: OutboxRow) =>
    resource === null ? name === OWN_ROW_NAME : isSentResource(resource);
  const isUserDeletion = (row: OutboxRow) => row.name === `${users.name}.deleted`;

  /** Creates the deliveries to endpoints of active owners, up to `INSERT_ROWS` at a time. Adds them to `result`. */
  async function* createDeliveries(
    { byOwner }: Pick<Batch, 'byOwner'>,
    owners: readonly StoredRecord[],
    result: Result,
  ): AsyncGenerator<NewDelivery[]> {
    const candidates = new Map(
      [...byOwner.values()].flatMap((byEvent) => [...byEvent.values()].flat()).map((one) => [one.id, one]),
    );
    const active = owners.filter((owner) => byOwner.has(owner.id) && isAccountActive(owner));
    const receiving: [owner: StoredRecord, selected: CandidatesByEvent][] = [];
    for (let at = 0; at < active.length; at += OWNERS_CHECKED_AT_ONCE) {
      const some = active.slice(at, at + OWNERS_CHECKED_AT_ONCE);
      const selected = await Promise.all(some.map((user) => deliveriesOfOwner.select(byOwner.get(user.id)!, user)));
      for (const [i, user] of some.entries()) if (selected[i]!.size > 0) receiving.push([user, selected[i]!]);
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

  /** Stores deliveries of events with the same `after`. Returns the events with more endpoints. */
  async function storeDeliveries(
    events: readonly OutgoingEvent[],
    tx: Executor,
    result: Result,
  ): Promise<Batch['unfinished']> {
    const { pageOf, owners } = await readCandidates(events, tx);
    const batch = divideByOwner(events, pageOf);
    for await (const rows of createDeliveries(batch, owners, result))
      await tx.write({
        name: 'webhook_deliveries_insert',
        text: INSERT_DELIVERIES,
        values: createInsertParameters(rows),
      });
    return batch.unfinished;
  }

  function announceDeliveries(
    events: number,
    { deliveries, endpoints }: Result,
    deferredEvents: number,
    elapsed: () => number,
  ) {
    const counts = { events, endpoints: endpoints.size, deliveries, deferredEvents };
    logWork('webhook fan-out', { outcome: 'done', ...counts, durationMs: elapsed() }, { sampled: true });
    const lanes = Array.from(endpoints.values(), ({ id, ownerId, slow }) => ({
      id,
      owner: ownerId,
      lane: fastOrSlowLaneFor(slow),
    }));
    return enqueueEndpointJobs(host.queues, lanes);
  }

  return {
    wants: (row) => isOutgoingEvent(row) || isUserDeletion(row),
    async handle(rows, tx) {
      const elapsed = startTimer();
      const gone = await lockStillDeletedUsers(rows.filter(isUserDeletion), tx, users);
      if (gone.length > 0) await tx.write({ text: REMOVE_BY_OWNERS, values: [gone, MAX_DELIVERIES_REMOVED] });
      const sent = rows.filter(isOutgoingEvent);
      await deleted.keep(sent, tx);
      const events = sent.map((row) => readOutgoingEvent(row, gateways));
      const result: Result = { deliveries: 0, endpoints: new Map() };
      const unfinished: Batch['unfinished'] = [];
      for (const list of Map.groupBy(events, (event) => event.after).values())
        unfinished.push(...(await storeDeliveries(list, tx, result)));
      if (unfinished.length > 0) await requeueUnfinishedEvents(tx, unfinished);
      if (result.deliveries === 0 && unfinished.length === 0) return undefined;
      return async () => {
        if (unfinished.length > 0) host.wake.hint();
        await announceDeliveries(events.length, result, unfinished.length, elapsed);
      };
    },
    preparation: {
      // Deletions also store a copy of the record, or remove endpoints. The rest of an event with many endpoints begins in the middle.
      canPrepare: (row) =>
        row.name !== `${row.resource}.deleted` && (row.payload as Partial<OwnPayload>).after === undefined,
      async prepare(rows, executor) {
        const elapsed = startTimer();
        const events = rows.map((row) => readOutgoingEvent(row, gateways));
        const { pageOf, owners } = await readCandidates(events, executor);
        const batch = divideByOwner(events, pageOf);
        const result: Result = { deliveries: 0, endpoints: new Map() };
        if (batch.unfinished.length > 0 || batch.size > INSERT_ROWS) return undefined;
        const [deliveries] = await Array.fromAsync(createDeliveries(batch, owners, result));
        if (deliveries === undefined) return { statement: undefined };
        return {
          statement: {
            name: 'webhook_deliveries_insert',
            text: INSERT_DELIVERIES_OF_CLAIMED,
            values: createInsertParameters(deliveries),
          },
          afterCommit: () => announceDeliveries(events.length, result, 0, elapsed),
        };
      },
    },
  };
}
