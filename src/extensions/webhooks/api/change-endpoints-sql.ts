import { ENDPOINT_COLUMNS } from '../endpoints/endpoint.ts';
import { REMOVAL_ASSIGNMENTS } from '../endpoints/endpoints-sql.ts';

const COLUMNS = ENDPOINT_COLUMNS.join(', ');

/**
 * Sets the API key that endpoint `e` is bound to. Takes four parameters, numbered from `first`: `keep`, `bind` or `drop`; the key; its
 * scopes; its expiry.
 */
function bindKeySql(first: number): string {
  const set = (column: string, value: string) =>
    `${column} = case $${first} when 'bind' then ${value} when 'drop' then null else e.${column} end`;
  return [
    set('api_key_id', `$${first + 1}`),
    set('key_scopes', `$${first + 2}::text[]`),
    set('key_expires_at', `$${first + 3}::timestamptz`),
  ].join(', ');
}

/** A condition with the parameters of `bindKeySql`: no key binds an endpoint that is already bound to another key. */
function mayBindKeySql(alias: string, first: number): string {
  return `($${first} <> 'bind' or coalesce(${alias}api_key_id, $${first + 1}) = $${first + 1})`;
}

/**
 * Creates an endpoint. $1 id, $2 owner, $3 url, $4 events, $5 description, $6 scope, $7 secret, $8 maximum endpoints of an owner,
 * $9 public key, $10 ordered, $11 rate limit, $12 its window in seconds, $13 API key to bind to, $14 scopes of the key, $15 its expiry, $16 the
 * role of an organisation, $17 ciphertext of the headers, $18 their masks as JSON, $19 filter, $20 delivery.
 * No row: the owner's limit is reached. The row of the owner, a user or an organisation, is locked, which keeps the count exact.
 */
export const CREATE_ENDPOINT = `
  insert into webhook_endpoints (id, owner_id, url, events, description, scope, secret, public_key, ordered, rate_limit, rate_window_seconds,
    api_key_id, key_scopes, key_expires_at, organisation_role, headers, header_masks, filter, delivery)
  select $1, $2, $3, $4::text[], $5, $6, $7, $9, $10::boolean, $11::int, $12::int, $13, $14::text[], $15::timestamptz, $16, $17, $18::jsonb, $19::jsonb,
    $20
  where (select count(*) from webhook_endpoints where owner_id = $2 and removed_at is null) < $8
  returning ${COLUMNS}`;

/** Reads and locks the role as which the endpoint of an organisation reads. $1 id. */
export const ROLE_OF_ENDPOINT = `
  select organisation_role from webhook_endpoints where id = $1 and organisation_role is not null for no key update`;

/** Lists the endpoints of an owner, newest first. $1 owner. Uses webhook_endpoints_owner_id_index. */
export const LIST_ENDPOINTS = `
  select ${COLUMNS} from webhook_endpoints where owner_id = $1 and removed_at is null order by created_at desc, id desc`;

/**
 * Updates an endpoint. $1 id, $2 owner, $3 url, $4 events, $5 whether the description changes, $6 description, $7 enabled, $8 ordered; null
 * means unchanged. $9 whether the rate limit changes, $10 the limit, $11 its window in seconds. $12 to $15: see `bindKeySql`. $16 reasons;
 * an endpoint that was disabled for one of them is not enabled. $17 the role of an organisation; null means unchanged. $18 whether the headers
 * change, $19 their ciphertext, $20 their masks as JSON. $21 whether the filter changes, $22 the filter.
 *
 * The last two columns: whether the endpoint was enabled before, and whether it is slow. No row: the endpoint was deleted, bound to another
 * key or disabled for one of the reasons after the caller read it. Enabling the endpoint resets its counters. Enabling it or changing its
 * URL makes it count as fast.
 */
export const UPDATE_ENDPOINT = `
  with old as (
    select id, enabled from webhook_endpoints where id = $1 and owner_id = $2 and removed_at is null
      and ${mayBindKeySql('', 12)} and (enabled or $7 is distinct from true or not coalesce(disabled_reason = any($16::text[]), false))
    for update
  )
  update webhook_endpoints e set
    url = coalesce($3, e.url),
    events = coalesce($4::text[], e.events),
    description = case when $5::boolean then $6 else e.description end,
    enabled = coalesce($7::boolean, e.enabled),
    disabled_reason = case when $7 and not old.enabled then null when not $7 and old.enabled then 'manual' else e.disabled_reason end,
    consecutive_failures = case when $7 and not old.enabled then 0 else e.consecutive_failures end,
    alerted_at = case when $7 and not old.enabled then null else e.alerted_at end,
    ordered = coalesce($8::boolean, e.ordered),
    rate_limit = case when $9::boolean then $10::int else e.rate_limit end,
    rate_window_seconds = case when $9::boolean then $11::int else e.rate_window_seconds end,
    ${bindKeySql(12)},
    organisation_role = coalesce($17, e.organisation_role),
    filter = case when $21::boolean then $22::jsonb else e.filter end,
    slow = e.slow and $3 is null and not coalesce($7 and not old.enabled, false),
    headers = case when $18::boolean then $19 else e.headers end,
    header_masks = case when $18::boolean then $20::jsonb else e.header_masks end,
    updated_at = now()
  from old where e.id = old.id
  returning ${ENDPOINT_COLUMNS.map((column) => `e.${column}`).join(', ')}, old.enabled, e.slow`;

/**
 * Marks an endpoint as removed and deletes part of its log. $1 id, $2 owner, $3 maximum number of deliveries to delete from each of the
 * two tables; a sweep deletes the other deliveries and the endpoint's row. Uses the indexes by endpoint and event.
 */
export const REMOVE_ENDPOINT = `
  with removed as (
    update webhook_endpoints set ${REMOVAL_ASSIGNMENTS}
    where id = $1 and owner_id = $2 and removed_at is null returning id
  ), emptied as (
    delete from webhook_deliveries where id in (
      select d.id from webhook_deliveries d join removed r on r.id = d.endpoint_id limit $3)
  ), emptied_log as (
    delete from webhook_delivery_log where id = any(array(
      select d.id from webhook_delivery_log d join removed r on r.id = d.endpoint_id limit $3))
  )
  select id from removed`;

/**
 * Replaces the secret of an endpoint. $1 id, $2 owner, $3 new secret, $4 ms for which messages are also signed with the old secret; 0
 * deletes it at once, $5 new public key, $6 to $9 see `bindKeySql`. All secrets of an endpoint have the same encryption context: a
 * ciphertext can move between columns.
 */
export const ROTATE_SECRET = `
  update webhook_endpoints e set
    secret = $3,
    public_key = $5,
    previous_secret = case when $4 > 0 then e.secret end,
    previous_secret_until = case when $4 > 0 then now() + $4 * interval '1 millisecond' end,
    older_secret = case when $4 > 0 and e.previous_secret_until > now() then e.previous_secret end,
    older_secret_until = case when $4 > 0 and e.previous_secret_until > now()
      then least(e.previous_secret_until, now() + $4 * interval '1 millisecond') end,
    ${bindKeySql(6)},
    updated_at = now()
  where e.id = $1 and e.owner_id = $2 and e.removed_at is null and ${mayBindKeySql('e.', 6)}
  returning ${ENDPOINT_COLUMNS.map((column) => `e.${column}`).join(', ')}`;
