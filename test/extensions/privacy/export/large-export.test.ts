import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { createExportStore } from '../../../../src/extensions/privacy/export/store.ts';
import { LeaseLostError } from '../../../../src/platform/work/leased-work/lease.ts';
import { diaries } from '../../../fixtures/diaries/app.ts';
import { openPlatform } from '../../../push/platform.ts';
import { startTestApp } from '../../../support/app.ts';
import { startProcess } from '../../../support/processes/app-process.ts';
import { fetched, finished } from './app.ts';

const RECORDS = 40_000;
// 1,600 characters each, 64 MB in total.
const TEXT = 'repeat(md5(i::text), 50)';
const PATH = '/api/auth/me/export';

// This app runs no worker, so the workers of the tests are the only ones.
const running = await startTestApp(diaries, { roles: ['web', 'relay'] });
const { env, person } = running;
const platform = await openPlatform(env);
afterAll(() => platform.close());
const exports = createExportStore(platform);
const client = new Client({ connectionString: env.DATABASE_URL! });
await client.connect();
afterAll(() => client.end());

// The data is larger than the worker’s heap. zip.test.ts tests that reading never runs ahead of storing.
const worker = () =>
  startProcess('test/fixtures/diaries/push-worker.ts', {
    ...env,
    LOG_LEVEL: 'error',
    NODE_OPTIONS: '--max-old-space-size=64',
  });

test('a worker that continues after its export was taken over or removed cannot store any of it', async () => {
  const { id: user } = await person('Ada');
  const { id } = (await exports.create(user, user, async () => undefined))!;
  const slow = (await exports.claim(id))!;
  await slow.storeChunk(Buffer.from('slow'), 0, 1);
  expect(await exports.claim(id)).toBeUndefined();
  await client.query('update privacy_exports set lease_until = now() - make_interval(secs => 1) where id = $1', [id]);
  const quick = (await exports.claim(id))!;
  expect(await exports.renew([slow])).toEqual([]);
  await expect(slow.storeChunk(Buffer.from('late'), 1, 2)).rejects.toThrow(LeaseLostError);
  await expect(slow.finish({ records: 1, bytes: 4, hours: 1 }, async () => undefined)).rejects.toThrow(LeaseLostError);
  await expect(slow.fail()).rejects.toThrow(LeaseLostError);
  expect(await exports.renew([quick])).toEqual([quick]);
  await quick.storeChunk(Buffer.from('quick'), 0, 1);
  await quick.finish({ records: 1, bytes: 5, hours: 1 }, async () => undefined);
  const ready = (await exports.readById(id))!;
  expect(String(await exports.readChunk(ready, 0))).toBe('quick');
  await client.query('update privacy_export_chunks set position = 1 where export_id = $1', [id]);
  await expect(exports.readChunk(ready, 1)).rejects.toThrow();
  await exports.remove(user, user);
  expect(await exports.renew([quick])).toEqual([]);
});

test('an export of 40,000 records with 64 MB starts over after its worker is killed, and needs a heap of 64 MB', {
  timeout: 600_000,
}, async () => {
  const ada = await person('Ada');
  await client.query(
    `insert into diaries (id, text, author)
     select lpad(to_hex(i), 24, '0'), ${TEXT}, $1 from generate_series(1, ${RECORDS}) i`,
    [ada.id],
  );
  await ada.call('GET', PATH);
  const progress = async () => (await ada.call('GET', PATH)).body.data;
  const hasBegun = async () => (await progress()).records > 1000;
  const patience = { timeout: 120_000, interval: 20 };

  const first = worker();
  await vi.waitUntil(hasBegun, patience);
  first.child.kill('SIGKILL');
  expect(await first.ended).toBe('SIGKILL');
  expect((await progress()).status).toBe('preparing');
  // The state half a minute later.
  await client.query(
    'update privacy_exports set lease_until = now() - make_interval(secs => 1), records = 0 where user_id = $1',
    [ada.id],
  );

  const second = worker();
  await vi.waitUntil(
    async () => {
      expect(second.child.exitCode, second.output()).toBeNull();
      return (await progress()).status === 'ready';
    },
    { timeout: 360_000, interval: 250 },
  );
  const files = await fetched((await finished(ada.call)).url, running);
  const ids = new Set(files['records/diaries.ndjson'].map(({ id }: { id: string }) => id));
  expect(ids.size).toBe(RECORDS);
  expect(files['records/diaries.ndjson']).toHaveLength(RECORDS);
});
