import type { Auth } from '../../../declare/route.ts';
import { isOpen, OLD_SECRETS, RATE_RULE, type UsersSql } from '../endpoints/endpoints-sql.ts';
import { OWN_ROW } from '../fanout/outgoing-event.ts';
import type { RateRule, RateState } from './rate-limit.ts';

/** What a claim tells of an endpoint. */
export interface ClaimedEndpoint {
  id: string;
  owner: string;
  scope: 'own' | 'global';
  /** The API key that the endpoint is bound to. */
  key: Auth | null;
  url: string;
  /** Ciphertexts: the newest first, then those that are still in their grace time. */
  secrets: string[];
  slow: boolean;
  /** Its deliveries are sent one after the other. */
  ordered: boolean;
  rateLimit: RateRule | null;
  /** What the last turn has left of it. */
  rate: RateState | null;
  /** Epoch ms, by the clock of Postgres. */
  now: number;
  /** Whose turn it is; `none`: the endpoint has no row for turns yet. */
  turn: 'own' | 'taken' | 'none';
}

/** The first row tells of the endpoint, each other of a delivery: `attempts` and `scheduleAttempts` count the one to come; it has been due for `lateMs`. */
export type ClaimRow =
  | [endpoint: ClaimedEndpoint, null, null, null, null, null, null, null, null]
  | [
      null,
      id: string,
      messageId: string,
      type: string,
      body: string,
      encryptedBody: string | null,
      attempts: number,
      scheduleAttempts: number,
      lateMs: number,
    ];

/** An endpoint's part of a claim, from `e` and `u`. */
const ENDPOINT = `e.id, e.owner_id, e.scope, e.api_key_id, e.key_scopes, e.url, e.secret, ${OLD_SECRETS}, e.slow, e.ordered, e.rate_limit, e.rate_window_seconds
    from webhook_endpoints e`;

/** The rows of a claim, from `endpoint` and `claimed`. */
function rows(turn: string): string {
  return `
  select json_build_object('id', e.id, 'owner', e.owner_id, 'scope', e.scope, 'url', e.url,
    'key', case when e.api_key_id is not null then json_build_object('via', 'api-key', 'id', e.api_key_id, 'scopes', e.key_scopes) end,
     'secrets', array_remove(array[e.secret, e.previous_secret, e.older_secret], null),
    'slow', e.slow, 'ordered', e.ordered, 'turn', ${turn},
    'rateLimit', ${RATE_RULE},
    'rate', (select rate from turn), 'now', floor(extract(epoch from clock_timestamp()) * 1000)), null, null, null, null, null, null, null, null from endpoint e
  union all
  select null, c.id, c.message_id, c.type, c.body, c.encrypted_body, c.attempts, c.schedule_attempts,
    (date_part('epoch', now() - c.next_attempt_at) * 1000)::bigint from claimed c`;
}

/** What a claim takes, as the common table `due`, and of which endpoints. */
interface What {
  endpoints: string;
  due: string;
}

/** Any deliveries that are due, the earliest first. By webhook_deliveries_due_index. */
const ANY: What = {
  endpoints: 'not ordered',
  due: `due as materialized (
    select d.id, d.message_id, d.type, d.body, d.encrypted_body, d.attempts, d.schedule_attempts, d.next_attempt_at
    from webhook_deliveries d
    where d.endpoint_id = (select endpoint_id from turn) and d.status = 'pending' and d.next_attempt_at <= now()
      and not $7::jsonb ? d.id
    order by d.next_attempt_at limit $2 for update skip locked
  )`,
};

/**
 * The first deliveries of an ordered endpoint, in the order of their events, up to the first that is not ready. One is ready when it is
 * due, and nothing before it can still come: the relay has dealt with all earlier events, and no delivery is being sent by itself. They
 * are locked and looked at again: a delivery that somebody else is writing is waited for, not passed over.
 */
const IN_LINE: What = {
  endpoints: 'ordered',
  due: `next as materialized (
    select d.id, row_number() over (order by d.position nulls first, d.event_id) as place from webhook_deliveries d
    where d.endpoint_id = (select endpoint_id from turn) and d.status = 'pending' and not $7::jsonb ? d.id
      and not exists (
        select from webhook_deliveries s where s.endpoint_id = d.endpoint_id and s.lease_until is not null and s.status = 'sending')
    order by d.position nulls first, d.event_id limit $2
  ), locked as materialized (
    select d.* from webhook_deliveries d where d.id = any(array(select id from next)) and d.status = 'pending' for update
  ), line as materialized (
    select l.*, n.place, bool_and(l.next_attempt_at <= now() and (l.position is null or l.position < least(
        (select min(id) from outbox where resource is not null or name = '${OWN_ROW}'),
        (select min((payload ->> 'position')::bigint) from outbox where name = '${OWN_ROW}'), 9223372036854775807)))
      over (order by n.place) as ready
    from locked l join next n on n.id = l.id
  ), due as materialized (
    select id, message_id, type, body, encrypted_body, attempts, schedule_attempts, next_attempt_at from line where ready order by place
  )`,
};

/**
 * Takes a turn of an endpoint, or goes on with it, and claims due deliveries: who holds the turn sends them, nobody else can. No
 * delivery is written: what is being sent stands in the row of the turn. No row at all: the endpoint is disabled, removed, or its
 * owner may not receive.
 *
 * Claims of an endpoint wait for each other at the row of its turns. They lock the deliveries too, though nobody keeps those locks:
 * it makes them see each delivery as it is by then. And they give no delivery that was not written into the turn: who had to wait
 * for that row may find others at the second look than at the first.
 *
 * $1 endpoint, $2 at most how many, $3 ms of the lease, $4 whether the claimer is of the slow lane (an endpoint of the other lane
 * gives no deliveries), $5 roles of the global policy, $6 holder of the turn, $7 what it has claimed before and not yet written
 * back: attempts by delivery, $8 what it knows of the endpoint's rate; null: nothing.
 */
function claimSql(users: UsersSql, { endpoints, due }: What): string {
  return `
  with endpoint as materialized (
    select ${ENDPOINT} join ${users.table} u on u.id = e.owner_id where e.id = $1 and ${isOpen(users, '$5')}
  ), turn as materialized (
    select t.endpoint_id, t.rate from webhook_turns t
    where t.endpoint_id = (select id from endpoint where slow = $4 and ${endpoints}) and (t.holder is null or t.holder = $6) for update
  ), ${due}, taken as (
    update webhook_turns set holder = $6, lease_until = now() + $3 * interval '1 millisecond',
      sending = $7::jsonb || (select jsonb_object_agg(id, attempts) from due), rate = coalesce($8::jsonb, rate)
    where endpoint_id = $1 and exists (select from due)
    returning sending
  ), claimed as (
    select id, message_id, type, body, encrypted_body, attempts + 1 as attempts, schedule_attempts + 1 as schedule_attempts,
      next_attempt_at
    from due
    where (select sending from taken) ? id
  )${rows(`case when exists (select from turn) then 'own'
      when exists (select from webhook_turns where endpoint_id = $1) then 'taken' else 'none' end`)}`;
}

/** The claims of an endpoint: one statement while it is not ordered, and gives nothing when it is; the other while it is. */
export interface ClaimTexts {
  any: string;
  inLine: string;
}

/** The statements by which turns claim. */
export function claims(users: UsersSql): ClaimTexts {
  return { any: claimSql(users, ANY), inLine: claimSql(users, IN_LINE) };
}

/**
 * Claims one delivery whosever turn it is, if it is due, nobody has claimed it and its endpoint is open. This one is written: it is
 * `sending`, under a lease of its own. The row of its endpoint's turns must exist.
 *
 * $1 delivery, $2 ms of the lease, $3 roles of the global policy. Gives rows like `claim`.
 */
export function claimOne(users: UsersSql): string {
  return `
  with turn as materialized (
    select t.endpoint_id, t.sending, null::jsonb as rate from webhook_turns t
    where t.endpoint_id = (select endpoint_id from webhook_deliveries where id = $1) for update
  ), endpoint as materialized (
    select ${ENDPOINT} join ${users.table} u on u.id = e.owner_id
    where e.id = (select endpoint_id from turn) and ${isOpen(users, '$3')}
  ), due as materialized (
    select d.id from webhook_deliveries d
    where d.id = $1 and d.endpoint_id = (select id from endpoint) and d.status = 'pending' and d.next_attempt_at <= now()
      and ((select sending from turn) ->> d.id)::int is distinct from d.attempts
    for update skip locked
  ), claimed as (
    update webhook_deliveries d set status = 'sending', attempts = d.attempts + 1, schedule_attempts = d.schedule_attempts + 1,
      lease_until = now() + $2 * interval '1 millisecond'
    from due where d.id = due.id
    returning d.id, d.message_id, d.type, d.body, d.encrypted_body, d.attempts, d.schedule_attempts, d.next_attempt_at
  )${rows(`'own'`)}`;
}

/** A claimed delivery. */
export interface ClaimedDelivery {
  id: string;
  messageId: string;
  /** The event's name. */
  type: string;
  /** As it is stored: see `readBody`. */
  body: string;
  encryptedBody: string | null;
  /** The number of the attempt to come, and its number since the schedule began. */
  attempt: number;
  scheduleAttempt: number;
  /** ms since the epoch, by this process: when it was due. */
  dueAt: number;
}

/** What came of a claim. */
export interface Claim {
  /** As it was when they were claimed. */
  endpoint: ClaimedEndpoint;
  deliveries: ClaimedDelivery[];
}

/** What is in the rows of a claim; undefined when the endpoint is disabled, removed, or its owner may not receive. */
export function claimOf(rows: readonly ClaimRow[]): Claim | undefined {
  let endpoint: ClaimedEndpoint | undefined;
  const deliveries: ClaimedDelivery[] = [];
  const now = Date.now();
  for (const row of rows) {
    if (row[0] !== null) endpoint = row[0];
    else {
      const [, id, messageId, type, body, encryptedBody, attempt, scheduleAttempt, lateMs] = row;
      deliveries.push({ id, messageId, type, body, encryptedBody, attempt, scheduleAttempt, dueAt: now - lateMs });
    }
  }
  return endpoint === undefined ? undefined : { endpoint, deliveries };
}
