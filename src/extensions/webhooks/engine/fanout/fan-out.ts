import {
  createWorkLogger,
  type Executor,
  gatewaysByName,
  type Host,
  lockStillDeletedUsers,
  type OutboxConsumer,
  type OutboxRow,
  startTimer,
} from '../../../../extension/index.ts';
import { announcePolledEndpoints, chooseLane, enqueueEndpointJobs } from '../../endpoints/endpoint-jobs.ts';
import { MAX_DELIVERIES_REMOVED, REMOVE_BY_OWNERS } from '../../endpoints/endpoints-sql.ts';
import type { KeyLimits } from '../../endpoints/key-limits.ts';
import type { EndpointOwners } from '../../endpoints/owners.ts';
import type { WebhookSettings } from '../../settings/settings.ts';
import type { DeletedRecords } from '../readability/deleted-records.ts';
import { createCandidateReader } from './candidates.ts';
import {
  type Batch,
  createDeliveries,
  createInsertParameters,
  divideByReader,
  INSERT_ROWS,
  listPolled,
  type Result,
} from './delivery-batches.ts';
import { type EventLog, insertClaimedEventsSql } from './event-log.ts';
import { createInsertStatement } from './insert-deliveries-sql.ts';
import {
  listChangedFields,
  type OutgoingEvent,
  OWN_ROW_NAME,
  type OwnPayload,
  readOutgoingEvent,
} from './outgoing-event.ts';
import { createOwnerDeliveries } from './owner-deliveries.ts';

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
    const changed = listChangedFields(event);
    return { name, after, position, record: event.stored, ...(changed && { changed }) };
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

/** Logs a fan-out and adds jobs for the endpoints that got a delivery. */
function announceDeliveries(
  { queues, logWork }: Pick<Host, 'queues'> & { logWork: ReturnType<typeof createWorkLogger> },
  events: number,
  { deliveries, endpoints }: Result,
  deferredEvents: number,
  elapsed: () => number,
) {
  const counts = { events, endpoints: endpoints.size, deliveries, deferredEvents };
  logWork('webhook fan-out', { outcome: 'done', ...counts, durationMs: elapsed() }, { sampled: true });
  const [polled, pushed] = [true, false].map((isPolled) =>
    [...endpoints.values()].filter((one) => one.polled === isPolled),
  );
  announcePolledEndpoints(
    queues,
    polled!.map(({ id }) => id),
  );
  const lanes = pushed!.map(({ id, ownerId, slow }) => ({
    id,
    owner: ownerId,
    lane: chooseLane(slow),
  }));
  return enqueueEndpointJobs(queues, lanes);
}

/** Whether this is the first outbox row of its event. Another one is the rest of an event with many endpoints, and has been kept before. */
const isFirstRow = ({ payload }: OutboxRow) => (payload as Partial<OwnPayload>).after === undefined;

/**
 * Makes a statement of prepared work store the events, too.
 *
 * @param insert the statement that inserts deliveries; undefined if there are none
 * @param kept the parameters of `insertClaimedEventsSql`; undefined if events are not kept
 * @returns undefined if there is nothing to store
 */
function addKeptEvents(insert: ReturnType<typeof createInsertStatement> | undefined, kept: unknown[] | undefined) {
  if (kept === undefined) return insert;
  if (insert === undefined) return { name: 'webhook_events_keep', text: insertClaimedEventsSql(1), values: kept };
  const { name, values } = insert;
  const also = insertClaimedEventsSql(values.length + 1);
  return { ...insert, name: `${name}_and_events`, also, values: [...values, ...kept] };
}

/**
 * Creates the fan-out, which turns events into deliveries for the endpoints whose owners may read them.
 *
 * @param eventLog keeps the events; undefined if they are not kept
 */
export function createFanOut(
  host: Host,
  owners: EndpointOwners,
  settings: WebhookSettings,
  deleted: Pick<DeletedRecords, 'keep'>,
  limits: Pick<KeyLimits, 'findReadLimit'>,
  eventLog: EventLog | undefined,
): OutboxConsumer {
  const { users } = owners;
  const gateways = gatewaysByName(host.resources);
  const readCandidates = createCandidateReader(owners);
  const deliveriesOfOwner = createOwnerDeliveries(host, settings, limits);
  const reports = { queues: host.queues, logWork: createWorkLogger(host) };
  const isSentResource = (name: string) => gateways.has(name) && gateways.get(name)!.declaration.webhooks !== false;
  const isOutgoingEvent = ({ name, resource }: OutboxRow) =>
    resource === null ? name === OWN_ROW_NAME : isSentResource(resource);
  const isUserDeletion = (row: OutboxRow) => row.name === `${users.name}.deleted`;

  /** Stores deliveries of events with the same `after`. Returns the events with more endpoints. */
  async function storeDeliveries(
    events: readonly OutgoingEvent[],
    tx: Executor,
    result: Result,
  ): Promise<Batch['unfinished']> {
    const { pageOf, readers } = await readCandidates(events, tx);
    const batch = divideByReader(events, pageOf);
    for await (const rows of createDeliveries(deliveriesOfOwner, batch, readers, result))
      await tx.write(createInsertStatement(createInsertParameters(rows), listPolled(rows, result), false));
    return batch.unfinished;
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
      await eventLog?.keep(
        events.filter((_, i) => isFirstRow(sent[i]!)),
        tx,
      );
      const unfinished: Batch['unfinished'] = [];
      for (const list of Map.groupBy(events, (event) => event.after).values())
        unfinished.push(...(await storeDeliveries(list, tx, result)));
      if (unfinished.length > 0) await requeueUnfinishedEvents(tx, unfinished);
      if (result.deliveries === 0 && unfinished.length === 0) return undefined;
      return async () => {
        if (unfinished.length > 0) host.wake.hint();
        await announceDeliveries(reports, events.length, result, unfinished.length, elapsed);
      };
    },
    preparation: {
      // Deletions also store a copy of the record, or remove endpoints. The rest of an event with many endpoints begins in the middle.
      canPrepare: (row) => row.name !== `${row.resource}.deleted` && isFirstRow(row),
      async prepare(rows, executor) {
        const elapsed = startTimer();
        const events = rows.map((row) => readOutgoingEvent(row, gateways));
        const { pageOf, readers } = await readCandidates(events, executor);
        const batch = divideByReader(events, pageOf);
        const result: Result = { deliveries: 0, endpoints: new Map() };
        if (batch.unfinished.length > 0 || batch.size > INSERT_ROWS) return undefined;
        const [deliveries] = await Array.fromAsync(createDeliveries(deliveriesOfOwner, batch, readers, result));
        const insert =
          deliveries && createInsertStatement(createInsertParameters(deliveries), listPolled(deliveries, result), true);
        const statement = addKeptEvents(insert, eventLog?.createParameters(events));
        if (deliveries === undefined) return { statement };
        return {
          statement,
          afterCommit: () => announceDeliveries(reports, events.length, result, 0, elapsed),
        };
      },
    },
  };
}
