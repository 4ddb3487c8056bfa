import { REMOVED } from './endpoints/endpoints-sql.ts';

/** $1 owner, $2 the last id, $3 how many. By webhook_endpoints_owner_id_index. */
export const ENDPOINTS_OF = `
  select id, url, events, description, scope, enabled, created_at, updated_at from webhook_endpoints
  where owner_id = $1 and removed_at is null and id > $2 order by id limit $3`;

/** $1 owner, $2 the last id, $3 how many. */
export const LOG_OF = `
  select d.id, d.endpoint_id, d.type, d.status, d.attempts, d.status_code, d.created_at, d.finished_at, e.scope
  from webhook_endpoints e join webhook_deliveries d on d.endpoint_id = e.id
  where e.owner_id = $1 and e.removed_at is null and d.id > $2 order by d.id limit $3`;

/** $1 owner, $2 the last id, $3 how many. By webhook_deleted_records_owner_id_index. */
export const DELETED_RECORDS_OF = `
  select id, resource, record_id, created_at from webhook_deleted_records where owner_id = $1 and id > $2 order by id limit $3`;

/** $1 owner, $2 the last id, $3 how many. */
export const EVENTS_OF = `
  select id, name, created_at from webhook_events where owner_id = $1 and id > $2 order by id limit $3`;

/** Endpoints of $1, removed ones included. By webhook_endpoints_owner_id_index and _removed_owner_index: each is partial. */
const EVER_OF = `
    select id, url, removed_at from webhook_endpoints where owner_id = $1 and removed_at is null
    union all select id, url, removed_at from webhook_endpoints where owner_id = $1 and removed_at is not null`;

/** $1 owner, $2 how many. What the owner wrote goes at once; the rows go when nobody can send to them any more. */
export const REMOVE_ENDPOINTS_OF = `
  update webhook_endpoints set ${REMOVED}, url = '', description = null, last_error = null
  where id in (select id from (${EVER_OF}) e where removed_at is null or url <> '' limit $2)
  returning 1`;

/** $1 owner, $2 how many. By webhook_deliveries_endpoint_event_unique. */
export const REMOVE_LOG_OF = `
  delete from webhook_deliveries where id in (
    select d.id from (${EVER_OF}) e join webhook_deliveries d on d.endpoint_id = e.id limit $2)
  returning 1`;

/** $1 owner, $2 how many. */
export const REMOVE_EVENTS_OF = `
  delete from webhook_events where id in (select id from webhook_events where owner_id = $1 limit $2) returning 1`;

/** $1 deliveries. */
export const REMOVE_DELIVERIES = 'delete from webhook_deliveries where id = any($1::text[]) returning 1';
