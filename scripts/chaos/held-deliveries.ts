import pg from 'pg';
import { IS_LEASED } from '../../src/extensions/webhooks/deliveries/deliveries-sql.ts';

/** Runs a query on a connection of its own, since an open connection would not survive a restart of Postgres. */
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

/** A delivery that a worker holds: it is claimed, and its result is not stored yet. */
export interface HeldDelivery {
  /** The `webhook-id`. */
  messageId: string;
  /** Number of attempts before the one that the worker makes. */
  attempts: number;
}

// A delivery of an expired lease has the status `sending` in its own row, and its attempt is already counted.
const HELD = `
  select message_id as "messageId", attempts - case when status = 'sending' then 1 else 0 end as attempts
  from webhook_deliveries d where status = 'sending' or ${IS_LEASED}`;

/** Returns the deliveries that workers hold. */
export function readHeldDeliveries(databaseUrl: string): Promise<HeldDelivery[]> {
  return withClient(databaseUrl, async (client) => (await client.query<HeldDelivery>(HELD)).rows);
}

const HELD_AT_DISRUPTIONS = 'unnest($1::text[], $2::int[]) as h(message_id, attempts)';
const END_ENDPOINT_LEASES = `
  update webhook_turns t set lease_until = now() from webhook_deliveries d
    join ${HELD_AT_DISRUPTIONS} on d.message_id = h.message_id and d.attempts = h.attempts
  where t.endpoint_id = d.endpoint_id and ${IS_LEASED}`;
const END_DELIVERY_LEASES = `
  update webhook_deliveries d set lease_until = now() from ${HELD_AT_DISRUPTIONS}
  where d.message_id = h.message_id and d.attempts = h.attempts + 1 and d.status = 'sending'`;
const MAKE_DUE = `update webhook_deliveries set next_attempt_at = now() where status = 'pending' and next_attempt_at > now()`;

/** Sets the clock forward: ends the leases held at a disruption and makes every retry due. */
export async function expireLeasesAndRetries(databaseUrl: string, held: readonly HeldDelivery[]): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    const values = [held.map(({ messageId }) => messageId), held.map(({ attempts }) => attempts)];
    await client.query(END_ENDPOINT_LEASES, values);
    await client.query(END_DELIVERY_LEASES, values);
    await client.query(MAKE_DUE);
  });
}

const UNFINISHED = `
  select (select count(*) from outbox)::int + (select count(*) from webhook_deliveries where status in ('pending', 'sending'))::int as n`;

/** Returns the number of events and deliveries that are not finished. */
export function countUnfinished(databaseUrl: string): Promise<number> {
  return withClient(databaseUrl, async (client) => (await client.query<{ n: number }>(UNFINISHED)).rows[0]!.n);
}
