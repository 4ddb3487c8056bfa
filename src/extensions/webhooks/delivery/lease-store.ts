import type { Host, ResourceGateway } from '../../../declare/host.ts';
import { type AddToBatch, createMicroBatch } from '../../../platform/micro-batch.ts';
import { plainArray, textArray } from '../../../platform/postgres/array-literal.ts';
import { retryTransient } from '../../../platform/postgres/retry.ts';
import { isOpen, RATE_RULE, type UsersSql, usersSql } from '../endpoints/endpoints-sql.ts';
import { globalRoles, type WebhookSettings } from '../settings.ts';
import type { RateRule, RateState } from './rate-limit.ts';

/**
 * ms that a turn lasts unless it is renewed. Once it has run out, another worker may send to the endpoint: all but what the turn had
 * claimed. Not less than `LAUNCH_MS`, so that nothing is begun after it that was claimed in it.
 */
export const TURN_LEASE_MS = 5000;

/** ms between renewals of turns. */
const RENEW_MS = 1000;

/** ms after the first claim of a turn within which its requests are begun. */
export const LAUNCH_MS = 5000;

/** ms between the tries to write what was sent while Postgres is away: unwritten it is sent again. */
export const WRITE_RETRY_MS = [100, 1000];

const MARGIN_MS = 10_000;

/**
 * ms after which what was in the hands of a worker of which nothing was heard since is taken for lost, and sent again: its request may
 * have been begun at the last moment, take the whole time-out, and its result has to be written.
 */
export function deliveryLeaseMs({ timeoutMs }: { timeoutMs: number }): number {
  return LAUNCH_MS + timeoutMs + MARGIN_MS;
}

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
const END_TURNS = `
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
function renewTurns(users: UsersSql): string {
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

/** A turn that is renewed. */
export interface RenewedTurn {
  readonly endpointId: string;
  readonly holder: string;
  /** By `performance.now()`: a claim renews, too. */
  readonly claimedAt: number;
  /** Told at each renewal how the endpoint stands; undefined: it is not to be sent to any more. */
  see(endpoint: EndpointNow | undefined): void;
}

/** Renews the turns of a worker while it lives. */
export interface TurnRenewals {
  add(turn: RenewedTurn): void;
  remove(turn: RenewedTurn): void;
  stop(): void;
}

/**
 * Makes what renews turns, all of them in one statement. Most turns are over before that; those that last, last by their receivers.
 * A renewal that fails is made up for by the next: what a turn has claimed stays its own in any case.
 */
export function createTurnRenewals(
  { database, log }: Pick<Host, 'database' | 'log'>,
  users: ResourceGateway,
  settings: Pick<WebhookSettings, 'globalPolicy'>,
): TurnRenewals {
  const turns = new Set<RenewedTurn>();
  const text = renewTurns(usersSql(users));
  const roles = globalRoles(settings);
  let busy = false;

  async function renew(): Promise<void> {
    const due = [...turns].filter(({ claimedAt }) => performance.now() - claimedAt >= RENEW_MS / 2);
    if (busy || due.length === 0) return;
    busy = true;
    try {
      const values = [due.map(({ endpointId }) => endpointId), due.map(({ holder }) => holder), TURN_LEASE_MS, roles];
      const rows = await database.write<[EndpointNow]>({ name: 'webhook_renew_turns', text, values });
      const byId = new Map(rows.map(([endpoint]) => [endpoint.id, endpoint]));
      for (const turn of due) turn.see(byId.get(turn.endpointId));
    } catch (error) {
      log.warn({ err: error, turns: due.length }, 'turns of webhook endpoints were not renewed');
    } finally {
      busy = false;
    }
  }

  const timer = setInterval(() => void renew(), RENEW_MS).unref();
  return {
    add: (turn) => void turns.add(turn),
    remove: (turn) => void turns.delete(turn),
    stop: () => clearInterval(timer),
  };
}

/** A turn that is over. */
export interface EndedTurn {
  endpointId: string;
  holder: string;
  /** The attempts of deliveries that were sent and whose results could not be written. */
  left: ReadonlyMap<string, number>;
  /** What is known of the endpoint's rate, where it has one. */
  rate: RateState | undefined;
}

const MOST = 500;

/** Makes what ends turns, in batches that form by themselves. One that cannot be ended ends with its lease. */
export function createEndTurns({ database, log }: Pick<Host, 'database' | 'log'>): AddToBatch<EndedTurn> {
  async function write(turns: EndedTurn[]): Promise<void> {
    const values = [
      plainArray(turns.map(({ endpointId }) => endpointId)),
      plainArray(turns.map(({ holder }) => holder)),
      textArray(turns.map(({ left }) => (left.size > 0 ? JSON.stringify(Object.fromEntries(left)) : null))),
      textArray(turns.map(({ rate }) => (rate === undefined ? null : JSON.stringify(rate)))),
    ];
    try {
      const statement = { name: 'webhook_end_turns', text: END_TURNS, values };
      await retryTransient(() => database.write(statement), WRITE_RETRY_MS);
    } catch (error) {
      log.error({ err: error, turns: turns.length }, 'turns of webhook endpoints last until their leases run out');
    }
  }
  return createMicroBatch(write, MOST);
}
