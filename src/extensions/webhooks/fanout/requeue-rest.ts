import type { Executor } from '../../../platform/postgres/database.ts';
import { type OutgoingEvent, OWN_ROW, type OwnPayload } from './outgoing-event.ts';

/**
 * $1 name, then columns of the rows: $2 events, $3 resources, $4 records, $5 payloads, $6 when the events happened. The resource of a
 * record stays told, so that a change of encryption keys finds what is encrypted in it.
 */
const REQUEUE = `
  insert into outbox (event_id, name, resource, record_id, payload, created_at)
  select event_id, $1, resource, record_id, payload::jsonb, created_at
  from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
    as r(event_id, resource, record_id, payload, created_at)`;

/**
 * Writes what is left over of events behind everything else that waits, in the transaction that dealt with the rest: nothing is
 * lost between two pages, and an event with many endpoints holds up no other.
 *
 * @param rest events, and the endpoint after which each goes on
 */
export async function requeueRest(tx: Executor, rest: readonly [event: OutgoingEvent, after: string][]): Promise<void> {
  const payloads = rest.map(([event, after]): OwnPayload => {
    const { name, position } = event;
    if (event.gateway === undefined) return { name, after, position, data: event.data, owner: event.owner };
    return { name, after, position, record: event.stored };
  });
  const events = rest.map(([event]) => event);
  const values = [
    OWN_ROW,
    events.map(({ id }) => id),
    events.map(({ gateway }) => gateway?.name ?? null),
    events.map((event) => (event.gateway === undefined ? null : event.record.id)),
    payloads.map((payload) => JSON.stringify(payload)),
    events.map(({ at }) => at),
  ];
  await tx.write({ name: 'webhook_requeue', text: REQUEUE, values });
}
