import type { Host, ResourceGateway } from '../../../declare/host.ts';
import { RENEW_MS, TURN_LEASE_MS } from './leases.ts';
import { globalRoles, type WebhookSettings } from '../settings.ts';
import { type EndpointNow, renewTurns } from './turns-sql.ts';
import { usersSql } from '../endpoints/users-sql.ts';

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
