import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { createScaleApp, ROWS, type Size } from '../apps/scale.ts';
import { withClient } from './database.ts';
import { createBelfryEnvironment, type Servers } from './environment.ts';
import { insertUsers, USERS } from './seed.ts';

/** Records of each owner, in both tables. */
export const RECORDS_PER_OWNER = 500;
/** Records whose title contains the searched word, in both tables. */
export const MATCHING_RECORDS = 50;
export const SEARCHED_WORD = 'carillon';
/** The user who sees all records. */
export const ADMIN = USERS - 1;

// Creating an index after the rows takes a tenth of the time of updating it row by row.
async function fillTable(client: pg.Client, table: Size): Promise<void> {
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes where tablename = $1 and indexname not like '%_pkey'`,
    [table],
  );
  for (const { name } of indexes) await client.query(`drop index "${name}"`);
  await client.query(
    `insert into ${table} (id, title, body, category, status, author, created_at, updated_at)
     select 'a' || lpad(to_hex(n), 23, '0'), 'Entry ' || n || case when n % ($1 / $2) = 7 then ' ${SEARCHED_WORD}' else '' end,
       repeat('The bells of the old town ring at noon. ', 8), 'category-' || n % 100, 'published',
       'b' || lpad(to_hex(n % ($1 / $3)), 23, '0'), now() - n * interval '1 minute', now() - n * interval '1 minute'
     from generate_series(0, $1::int - 1) n`,
    [ROWS[table], MATCHING_RECORDS, RECORDS_PER_OWNER],
  );
  for (const { definition } of indexes) await client.query(definition);
  await client.query(`vacuum analyze ${table}`);
}

/** Waits until the relay has counted the large table in ranges, as it does within seconds of the rows' analysis. */
async function countInRanges(client: pg.Client): Promise<void> {
  const query = `select from ranged_tables where table_name = 'many' and next is null and until > now() - interval '1 hour'`;
  while ((await client.query(query)).rowCount === 0) await sleep(100);
}

/** Creates both tables and their rows. */
export async function fillScaleDatabase(servers: Servers): Promise<void> {
  const app = createScaleApp(createBelfryEnvironment(servers));
  await app.migrate({ mode: 'sync' });
  await withClient(servers.databaseUrl, async (client) => {
    await insertUsers(client);
    await client.query(`update users set roles = '{user,admin}' where email = $1`, [`user${ADMIN}@example.com`]);
    for (const table of Object.keys(ROWS) as Size[]) await fillTable(client, table);
    await app.start({ port: 0, roles: ['relay'] });
    await countInRanges(client);
    await client.query('checkpoint');
  });
  await app.close();
}
