import type { Auth } from '../../../../extension/index.ts';
import { SNAPSHOT } from '../../../../platform/data/postgres/settled.ts';
import { mayReceiveSql, OLD_SECRETS, type OwnersSql, RATE_RULE } from '../../endpoints/endpoints-sql.ts';
import { OWN_ROW_NAME } from '../fanout/outgoing-event.ts';
import type { ReadOwner } from '../readability/readability.ts';
import { LATE_COMMIT_TOLERANCE } from './due-sql.ts';
import type { RateRule, RateState } from './rate-limit.ts';

/** An endpoint at the time of a claim. */
export interface ClaimedEndpoint {
  id: string;
  owner: string;
  /** The role as which the owner reads if it is an organisation; null if it is a user. */
  organisationRole: string | null;
  /** The owner as the claim read them. */
  readOwner: ReadOwner;
  scope: 'own' | 'global';
  /** The API key that the endpoint is bound to; null without a binding. */
  key: Auth | null;
  url: string;
  /** The endpoint's secrets as ciphertexts: the newest first, then older secrets that are still in their grace period. */
  secrets: string[];
  /** The ciphertext of the custom headers; null without headers. */
  headers: string | null;
  slow: boolean;
  /** Whether the endpoint's deliveries are sent one after the other, in the order of their events. */
  ordered: boolean;
  rateLimit: RateRule | null;
  /** The endpoint's recent requests, as the last lease stored them. */
  rate: RateState | null;
  /** Whether deliveries that clients requested (tests, retries) wait to be claimed. */
  requested: boolean;
  /** The time of Postgres, in epoch ms. `startedAt`: at the beginning of the claim. */
  now: number;
  startedAt: number;
  /** `own`: the lease is free or held by the claiming worker; `taken`: another worker holds it; `none`: there is no lease row yet, or it is not where it was. */
  lease: 'own' | 'taken' | 'none';
  /** Where the lease row is stored, for the next claim; null if it was not found. */
  row: string | null;
  /** When the next search for due deliveries begins, as Postgres writes it: see `dueFrom` in tables.ts. */
  dueFrom: string | null;
  /** The claim's `SNAPSHOT`. */
  snapshot: string;
}

/**
 * The first row is the endpoint, the others are deliveries. `attempts` and `scheduleAttempts` include the coming attempt; `lateMs` is how
 * long the delivery has been due.
 */
export type ClaimRow =
  | [
      endpoint: Omit<ClaimedEndpoint, 'readOwner'> & { user: ReadOwner['json'] },
      null,
      null,
      null,
      null,
      null,
      null,
      null,
      null,
      null,
      null,
      null,
    ]
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
      eventId: string,
      trace: string | null,
      backfill: boolean | null,
    ];

/** The columns of the endpoint that a claim selects, with the table alias `e`. */
const ENDPOINT = `e.id, e.owner_id, e.scope, e.api_key_id, e.key_scopes, e.url, e.secret, ${OLD_SECRETS}, e.slow, e.ordered, e.rate_limit, e.rate_window_seconds, e.organisation_role, e.headers`;

/** The SQL in which the kinds of claims differ. */
interface ClaimKind {
  endpoints: string;
  /** The common table expression `due`, which selects the deliveries to claim. */
  due: string;
  /** Further assignments to the lease row. */
  set?: string;
  /** Further common table expressions. */
  also?: string;
}

/** The columns that a claim selects of a delivery. */
const DUE_COLUMNS =
  'id, message_id, type, body, encrypted_body, attempts, schedule_attempts, next_attempt_at, event_id, trace_context, backfill';

/** Selects and locks the due deliveries that meet a condition. Skips deliveries whose results are being written. */
const dueSql = (condition: string, order: string) => `due as materialized (
    select ${DUE_COLUMNS} from webhook_deliveries d
    where ${condition} and d.status = 'pending' and d.next_attempt_at <= now() and not $7::jsonb ? d.id
    order by ${order} limit $2 for update skip locked
  )`;

/** Any due deliveries, the earliest first, except requested ones. Uses webhook_deliveries_due_index. */
const CLAIM_ANY: ClaimKind = {
  endpoints: 'slow = $4 and not ordered',
  due: dueSql(
    `d.endpoint_id = (select endpoint_id from lease) and d.next_attempt_at >= (select at from earliest) and d.id <> all((select requested from lease)::text[])`,
    'd.next_attempt_at',
  ),
};

/**
 * The first deliveries of an ordered endpoint, in the order of their events, up to the first that is not ready. A delivery is ready if
 * it is due and nothing can still come before it: the relay has handled all earlier events, and no delivery of an expired lease may
 * still be in flight. `due_from` is not used, so that a delivery that commits late keeps its place. The rows are locked and read again, so that
 * the claim waits for a delivery that another process is writing, instead of skipping it.
 */
const CLAIM_ORDERED: ClaimKind = {
  endpoints: 'slow = $4 and ordered',
  due: `next as materialized (
    select d.id, row_number() over (order by d.position nulls first, d.event_id) as place from webhook_deliveries d
    where d.endpoint_id = (select endpoint_id from lease) and d.status = 'pending' and not $7::jsonb ? d.id
      and not exists (
        select from webhook_deliveries s where s.endpoint_id = d.endpoint_id and s.lease_until is not null and s.status = 'sending')
    order by d.position nulls first, d.event_id limit $2
  ), locked as materialized (
    select d.* from webhook_deliveries d where d.id = any(array(select id from next)) and d.status = 'pending' for update
  ), placed as materialized (
    select l.*, n.place, bool_and(l.next_attempt_at <= now() and (l.position is null or l.position < least(
        (select min(id) from outbox where resource is not null or name = '${OWN_ROW_NAME}'),
        (select min((payload ->> 'position')::bigint) from outbox where name = '${OWN_ROW_NAME}'), 9223372036854775807)))
      over (order by n.place) as ready
    from locked l join next n on n.id = l.id
  ), due as materialized (
    select ${DUE_COLUMNS} from placed where ready order by place
  )`,
};

/**
 * Claims the requested delivery that has waited longest, even if the endpoint is slow or ordered; $4 is null. Drops a request whose
 * delivery is no longer due or pending; a delivery that is still pending is claimed later like any other. Uses the primary key.
 */
const CLAIM_REQUESTED: ClaimKind = {
  endpoints: 'slow = coalesce($4, slow)',
  due: dueSql(
    'd.id = any((select requested from lease)::text[]) and d.endpoint_id = $1',
    'array_position((select requested from lease), d.id)',
  ),
  set: `, requested = array_remove(requested, (select id from due))`,
  also: `dropped as (
    update webhook_turns set requested = '{}'
    where endpoint_id = (select endpoint_id from lease) and requested <> '{}' and not exists (select from due)
  ), `,
};

/**
 * Acquires the lease of an endpoint, or continues it, and claims due deliveries, which only the holder of the lease may send. Writes no
 * delivery: the lease row stores which ones are being sent. Returns no row at all if the endpoint is disabled or deleted, or its owner may
 * not receive.
 *
 * While another session holds an old snapshot, vacuum removes nothing, and the index has an entry for every page that the lease row was ever
 * in. So a claim that knows where the row is reads it there, and `due_from` lets the search skip finished deliveries. The earliest pending
 * delivery, with claimed ones, which stay `pending` until their results are written, is searched once: it begins the search for due ones, and
 * the next claim begins there, or up to a second before if earlier ones may still be committed. If the clock was set back, it begins a second ago.
 *
 * Concurrent claims of an endpoint wait for each other at the lease row. They lock the deliveries as well, only to read the current
 * version of each. A claim returns only deliveries that it wrote into the lease: if it had to wait for the lease row, its second read
 * may find other deliveries than its first.
 *
 * $1 endpoint, $2 maximum number of deliveries, $3 lease duration in ms, $4 whether the claim is for the slow lane (an endpoint of the
 * other lane returns no deliveries), $5 roles of the global policy, $6 holder of the lease, $7 what the holder claimed before and has not
 * yet written back: attempts by delivery, $8 the rate state that it knows; null: none, $9 the time up to which all deliveries had been committed
 * before, in epoch ms.
 *
 * @param isByRow whether $10 is where the lease row was last stored; the statement finds nothing if it is elsewhere by now
 */
function claimDeliveriesSql(
  owners: OwnersSql,
  { endpoints, due, set = '', also = '' }: ClaimKind,
  isByRow: boolean,
): string {
  const row = isByRow ? 't.ctid = $10::tid and t.endpoint_id = $1' : 't.endpoint_id = $1';
  return `
  with endpoint as materialized (
    select ${ENDPOINT}, ${owners.json()} as "user"
    from webhook_endpoints e ${owners.join} where e.id = $1 and e.delivery = 'push' and ${mayReceiveSql(owners, '$5')}
  ), lease as materialized (
    select t.endpoint_id, t.rate, t.requested, t.due_from, t.ctid as tid from webhook_turns t
    where ${row} and t.endpoint_id = (select id from endpoint where ${endpoints}) and (t.holder is null or t.holder = $6) for update
  ), earliest as materialized (
    select min(d.next_attempt_at) as at from webhook_deliveries d
    where d.endpoint_id = $1 and d.status = 'pending' and d.next_attempt_at >=
        (select case when due_from > now() then now() - ${LATE_COMMIT_TOLERANCE} else coalesce(due_from, '-infinity') end from lease)
  ), ${due}, ${also}taken as (
    update webhook_turns t set holder = $6, lease_until = now() + $3 * interval '1 millisecond',
      sending = $7::jsonb || (select jsonb_object_agg(id, attempts) from due), rate = coalesce($8::jsonb, rate)${set},
      due_from = greatest(least((select at from earliest), now()) - ${LATE_COMMIT_TOLERANCE},
        least((select at from earliest), now(), to_timestamp($9::float8 / 1000)))
    where ${row} and exists (select from due)
    returning t.sending, t.due_from, t.ctid as tid
  ), claimed as (
    select id, message_id, type, body, encrypted_body, attempts + 1 as attempts, schedule_attempts + 1 as schedule_attempts,
      next_attempt_at, event_id, trace_context, backfill
    from due
    where (select sending from taken) ? id
  )
  select json_build_object('id', e.id, 'owner', e.owner_id, 'organisationRole', e.organisation_role, 'user', e.user, 'scope', e.scope, 'url', e.url,
    'key', case when e.api_key_id is not null then json_build_object('via', 'api-key', 'id', e.api_key_id, 'scopes', e.key_scopes) end,
    'secrets', array_remove(array[e.secret, e.previous_secret, e.older_secret], null), 'headers', e.headers,
    'slow', e.slow, 'ordered', e.ordered,
    'lease', case when exists (select from lease) then 'own'
      ${isByRow ? '' : `when exists (select from webhook_turns where endpoint_id = $1) then 'taken'`} else 'none' end,
    'requested', coalesce((select requested <> '{}' from lease), false),
    'rateLimit', ${RATE_RULE},
    'row', coalesce((select tid from taken), (select tid from lease)),
    'snapshot', ${SNAPSHOT},
    'dueFrom', coalesce((select due_from from taken), (select due_from from lease)),
    'rate', (select rate from lease), 'now', floor(extract(epoch from clock_timestamp()) * 1000), 'startedAt', floor(extract(epoch from now()) * 1000)), null, null, null, null, null, null, null, null, null, null, null from endpoint e
  union all
  select null, c.id, c.message_id, c.type, c.body, c.encrypted_body, c.attempts, c.schedule_attempts,
    (date_part('epoch', now() - c.next_attempt_at) * 1000)::bigint, c.event_id, c.trace_context, c.backfill from claimed c`;
}

/** The kinds of claims. `any` returns nothing while the endpoint is ordered, `ordered` returns nothing while it is not. */
export type ClaimKindName = 'any' | 'ordered' | 'requested';

/** A claim statement. `byRow` has one more parameter: where the lease row was last stored. It finds nothing if the row is elsewhere by now. */
export interface ClaimStatement {
  byEndpoint: { name: string; text: string };
  byRow: { name: string; text: string };
}

/** Creates the statements that claim deliveries under a lease. */
export function createClaimStatements(owners: OwnersSql): Record<ClaimKindName, ClaimStatement> {
  const create = (name: string, kind: ClaimKind): ClaimStatement => ({
    byEndpoint: { name, text: claimDeliveriesSql(owners, kind, false) },
    byRow: { name: `${name}_by_row`, text: claimDeliveriesSql(owners, kind, true) },
  });
  return {
    any: create('webhook_claim', CLAIM_ANY),
    ordered: create('webhook_claim_ordered', CLAIM_ORDERED),
    requested: create('webhook_claim_requested', CLAIM_REQUESTED),
  };
}

/** A claimed delivery. */
export interface ClaimedDelivery {
  id: string;
  eventId: string;
  messageId: string;
  /** The name of the event. */
  type: string;
  /** The body as stored: see `decryptStoredBody`. */
  body: string;
  encryptedBody: string | null;
  /** The `traceparent` that the attempt continues; null if no trace is recorded. */
  trace: string | null;
  /** Whether a backfill created the delivery. */
  isBackfill?: boolean;
  /** The number of the coming attempt. `scheduleAttempt`: its number since the retry schedule began. */
  attempt: number;
  scheduleAttempt: number;
  /** Epoch ms at which the delivery was due, by the clock of this process. */
  dueAt: number;
}

/** The result of a claim. */
export interface Claim {
  /** The endpoint at the time of the claim. */
  endpoint: ClaimedEndpoint;
  deliveries: ClaimedDelivery[];
}

/**
 * Reads the rows of a claim. Returns undefined if the endpoint is disabled or deleted, or its owner must not be sent events.
 *
 * @param sentAt when the statement was sent, by `performance.now()`
 */
export function parseClaimRows(rows: readonly ClaimRow[], sentAt: number): Claim | undefined {
  let endpoint: ClaimedEndpoint | undefined;
  const deliveries: ClaimedDelivery[] = [];
  const now = Date.now();
  for (const row of rows) {
    if (row[0] !== null) {
      const { user, key, ...others } = row[0];
      const isOfUser = others.organisationRole === null;
      const readableBy = isOfUser || key === null ? key : { ...key, organisation: others.owner };
      endpoint = { ...others, key: readableBy, readOwner: { json: user, at: sentAt } };
    } else {
      const [, id, messageId, type, body, encryptedBody, attempt, scheduleAttempt, lateMs, eventId, trace, backfill] =
        row;
      const dueAt = now - lateMs;
      const isBackfill = backfill === true;
      const message = { id, eventId, messageId, type, body, encryptedBody, trace, isBackfill };
      deliveries.push({ ...message, attempt, scheduleAttempt, dueAt });
    }
  }
  return endpoint === undefined ? undefined : { endpoint, deliveries };
}
