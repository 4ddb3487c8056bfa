import type { RateRule } from './rate-limit.ts';
import { isOpen, RATE_RULE } from './claim-sql.ts';
import type { UsersSql } from '../endpoints/users-sql.ts';

/**
 * A condition: somebody's turn is sending delivery `d` at this moment. What a turn has claimed stays `pending` in its own row, so that
 * a delivery is written once per attempt; it is shown as `sending`.
 */
export const IN_TURN = `(d.status = 'pending' and exists (
      select from webhook_turns t where t.endpoint_id = d.endpoint_id and (t.sending ->> d.id)::int = d.attempts))`;

/** $1 endpoint: makes the row that its turns are kept in. */
export const MAKE_TURN = `
  insert into webhook_turns (endpoint_id) select id from webhook_endpoints where id = $1 on conflict do nothing`;

/** $1 delivery: the same for its endpoint. */
export const MAKE_TURN_OF = `
  insert into webhook_turns (endpoint_id)
  select e.id from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id where d.id = $1
  on conflict do nothing`;

/**
 * Ends turns, if they are still those of their holders. $1 endpoints, $2 holders, $3 what they still claim: attempts by delivery,
 * JSON, $4 what they know of the endpoint's rate, JSON or null. A turn that still claims something lasts until its lease runs out.
 */
export const END_TURNS = `
  update webhook_turns t set sending = coalesce(r.claimed, '{}')::jsonb,
    holder = case when r.claimed is not null then t.holder end,
    lease_until = case when r.claimed is not null then t.lease_until end,
    rate = coalesce(r.rate::jsonb, t.rate)
  from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as r(endpoint_id, holder, claimed, rate)
  where t.endpoint_id = r.endpoint_id and t.holder = r.holder`;

/** What a renewal tells of an endpoint: that by which a turn sends. */
export interface EndpointNow {
  id: string;
  url: string;
  /** Ciphertext: the newest. */
  secret: string;
  ordered: boolean;
  rateLimit: RateRule | null;
}

/**
 * Renews turns, if they are still those of their holders. $1 endpoints, $2 holders, $3 ms of the lease, $4 roles of the global policy.
 * Gives the endpoints that may still be sent to. Rows that are locked are passed over: a claim renews, too, and it must not wait for
 * who ends turns in another order.
 */
export function renewTurns(users: UsersSql): string {
  return `
  with own as (
    select t.endpoint_id from webhook_turns t
      join unnest($1::text[], $2::text[]) as r(endpoint_id, holder) on t.endpoint_id = r.endpoint_id and t.holder = r.holder
    for update of t skip locked
  ), renewed as (
    update webhook_turns t set lease_until = now() + $3 * interval '1 millisecond' from own where t.endpoint_id = own.endpoint_id
  )
  select json_build_object('id', e.id, 'url', e.url, 'secret', e.secret, 'ordered', e.ordered,
    'rateLimit', ${RATE_RULE})
  from webhook_endpoints e join ${users.table} u on u.id = e.owner_id where e.id = any($1::text[]) and ${isOpen(users, '$4')}`;
}
