import { beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { createClient } from '../../../support/app.ts';
import {
  createPatientsDatabase,
  createValues,
  generateKey,
  getKeyId,
} from '../../../support/database/encrypted-patients.ts';

const web = { port: 0, roles: ['web' as const] };
// Each test starts several apps.
vi.setConfig({ testTimeout: 240_000 });

const database = await createPatientsDatabase();
beforeAll(async () => {
  const made = database.app([generateKey()]);
  await made.migrate({ mode: 'sync' });
  await made.close();
});
// Each test begins with no recorded keys.
beforeEach(() => database.rows('truncate patients, encryption_keys, encryption_processes, outbox'));

/** Starts and stops an app. Returns the error message if the start failed. */
async function startWith(keys: readonly string[], env: Record<string, string> = {}) {
  const app = database.app(keys, { env });
  try {
    await app.start(web);
    return 'started';
  } catch (error) {
    expect((error as Error).name).toBe('StartupError');
    return (error as Error).message;
  } finally {
    await app.close();
  }
}

const inUse = async () =>
  (await database.rows('select key_id from encryption_keys where retired_at is null order by 1')).map(
    ({ key_id }) => key_id,
  );

test('the encrypting key is recorded at the first start and must be configured from then on', async () => {
  const [old, next] = [generateKey(), generateKey()];
  expect(await startWith([old])).toBe('started');
  expect(await inUse()).toEqual([getKeyId(old)]);
  expect(await startWith([old, next])).toBe('started');
  expect(await inUse()).toEqual([getKeyId(old)]);
  expect(await startWith([next, old])).toBe('started');
  expect(await inUse()).toEqual([getKeyId(old), getKeyId(next)].sort());
  const refusal = await startWith([next]);
  expect(refusal).toContain(`key ${getKeyId(old)}, in use since`);
  expect(refusal).toContain(`which has ${getKeyId(next)}: add it after the first one`);
  expect(await startWith([old])).toContain(`key ${getKeyId(next)}, in use since`);
});

test.each([
  [
    'production',
    { NODE_ENV: 'production', DRAIN_DELAY_MS: '0', APP_URL: 'https://api.example.com', LOG_LEVEL: 'silent' },
  ],
  ['development', { NODE_ENV: 'development', LOG_LEVEL: 'silent' }],
])(
  'with none of the keys that encrypted the data, %s does not start, and the error names key ids but never keys',
  async (mode, env) => {
    const [right, wrong] = [generateKey(), generateKey()];
    await startWith([right]);
    const refusal = await startWith([wrong], env);
    expect(refusal).toContain('The encryption keys do not match those that encrypted the database');
    expect(refusal).toContain(getKeyId(right));
    for (const key of [right, wrong]) expect(refusal).not.toContain(key);
    expect(refusal.includes('npx belfry dev --fresh')).toBe(mode === 'development');
    expect(await inUse()).toEqual([getKeyId(right)]);
    expect(await startWith([right], env)).toBe('started');
  },
);

test('the canary detects a different key with the same id', async () => {
  const key = generateKey();
  await startWith([key]);
  // Not the last character: it can encode bits that are ignored.
  await database.rows(
    `update encryption_keys
        set canary = overlay(canary placing case substr(canary, length(canary) - 4, 1) when 'A' then 'B' else 'A' end from length(canary) - 4)`,
  );
  expect(await startWith([key])).toContain(
    `key ${getKeyId(key)} of SVC_ENCRYPTION_KEYS has the same id as the key that encrypted the data`,
  );
});

test('of instances that start concurrently with different keys on an empty database, exactly one starts', async () => {
  const keys = [generateKey(), generateKey(), generateKey()];
  const outcomes = await Promise.all(keys.map((key) => startWith([key])));
  const winner = keys[outcomes.indexOf('started')]!;
  expect(outcomes.filter((outcome) => outcome === 'started')).toHaveLength(1);
  expect(await inUse()).toEqual([getKeyId(winner)]);
  expect(await startWith([winner])).toBe('started');
});

test('ten instances that start concurrently with the same keys all start', async () => {
  const keys = [generateKey(), generateKey()];
  const outcomes = await Promise.all(Array.from({ length: 10 }, () => startWith(keys)));
  expect(new Set(outcomes)).toEqual(new Set(['started']));
});

test('a database with encrypted values but no recorded keys is scanned for the keys of its values', async () => {
  const [old, next] = [generateKey(), generateKey()];
  const writer = database.app([old]);
  await writer.service('patient').create({ name: 'Ann', ...createValues('ann') });
  await writer.close();
  expect(await inUse()).toEqual([]);
  expect(await startWith([next])).toContain(`values are encrypted with key ${getKeyId(old)}`);
  expect(await inUse()).toEqual([]);
  expect(await startWith([next, old])).toBe('started');
  expect(await inUse()).toEqual([getKeyId(old), getKeyId(next)].sort());
});

test('a retired key may be missing, and is in use again once it is configured first', async () => {
  const [old, next] = [generateKey(), generateKey()];
  await startWith([old]);
  await startWith([next, old]);
  await database.rows('update encryption_keys set retired_at = now() where key_id = $1', [getKeyId(old)]);
  expect(await startWith([next])).toBe('started');
  expect(await startWith([old, next])).toBe('started');
  expect(await startWith([next])).toContain(`key ${getKeyId(old)}`);
});

test('a process is registered as running until it is closed', async () => {
  const keys = [generateKey(), generateKey()];
  const app = database.app(keys);
  await app.start(web);
  expect(await database.rows('select key_ids from encryption_processes')).toEqual([{ key_ids: keys.map(getKeyId) }]);
  await app.close();
  expect(await database.rows('select 1 from encryption_processes')).toEqual([]);
});

test("in a two-step roll-out, instances can read each other's values at every step", async () => {
  const [old, next] = [generateKey(), generateKey()];
  const steps = [[old], [old, next], [next, old]];
  const record = { name: 'Ann', ...createValues('ann') };
  const { pinCode: _, ...visibleValues } = record;
  for (const [before, after] of [steps.slice(0, 2), steps.slice(1)]) {
    const instances = [database.app(before!), database.app(after!)];
    const calls = [];
    for (const app of instances) calls.push(createClient((await app.start(web)).url));
    for (const writer of calls) {
      const { id } = (await writer('POST', '/api/patients', record)).body.data;
      for (const reader of calls) {
        expect((await reader('GET', `/api/patients/${id}`)).body.data).toMatchObject(visibleValues);
        expect((await reader('PATCH', `/api/patients/${id}`, { string: 'changed' })).status).toBe(200);
        await reader('PATCH', `/api/patients/${id}`, { string: record.string });
      }
    }
    for (const app of instances) await app.close();
  }
});

test('an instance that lacks a key responds 500 for values under it, reveals neither text, and serves everything else', async () => {
  const [old, next] = [generateKey(), generateKey()];
  const [behind, ahead] = [database.app([old]), database.app([next, old])];
  const [call, callAhead] = [createClient((await behind.start(web)).url), createClient((await ahead.start(web)).url)];
  const record = { name: 'Ann', ...createValues('mark of ann'), email: 'ann@example.com', url: 'https://example.com/' };
  const { id: known } = (await call('POST', '/api/patients', record)).body.data;
  const { id } = (await callAhead('POST', '/api/patients', record)).body.data;

  for (const path of [`/api/patients/${id}`, '/api/patients']) {
    const response = await call('GET', path);
    expect(response.status).toBe(500);
    expect(response.body.error).toMatchObject({ code: 'INTERNAL', message: 'Something went wrong' });
    expect(JSON.stringify(response.body)).not.toMatch(/mark of ann|v1\.|ann@/);
  }
  expect((await call('GET', `/api/patients/${known}`)).status).toBe(200);
  expect((await callAhead('GET', `/api/patients/${known}`)).status).toBe(200);
  await Promise.all([behind.close(), ahead.close()]);
  expect(await startWith([old])).toContain(`key ${getKeyId(next)}`);
});

test('a running process logs once that other processes encrypt with a key that it lacks', async () => {
  const [old, next] = [generateKey(), generateKey()];
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const logLines: string[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    logLines.push(String(chunk));
    return true;
  });
  try {
    const behind = database.app([old], { env: { LOG_LEVEL: 'error' } });
    await behind.start({ roles: [] });
    await startWith([next, old]);
    vi.advanceTimersByTime(15_000);
    vi.advanceTimersByTime(15_000);
    await behind.close();
  } finally {
    write.mockRestore();
    vi.useRealTimers();
  }
  expect(logLines.filter((line) => line.includes('missing from SVC_ENCRYPTION_KEYS of this process'))).toHaveLength(1);
});
