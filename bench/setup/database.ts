import pg from 'pg';
import type { Bench } from '../figure.ts';

/** Runs a function with a connection of its own. */
export async function withClient<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl });
  // After Ctrl-C, Postgres ends before the work does. A query that is running fails in any case.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Runs a group with an empty database of its own, which is dropped afterwards: other groups would have to drop its tables. */
export async function withOwnDatabase<T>(bench: Bench, name: string, work: (bench: Bench) => Promise<T>): Promise<T> {
  const { databaseUrl } = bench.servers;
  await withClient(databaseUrl, (client) => client.query(`create database ${name}`));
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  try {
    return await work({ ...bench, servers: { ...bench.servers, databaseUrl: url.href } });
  } finally {
    await withClient(databaseUrl, (client) => client.query(`drop database ${name} with (force)`));
  }
}

/** Removes everything that a measurement has written, so that the next one finds the same database. Webhook endpoints stay. */
export async function resetDatabase(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    // One table at a time: a statement that holds no lock while it waits for one cannot deadlock with a worker or a sweep.
    for (const table of ['outbox', 'webhook_deliveries', 'webhook_delivery_log']) {
      // The database of an older commit does not have all of them.
      const { rows } = await client.query<{ found: boolean }>('select to_regclass($1) is not null as found', [table]);
      if (rows[0]!.found) await client.query(`truncate ${table}`);
    }
    await client.query(`delete from articles where id !~ '^a0{10}'`);
    await client.query('vacuum analyze articles');
    // Otherwise the next measurement pays for what the last one wrote.
    await client.query('checkpoint');
  });
}

/** Selects a row if a delivery has not succeeded, whether it waits or has failed. */
export const UNDELIVERED = `(select from webhook_deliveries limit 1) union all (select from webhook_delivery_log where status = 'failed' limit 1)`;

/** Waits until a query returns no row. */
export async function waitUntilEmpty(client: pg.Client, query: string): Promise<void> {
  while ((await client.query(query)).rowCount !== 0) await new Promise((resolve) => setTimeout(resolve, 10));
}
