import { ENDPOINT_COLUMNS } from '../endpoint.ts';

const COLUMNS = ENDPOINT_COLUMNS.join(', ');

/** Deliveries that go with removed endpoints at once; a sweep deletes the rest. */
export const REMOVED_AT_ONCE = 1000;

/** What removing an endpoint sets: its secrets go at once, the row stays until its log is deleted. */
export const REMOVED = `removed_at = now(), enabled = false, secret = '', previous_secret = null, previous_secret_until = null,
      older_secret = null, older_secret_until = null`;

/**
 * $1 id, $2 owner, $3 url, $4 events, $5 description, $6 scope, $7 secret, $8 most endpoints of an owner, $9 public key, $10 ordered,
 * $11 limit of its rate, $12 window in seconds. No row: the owner's limit is reached. The count is right while the owner's row is locked.
 */
export const CREATE = `
  insert into webhook_endpoints (id, owner_id, url, events, description, scope, secret, public_key, ordered, rate_limit, rate_window_seconds)
  select $1, $2, $3, $4::text[], $5, $6, $7, $9, $10::boolean, $11::int, $12::int
  where (select count(*) from webhook_endpoints where owner_id = $2 and removed_at is null) < $8
  returning ${COLUMNS}`;

/** $1 owner. By webhook_endpoints_owner_id_index. */
export const LIST = `
  select ${COLUMNS} from webhook_endpoints where owner_id = $1 and removed_at is null order by created_at desc, id desc`;

/** $1 id, $2 owner. */
export const READ = `
  select ${COLUMNS} from webhook_endpoints where id = $1 and owner_id = $2 and removed_at is null`;

/** $1 ids, $2 owner. */
export const READ_SOME = `
  select ${COLUMNS} from webhook_endpoints where id = any($1) and owner_id = $2 and removed_at is null order by id`;

/**
 * $1 id, $2 owner, $3 url, $4 events, $5 whether the description changes, $6 description, $7 enabled, $8 ordered; null:
 * unchanged. $9 whether the rate changes, $10 its limit, $11 its window in seconds. The last columns: whether it was enabled
 * before, its lane. Enabling starts over; another url gets a fresh chance in the fast lane.
 */
export const UPDATE = `
  with old as (
    select id, enabled from webhook_endpoints where id = $1 and owner_id = $2 and removed_at is null for update
  )
  update webhook_endpoints e set
    url = coalesce($3, e.url),
    events = coalesce($4::text[], e.events),
    description = case when $5::boolean then $6 else e.description end,
    enabled = coalesce($7::boolean, e.enabled),
    disabled_reason = case when $7 and not old.enabled then null when not $7 and old.enabled then 'manual' else e.disabled_reason end,
    consecutive_failures = case when $7 and not old.enabled then 0 else e.consecutive_failures end,
    ordered = coalesce($8::boolean, e.ordered),
    rate_limit = case when $9::boolean then $10::int else e.rate_limit end,
    rate_window_seconds = case when $9::boolean then $11::int else e.rate_window_seconds end,
    slow = e.slow and $3 is null and not coalesce($7 and not old.enabled, false),
    updated_at = now()
  from old where e.id = old.id
  returning ${ENDPOINT_COLUMNS.map((column) => `e.${column}`).join(', ')}, old.enabled, e.slow`;

/**
 * $1 id, $2 owner, $3 how many deliveries go at once; the sweep deletes the rest and the row itself.
 * By webhook_deliveries_endpoint_event_unique.
 */
export const REMOVE = `
  with removed as (
    update webhook_endpoints set ${REMOVED}
    where id = $1 and owner_id = $2 and removed_at is null returning id
  ), emptied as (
    delete from webhook_deliveries where id in (
      select d.id from webhook_deliveries d join removed r on r.id = d.endpoint_id limit $3)
  )
  select id from removed`;

/** $1 endpoint. No row: it is no global one. */
export const OWNER_OF_GLOBAL = `select owner_id from webhook_endpoints where id = $1 and scope = 'global'`;

/**
 * Removes the endpoints of owners who are gone, and begins to delete their logs; a sweep goes on with it. $1 owners, $2 how many
 * deliveries go at once: none that a worker is writing, since that worker may be waiting for the endpoint.
 */
export const REMOVE_OF_OWNERS = `
  with removed as (
    update webhook_endpoints set ${REMOVED}
    where id in (
      select id from webhook_endpoints where owner_id = any($1::text[]) and removed_at is null order by id for no key update)
    returning id
  )
  delete from webhook_deliveries where id in (
    select d.id from removed r cross join lateral (
      select id from webhook_deliveries where endpoint_id = r.id limit $2 for update skip locked) d
    limit $2)`;

/** $1 owners. Gives the endpoints that this disables. By webhook_endpoints_owner_id_index. */
export const DISABLE_OF_OWNERS = `
  update webhook_endpoints set enabled = false, disabled_reason = 'password_reset', updated_at = now()
  where id in (
    select id from webhook_endpoints where owner_id = any($1::text[]) and enabled and removed_at is null order by id for no key update)
  returning ${COLUMNS}`;
