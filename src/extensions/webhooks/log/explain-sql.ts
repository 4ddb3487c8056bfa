import { OUTBOX_COLUMNS } from '../../../platform/outbox/table.ts';

/** What is known of an event from a delivery of it to an endpoint of the caller. */
export type DeliveredRow = [
  eventId: string,
  endpointId: string,
  scope: 'own' | 'global',
  deliveryId: string,
  name: string,
  createdAt: string,
];

/**
 * $1 owner, $2 an event, or a delivery to one of the owner's endpoints: the deliveries of that event to the owner's endpoints. By
 * webhook_endpoints_owner_id_index and the unique index over event and endpoint.
 */
export const DELIVERED = `
  with asked as materialized (
    select coalesce((
      select d.event_id from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
      where d.id = $2 and e.owner_id = $1 and e.removed_at is null), $2) as event_id
  )
  select d.event_id, e.id, e.scope, d.id, d.type, d.created_at
  from webhook_endpoints e join webhook_deliveries d on d.endpoint_id = e.id and d.event_id = (select event_id from asked)
  where e.owner_id = $1 and e.removed_at is null order by e.id`;

/** $1 event: one of the app's own. */
export const PUBLISHED = 'select name, owner_id, created_at from webhook_events where id = $1';

/** $1 event: as it waits in the outbox, which has an index by age alone. */
export const WAITING = `
  select ${OUTBOX_COLUMNS} from outbox where event_id = $1 limit 1`;
