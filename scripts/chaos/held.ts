import pg from 'pg';
import { IS_LEASED } from '../../src/extensions/webhooks/delivery/lease-store.ts';

/** Runs something on a connection of its own: those that last do not outlive a restart of Postgres. */
async function withClient<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** A delivery that a worker holds: claimed, and the result not written. */
export interface Held {
  /** `webhook-id`. */
  messageId: string;
  /** Attempts before this one. */
  attempts: number;
}

// What a turn that nobody renewed had claimed is `sending` in its own row: its attempt counts already.
const HELD = `
  select message_id as "messageId", attempts - case when status = 'sending' then 1 else 0 end as attempts
  from webhook_deliveries d where status = 'sending' or ${IS_LEASED}`;

/** The deliveries that workers hold. */
export function heldDeliveries(databaseUrl: string): Promise<Held[]> {
  return withClient(databaseUrl, async (client) => (await client.query<Held>(HELD)).rows);
}

const HELD_AT_FAULTS = 'unnest($1::text[], $2::int[]) as h(message_id, attempts)';
const END_TURNS = `
  update webhook_turns t set lease_until = now() from webhook_deliveries d
    join ${HELD_AT_FAULTS} on d.message_id = h.message_id and d.attempts = h.attempts
  where t.endpoint_id = d.endpoint_id and ${IS_LEASED}`;
const END_LEASES = `
  update webhook_deliveries d set lease_until = now() from ${HELD_AT_FAULTS}
  where d.message_id = h.message_id and d.attempts = h.attempts + 1 and d.status = 'sending'`;
const MAKE_DUE = `update webhook_deliveries set next_attempt_at = now() where status = 'pending' and next_attempt_at > now()`;

/** Puts the clock forward: ends the leases of what was held at a fault, and makes every retry due. */
export async function hurryUp(databaseUrl: string, held: readonly Held[]): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    const values = [held.map(({ messageId }) => messageId), held.map(({ attempts }) => attempts)];
    await client.query(END_TURNS, values);
    await client.query(END_LEASES, values);
    await client.query(MAKE_DUE);
  });
}

const UNFINISHED = `
  select (select count(*) from outbox)::int + (select count(*) from webhook_deliveries where status in ('pending', 'sending'))::int as n`;

/** Events and deliveries that are not done with. */
export function unfinished(databaseUrl: string): Promise<number> {
  return withClient(databaseUrl, async (client) => (await client.query<{ n: number }>(UNFINISHED)).rows[0]!.n);
}
