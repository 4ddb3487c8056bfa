import { columnsSql, insertIntoLogSql, MESSAGE_COLUMNS } from '../../deliveries/deliveries-sql.ts';
import { OLD_SECRETS } from '../../endpoints/endpoints-sql.ts';
import { addPolledSql } from '../../statistics/record-sql.ts';
import { OWN_ROW_NAME } from '../fanout/outgoing-event.ts';

/** The order of webhook_deliveries_waiting_index. Deliveries without a number come last, in the order of their events; tests have no position. */
const INDEX_ORDER = 'w.endpoint_id, w.poll_number, w.position, w.event_id';

/** Maximum number of deliveries of an endpoint that one statement numbers; more than a page has. */
const NUMBERED_AT_ONCE = 500;

/** How long a delivery waits for those of earlier events, which the relay has not handled yet. After that it is numbered before them. */
const MAX_HELD_UP = `interval '5 seconds'`;

/**
 * Numbers the waiting deliveries of polled endpoints, in the order of their events, and returns what each endpoint has. $1 endpoints.
 *
 * A number never comes before one that a poll could have returned: only one transaction at a time numbers the deliveries of an endpoint, since
 * each locks its row in `webhook_turns`. So a delivery that is committed late, or waits again, gets a later number, and no cursor skips it. Numbers
 * follow the clock, so that they grow even after a restored backup.
 *
 * A delivery is numbered once nothing can come before it, as for ordered endpoints: see `CLAIM_ORDERED`.
 *
 * Returns for each endpoint that exists: its id, whether it may be polled now, its last number, and whether deliveries wait for earlier events.
 * Uses webhook_deliveries_waiting_index.
 */
export const NUMBER_WAITING = `
  with asked as materialized (
    select e.id, e.enabled and (e.key_expires_at is null or e.key_expires_at > now()) as is_open from webhook_endpoints e
    where e.id = any($1::text[]) and e.removed_at is null and e.delivery = 'poll'
  ), fresh as materialized (
    select d.*, row_number() over (partition by d.endpoint_id order by d.position, d.event_id) as place
    from asked a cross join lateral (
      select w.id, w.endpoint_id, w.position, w.event_id, w.next_attempt_at from webhook_deliveries w
      where w.endpoint_id = a.id and w.status = 'waiting' and w.poll_number is null
      order by ${INDEX_ORDER} limit ${NUMBERED_AT_ONCE}) d
  ), relayed as materialized (
    select least((select min(id) from outbox where resource is not null or name = '${OWN_ROW_NAME}'),
      (select min((payload ->> 'position')::bigint) from outbox where name = '${OWN_ROW_NAME}'), 9223372036854775807) as up_to
  ), placed as materialized (
    select id, endpoint_id, place, bool_and(position is null or position < (select up_to from relayed) or next_attempt_at < now() - ${MAX_HELD_UP})
      over (partition by endpoint_id order by place) as ready
    from fresh
  ), counted as (
    insert into webhook_turns as t (endpoint_id, last_poll_number)
    select endpoint_id, (extract(epoch from clock_timestamp()) * 1000000)::bigint + ${NUMBERED_AT_ONCE}
    from placed where ready group by endpoint_id order by endpoint_id
    on conflict (endpoint_id) do update
      set last_poll_number = greatest(t.last_poll_number + ${NUMBERED_AT_ONCE}, excluded.last_poll_number)
    returning endpoint_id, last_poll_number
  ), numbers as materialized (
    select p.id, c.last_poll_number - ${NUMBERED_AT_ONCE} + p.place as number
    from placed p join counted c on c.endpoint_id = p.endpoint_id where p.ready
  ), numbered as (
    update webhook_deliveries d set poll_number = p.number
    -- The arrays make Postgres expect several rows. If it expected one, it would search for all rows again for each of them.
    from unnest(array(select id from numbers order by id), array(select number from numbers order by id)) p(id, number)
    -- The array makes Postgres search by id; it could scan the whole table for a join. The case prevents a scan of the index of all waiting deliveries.
    where d.id = any(array(select id from numbers)) and d.id = p.id
      and case when d.status = 'waiting' then d.poll_number is null end
    returning d.endpoint_id, d.poll_number
  )
  select a.id, a.is_open, greatest(
      (select w.poll_number from webhook_deliveries w
        where w.endpoint_id = a.id and w.status = 'waiting' and w.poll_number is not null order by w.poll_number desc limit 1),
      (select max(n.poll_number) from numbered n where n.endpoint_id = a.id)),
    exists (select from placed p where p.endpoint_id = a.id and not p.ready)
  from asked a`;

/** What a polled endpoint has: see `NUMBER_WAITING`. */
export type NumberedRow = [endpointId: string, isOpen: boolean, lastNumber: number | null, isHeldUp: boolean];

/**
 * Reads a page of the numbered deliveries of an endpoint, with its secrets. $1 endpoint, $2 the number after which to begin, $3 page size,
 * $4 maximum bytes of the stored bodies; a single body may be larger. Returns no row if the endpoint is disabled or removed. Uses
 * webhook_deliveries_waiting_index.
 */
export const READ_WAITING = `
  with sized as (
    select w.id, w.poll_number, octet_length(w.body) + coalesce(octet_length(w.encrypted_body), 0) as bytes from webhook_deliveries w
    where w.endpoint_id = $1 and w.status = 'waiting' and w.poll_number > $2 order by w.poll_number limit $3
  ), page as materialized (
    select id, poll_number, sum(bytes) over (order by poll_number) as total, row_number() over (order by poll_number) as place from sized
  )
  select d.id, p.poll_number, d.message_id, d.type, d.body, d.encrypted_body, array_remove(array[e.secret, e.previous_secret, e.older_secret], null),
    d.backfill
  from page p join webhook_deliveries d on d.id = p.id
    cross join (select e.secret, ${OLD_SECRETS} from webhook_endpoints e where e.id = $1 and e.enabled and e.removed_at is null) e
  where p.place = 1 or p.total <= $4 order by p.poll_number`;

/** A delivery that waits to be polled: see `READ_WAITING`. */
export type WaitingRow = [
  id: string,
  number: number,
  messageId: string,
  type: string,
  body: string,
  encryptedBody: string | null,
  secrets: string[],
  /** Whether a backfill created the delivery. */
  backfill: boolean | null,
];

/**
 * Finishes waiting deliveries, and moves them to the log. Returns a row for each delivery, with its endpoint.
 *
 * @param ids a statement that selects and locks the deliveries
 * @param parts `status` after that, `error` and the time `at` (ISO 8601), as SQL; `changes`: further common table expressions, which may use
 *   the deliveries in `finished`
 */
function finishWaitingSql(
  ids: string,
  { status, error, at }: { status: 'succeeded' | 'failed'; error: string; at: string },
  changes = '',
) {
  return `
  with finished as (
    delete from webhook_deliveries d where d.id = any(array(${ids})) and d.status = 'waiting'
    returning ${columnsSql(MESSAGE_COLUMNS, 'd')}, d.attempts + 1 as attempts, d.schedule_attempts + 1 as schedule_attempts,
      d.attempt_log || jsonb_build_object('at', ${at}, 'statusCode', null, 'durationMs', null, 'error', ${error}) as attempt_log
  ), logged as (
    ${insertIntoLogSql('finished', {
      status: `'${status}'`,
      finished_at: 'now()',
      error,
      status_code: 'null::int',
      duration_ms: 'null::int',
      response: 'null::text',
      encrypted_response: 'null::text',
    })}
  ), measured as (
    ${addPolledSql('finished', status)}
  )${changes}
  select endpoint_id from finished`;
}

/**
 * Marks the deliveries of an endpoint up to a number as succeeded. $1 endpoint, $2 number, $3 time (ISO 8601), $4 maximum number of deliveries.
 * Returns a row for each. Uses webhook_deliveries_waiting_index.
 */
export const ACKNOWLEDGE = finishWaitingSql(
  `select w.id from webhook_deliveries w where w.endpoint_id = $1 and w.status = 'waiting' and w.poll_number <= $2
    order by w.poll_number limit $4 for update`,
  { status: 'succeeded', error: 'null::text', at: '$3::text' },
  `, turned as (
    update webhook_endpoints e set last_success_at = $3::timestamptz
    where e.id = $1 and exists (select from finished) and (e.last_success_at is null or e.last_success_at < $3::timestamptz - interval '1 minute')
  )`,
);

/** Fails waiting deliveries. $1 ids, $2 error, $3 time (ISO 8601). Uses the primary key. */
export const FAIL_WAITING = finishWaitingSql(
  'select w.id from webhook_deliveries w where w.id = any($1::text[]) order by w.id for update',
  { status: 'failed', error: '$2::text', at: '$3::text' },
);

/**
 * Fails the deliveries that have waited for too long. $1 error, $2 time (ISO 8601), $3 the id before which the deliveries were created, $4 ms that
 * deliveries may wait, $5 maximum number of deliveries. Returns a row for each. Uses the primary key: few deliveries are that old.
 */
export const EXPIRE_WAITING = finishWaitingSql(
  `select w.id from webhook_deliveries w
    where w.id < $3 and w.status = 'waiting' and w.next_attempt_at < now() - $4 * interval '1 millisecond'
    order by w.id limit $5 for update skip locked`,
  { status: 'failed', error: '$1::text', at: '$2::text' },
);

/**
 * Makes deliveries to polled endpoints wait that a relay of an earlier version, which knows no polling, has left to the workers. $1 maximum
 * number of deliveries. Returns a row for each.
 */
export const ADOPT_PENDING = `
  update webhook_deliveries set status = 'waiting' where id = any(array(
    select d.id from webhook_endpoints e cross join lateral (
      select id from webhook_deliveries where endpoint_id = e.id and status = 'pending' limit $1 for update skip locked) d
    where e.delivery = 'poll' and e.removed_at is null limit $1))
  returning 1`;

/** Since when the first message of an endpoint waits; null if none does. @param endpoint its id, as SQL. Uses webhook_deliveries_waiting_index */
export const firstWaitingSql = (endpoint: string) =>
  `(select w.next_attempt_at from webhook_deliveries w where w.endpoint_id = ${endpoint} and w.status = 'waiting' order by ${INDEX_ORDER} limit 1)`;

/** How many deliveries of an endpoint wait, up to a maximum, and since when the first does. $1 endpoint, $2 the maximum. Uses webhook_deliveries_waiting_index. */
export const COUNT_WAITING = `
  select count(*)::int, min(next_attempt_at) from (
    select w.next_attempt_at from webhook_deliveries w where w.endpoint_id = $1 and w.status = 'waiting' order by ${INDEX_ORDER} limit $2) d`;
