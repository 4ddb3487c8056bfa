import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { defineUser } from '../../../src/index.ts';
import { createChunkClaimer, renewClaims } from '../../../src/push/delivery/claim-chunks.ts';
import { separateSendableDevices } from '../../../src/push/delivery/prepare-devices.ts';
import { startTestApp } from '../../support/app.ts';
import { startProcess } from '../../support/processes/app-process.ts';
import { openPlatform } from '../platform.ts';

const claimChunks = createChunkClaimer(undefined);

const CALLS_ANSWERED = 3;
const TOKENS = 6000;

/** All tokens of all calls, in order. Calls after the first few wait at the gate. */
const calls: string[][] = [];
let open: () => void = () => undefined;
const gate = new Promise<void>((resolve) => {
  open = resolve;
});
const provider = createServer(async (req, res) => {
  const body = (await req.toArray()).join('');
  calls.push(JSON.parse(body));
  if (calls.length > CALLS_ANSWERED) await gate;
  res.end();
});
await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));

const asking = { name: 'asking', send: () => [] };
const { app, env } = await startTestApp(
  { resources: [defineUser()], transports: [asking], settings: { relay: { sweepMs: 200 } } },
  { roles: ['web', 'relay'] },
);
const platform = await openPlatform(env);
const sql = new Client({ connectionString: env.DATABASE_URL });
await sql.connect();
afterAll(async () => {
  provider.closeAllConnections();
  provider.close();
  await platform.close();
  await sql.end();
});
const patience = { timeout: 60_000, interval: 50 };
const countOf = async (where: string) =>
  Number((await sql.query(`select count(*) from push_results where ${where}`)).rows[0].count);

test('if a worker is killed during a send, only devices in flight may get the push twice', async () => {
  const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const start = () => startProcess('test/fixtures/push-worker.ts', { ...env, LOG_LEVEL: 'error', PUSH_URL: url });
  const first = start();
  const tokens = Array.from({ length: TOKENS }, (_, i) => `token-${i}`);
  const { id } = await app.push.enqueue({ tokens, title: 'Hi' });
  // Results are stored while other calls are in flight: a chunk does not wait for its neighbours.
  const answered = async () => (await countOf('ok')) === calls.slice(0, CALLS_ANSWERED).flat().length;
  await expect.poll(async () => calls.length > CALLS_ANSWERED && (await answered()), patience).toBe(true);
  first.child.kill('SIGKILL');
  await first.ended;
  const inFlight = new Set(calls.slice(CALLS_ANSWERED).flat());
  expect(inFlight.size).toBeGreaterThan(0);
  expect(inFlight.size).toBeLessThanOrEqual(2500);
  open();

  // The claims and jobs expire by themselves; the test does not wait for that.
  await sql.query(
    'update push_chunks set claimed_until = now() - make_interval(secs => 1) where claimed_until is not null',
  );
  await sql.query(`update push_audiences set touched_at = now() - interval '1 minute'`);
  for (const queue of ['push.asking', 'push-audiences']) await platform.queues.queue(queue).obliterate({ force: true });
  const second = start();
  const status = async () => (await sql.query('select status from pushes where id = $1', [id])).rows[0].status;
  await expect.poll(status, patience).toBe('sent');
  second.child.kill('SIGTERM');

  const times = Map.groupBy(calls.flat(), (token) => token);
  expect(times.size).toBe(TOKENS);
  const twice = [...times].filter(([, list]) => list.length > 1).map(([token]) => token);
  expect(twice.filter((token) => !inFlight.has(token))).toEqual([]);
  expect([...times.values()].every((list) => list.length <= 2)).toBe(true);
}, 120_000);

test('a live worker renews its claims, so that no other worker takes its chunks', async () => {
  const { id } = await app.push.enqueue({ tokens: ['a'], title: 'Hi' });
  const key = [{ pushId: id, chunk: 0 }];
  const [held] = await claimChunks(platform.database, key);
  expect(await claimChunks(platform.database, key)).toEqual([]);
  await sql.query(`update push_chunks set claimed_until = now() + interval '1 second' where push_id = $1`, [id]);
  await renewClaims(platform.database, [held!]);
  const left = `select claimed_until > now() + interval '20 seconds' as long from push_chunks where push_id = $1`;
  expect((await sql.query(left, [id])).rows).toEqual([{ long: true }]);
  // A worker that lost its claim does not renew it.
  await sql.query(`update push_chunks set claimed_until = now() - make_interval(secs => 1) where push_id = $1`, [id]);
  expect(await claimChunks(platform.database, key)).toHaveLength(1);
  await sql.query(`update push_chunks set claimed_until = now() - make_interval(secs => 1) where push_id = $1`, [id]);
  await renewClaims(platform.database, [held!]);
  expect((await sql.query(left, [id])).rows).toEqual([{ long: false }]);
});

test('a chunk whose workers die again and again is given up', async () => {
  const { id } = await app.push.enqueue({ tokens: ['a'], title: 'Hi' });
  const refusals: (string | undefined)[] = [];
  for (let claim = 1; claim <= 6; claim++) {
    await sql.query(`update push_chunks set claimed_until = null where push_id = $1`, [id]);
    const [chunk] = await claimChunks(platform.database, [{ pushId: id, chunk: 0 }]);
    refusals.push(separateSendableDevices(chunk!, asking, Date.now()).refused[0]?.result.error);
  }
  const ending = 'Given up: every worker that tried to send it died';
  expect(refusals).toEqual([undefined, undefined, undefined, undefined, undefined, ending]);
});
