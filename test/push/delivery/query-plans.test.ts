import pg from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { defineUser } from '../../../src/index.ts';
import type { Transport } from '../../../src/push/transport.ts';
import { startTestApp } from '../../support/app.ts';
import { rowsRead } from '../../support/database/query-plan.ts';

/** So many that reading all of them for each statement would be a defect; for a few thousand, Postgres may choose to. */
const DEVICES = 30_000;
const transport: Transport = { name: 'fake', send: async (_message, devices) => devices.map(() => ({ ok: true })) };
const { app, env } = await startTestApp({ resources: [defineUser()], transports: [transport] });
const client = new pg.Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());

test('storing results reads only the rows of these results, in tables without statistics', async () => {
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  const tokens = Array.from({ length: DEVICES }, (_, i) => `token-${i}`);
  const { id } = await app.push.send({ tokens, title: 'Hello', body: 'World' });
  const isSent = async () =>
    (await client.query('select from pushes where id = $1 and finished_at is not null', [id])).rows.length > 0;
  await vi.waitUntil(isSent, { timeout: 30_000, interval: 50 });
  const stored = sent.mock.calls
    .map(([statement]) => statement as unknown as { text?: string; values: unknown[][] })
    .filter(({ text }) => text?.includes('update push_results r set ok'));
  sent.mockRestore();
  expect(stored.length).toBeGreaterThan(10);
  const { text, values } = stored[5]!;
  await client.query('begin');
  await client.query('update push_chunks set finished_at = null');
  await client.query('update push_results set ok = null');
  const { rows } = await client.query(`explain (analyze, format json) ${text}`, values);
  await client.query('rollback');
  expect(rowsRead(rows[0]['QUERY PLAN'][0].Plan, ['push_results'])).toBeLessThanOrEqual(2 * values[6]!.length);
});
