// The row of a removed endpoint is deleted once its log is empty.
import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import type { ResourceGateway } from '../../../../src/declare/host.ts';
import { DELIVERY_TABLES } from '../../../../src/extensions/webhooks/log/deliveries-sql.ts';
import { createRetentionSweeps } from '../../../../src/extensions/webhooks/recovery/retention.ts';
import { fillProductionDefaults, webhookSettings } from '../../../../src/extensions/webhooks/settings.ts';
import { defineUser, webhooks } from '../../../../src/index.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { type Database, openDatabase } from '../../../../src/platform/postgres/database.ts';
import { startTestApp } from '../../../support/app.ts';
import { rowsRead } from '../../../support/database/query-plan.ts';

const user = defineUser();
// Only the web role runs: the test runs the sweep itself.
const { env } = await startTestApp({ resources: [user], extensions: [webhooks()] });
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const log = createLogger('silent', 'test');
const database = openDatabase(env.DATABASE_URL!, 'test', log);
afterAll(async () => {
  await database.close();
  await client.end();
});

const ENDPOINTS = 1500;
const DELIVERIES = 20_000;

test('removed endpoints are deleted after their deliveries, and no statement reads the deliveries of others', async () => {
  await client.query(
    `insert into webhook_endpoints (id, owner_id, url, events, scope, secret, removed_at)
     select 'e' || n, 'owner', '', '{*}', 'own', '', now() - interval '2 hours' from generate_series(1, ${ENDPOINTS}) n`,
  );
  await client.query(
    `insert into webhook_delivery_log (id, endpoint_id, event_id, message_id, type, body, finished_at)
     select n, case n when 1 then 'e1' else 'other' end, n, n, 't', '{}', now() from generate_series(1, ${DELIVERIES}) n`,
  );
  await client.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body)
     select n, case n when 2 then 'e2' else 'other' end, n, n, 't', '{}' from generate_series(1, ${DELIVERIES}) n`,
  );
  await client.query('vacuum analyze webhook_endpoints, webhook_delivery_log, webhook_deliveries');

  const counts: number[] = [];
  const write = (async (statement: { text: string; values: unknown[] }) => {
    if (!statement.text.includes('webhook_endpoints')) return database.write(statement);
    await client.query('begin');
    const { rows } = await client.query(`explain (analyze, format json) ${statement.text}`, statement.values);
    await client.query('rollback');
    counts.push(rowsRead(rows[0]['QUERY PLAN'][0].Plan, DELIVERY_TABLES));
    return database.write(statement);
  }) as Database['write'];
  const gateway = { table: 'users', declaration: user } as unknown as ResourceGateway;
  const settings = fillProductionDefaults(webhookSettings.parse({}), false);
  const host = { database: { ...database, write }, log };
  const sweeps = createRetentionSweeps(host, gateway, settings, async function* () {});
  const run = (name: string) => sweeps.find((sweep) => sweep.name === `webhooks: ${name}`)!.run();
  const leftEndpoints = async () => (await client.query('select id from webhook_endpoints order by id')).rows;

  await run('copies of deleted records, removed endpoints');
  expect(await leftEndpoints()).toEqual([{ id: 'e1' }, { id: 'e2' }]);
  expect(await run('logs of removed endpoints')).toBe(2);
  await run('copies of deleted records, removed endpoints');
  expect(await leftEndpoints()).toEqual([]);
  expect(counts.length).toBeGreaterThan(4);
  for (const read of counts) expect(read).toBeLessThan(10);
});
