import { setTimeout } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { defineExtension, verifyWebhook } from '../../../../../src/index.ts';
import { createKeyring } from '../../../../../src/platform/data/crypto/keyring.ts';
import type { RotationProgress } from '../../../../../src/platform/data/crypto/rotation/rotate.ts';
import { pgTable, text } from '../../../../../src/platform/data/postgres/drizzle.ts';
import { startReceiver } from '../../../../fakes/receiver.ts';
import { createClient } from '../../../../support/app.ts';
import {
  createEncryptedDatabase,
  createPatientsDatabase,
  createValues,
  ENCRYPTED_COLUMNS,
  generateKey,
  getKeyId,
  insertPatients,
} from '../../../../support/database/encrypted-patients.ts';

const web = { port: 0, roles: ['web' as const] };
// Tests create thousands of rows or start half a dozen apps.
vi.setConfig({ testTimeout: 240_000 });

test('all encrypted field types, endpoint secrets and pending events are rotated to the newest key; nothing else changes', async () => {
  const { old, next, writer, app, rows, keyIdsOf } = await createEncryptedDatabase();
  const { url } = await writer.start(web);
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const account = { name: 'Ada', email: 'ada@example.com', password: 'a bell rings at noon' };
  const { token } = (await createClient(url)('POST', '/api/auth/register', account)).body.data;
  const ada = createClient(url, token);
  const endpoint = (await ada('POST', '/api/webhooks', { url: receiver.url, events: ['patient.*'] })).body.data;
  // Messages are still signed with the first secret, which has its own column.
  for (let i = 0; i < 2; i++)
    expect((await ada('POST', `/api/webhooks/${endpoint.id}/rotate-secret`)).status).toBe(200);
  const record = { name: 'Ann', ...createValues('ann'), email: 'ann@example.com' };
  const { id } = (await ada('POST', '/api/patients', record)).body.data;
  await ada('PATCH', `/api/patients/${id}`, { name: 'Anna' });
  await ada('POST', '/api/patients', { name: 'nothing to encrypt' });
  await writer.close();

  const plain = `to_jsonb(p) - $1::text[]`;
  const others = () => rows(`select ${plain} as row from patients p order by id`, [ENCRYPTED_COLUMNS]);
  const events = () =>
    rows(
      `select to_jsonb(o) - 'payload' as row, (payload->'record') - $1::text[] as record, (payload->'previous') - $1::text[] as previous
       from outbox o order by id`,
      [ENCRYPTED_COLUMNS],
    );
  const before = [await others(), await events()];
  expect(await keyIdsOf('patients', ENCRYPTED_COLUMNS)).toEqual([getKeyId(old)]);

  const rotation = await app([next, old]).encryption.rotate();
  expect(rotation).toEqual({
    keyId: getKeyId(next),
    rotated: 14 + 3 + 3 * 14,
    givenUp: 0,
    undecryptable: [],
    left: 0,
    stopped: false,
    busy: [],
    removable: [getKeyId(old)],
  });
  expect([await others(), await events()]).toEqual(before);
  expect(await keyIdsOf('patients', ENCRYPTED_COLUMNS)).toEqual([getKeyId(next)]);
  expect(await keyIdsOf('webhook_endpoints', ['secret', 'previous_secret', 'older_secret'])).toEqual([getKeyId(next)]);
  const payloads = await rows('select payload::text as text from outbox');
  for (const { text } of payloads) expect(text).not.toContain(`v1.${getKeyId(old)}.`);

  const after = app([next]);
  const restarted = createClient((await after.start({ port: 0 })).url, token);
  const { pinCode, ...visibleValues } = record;
  expect((await restarted('GET', `/api/patients/${id}`)).body.data).toMatchObject({ ...visibleValues, name: 'Anna' });
  expect(await after.service('patient').read(id)).toMatchObject({ pinCode });
  const delivered = await receiver.received(3);
  const bodies = delivered.map((one) => verifyWebhook(endpoint.secret, one.headers, one.body)) as { data: unknown }[];
  expect(bodies.map(({ data }) => data)).toContainEqual(expect.objectContaining({ ...visibleValues, name: 'Anna' }));
});

test('5,000 records are rotated during concurrent writes: no write is lost, all are readable, nothing else changes', async () => {
  const database = await createEncryptedDatabase();
  const { next, old, app, rows, keyIdsOf } = database;
  const expected = await insertPatients(database, 5000);
  const ids = [...expected.keys()];
  const running = app([next, old]);
  await running.start(web);
  const patients = running.service('patient');
  let done = false;
  const touched = new Set<string>();
  let front = 0;
  // Each writer has its own records, and writes those that the rotation has reached: a writer must find its last value when it returns.
  const writers = Array.from({ length: 4 }, async (_, n) => {
    for (let turn = 0; !done; turn++) {
      const id = ids[((Math.floor(front / 4) + ((turn * 7) % 125)) % 1250) * 4 + n]!;
      const string = `written ${n} ${turn}`;
      expect((await patients.read(id)).string).toBe(expected.get(id));
      await patients.update(id, { string });
      expected.set(id, string);
      touched.add(id);
      // Without a pause the writers would use more CPU time than the rotation.
      await setTimeout(5);
    }
  });
  const progress: RotationProgress[] = [];
  const onProgress = (one: RotationProgress) => {
    progress.push(one);
    // Each record has three values.
    if (one.table === 'patients') front = one.done / 3;
  };
  const rotating = app([next, old]).encryption.rotate({ onProgress });
  const { rotated, left, undecryptable, removable } = await rotating.finally(() => {
    done = true;
  });
  await Promise.all(writers);

  expect({ left, undecryptable, removable }).toEqual({ left: 0, undecryptable: [], removable: [getKeyId(old)] });
  expect(rotated).toBeGreaterThan(10_000);
  expect(touched.size).toBeGreaterThan(20);
  expect(progress.at(0)).toMatchObject({ table: 'patients', done: expect.any(Number) });
  for (const { done: at, total } of progress) expect(at).toBeLessThanOrEqual(total);
  expect(await keyIdsOf('patients', ['string', 'text', 'array'])).toEqual([getKeyId(next)]);
  const reader = app([next]).service('patient');
  let readable = 0;
  for await (const { id, string, text, array } of reader.each({})) {
    const i = Number.parseInt(id, 16);
    expect({ string, text, array }).toEqual({ string: expected.get(id), text: 'x'.repeat(i % 3000), array: [`a${i}`] });
    readable += 1;
  }
  expect(readable).toBe(5000);
  const [{ count }] = await rows(`select count(*)::int as count from patients where updated_at <> '2020-01-01'`);
  expect(count).toBe(touched.size);
});

test('two concurrent rotations re-encrypt each value once and end with everything under the newest key', async () => {
  const database = await createEncryptedDatabase();
  const { next, old, app, keyIdsOf } = database;
  const expected = await insertPatients(database, 1500);
  const both = await Promise.all([app([next, old]), app([next, old])].map((one) => one.encryption.rotate()));
  for (const { left, undecryptable } of both) expect({ left, undecryptable }).toEqual({ left: 0, undecryptable: [] });
  expect(both[0]!.rotated + both[1]!.rotated).toBe(4500);
  expect(await keyIdsOf('patients', ['string', 'text', 'array'])).toEqual([getKeyId(next)]);
  const [id, string] = [...expected].at(-1)!;
  expect(await app([next]).service('patient').read(id)).toMatchObject({ string });
  expect((await app([next, old]).encryption.rotate()).rotated).toBe(0);
});

test('an aborted rotation finishes its batch, and the next rotation continues from there', async () => {
  const database = await createEncryptedDatabase();
  const { next, old, app, rows } = database;
  await insertPatients(database, 1000);
  const stop = new AbortController();
  const one = app([next, old]);
  const first = await one.encryption.rotate({ signal: stop.signal, onProgress: () => stop.abort() });
  expect(first).toMatchObject({ stopped: true, rotated: 1500, removable: [], busy: [] });
  const [{ count }] = await rows('select count(*)::int as count from patients where string like $1', [
    `v1.${getKeyId(next)}.%`,
  ]);
  expect(count).toBe(500);
  expect(await one.encryption.rotate()).toMatchObject({ stopped: false, rotated: 1500, removable: [getKeyId(old)] });
});

test('large values are rotated in smaller batches', async () => {
  const { next, old, writer, app } = await createEncryptedDatabase();
  for (let i = 0; i < 6; i++) await writer.service('patient').create({ name: 'x', text: 'x'.repeat(900_000) });
  const sizes: number[] = [];
  let before = 0;
  const onProgress = ({ table, done }: { table: string; done: number }) => {
    if (table === 'patients') sizes.push(done - before);
    before = done;
  };
  expect(await app([next, old]).encryption.rotate({ onProgress })).toMatchObject({ left: 0, rotated: 12 });
  expect(sizes).toEqual([3, 3]);
});

test('a locked row is skipped, the concurrent write is kept, and the row is rotated afterwards', async () => {
  const database = await createEncryptedDatabase();
  const { next, old, app, rows, keyIdsOf } = database;
  const [, held] = [...(await insertPatients(database, 3)).keys()];
  const progress: number[] = [];
  await rows('begin');
  await rows('select from patients where id = $1 for update', [held]);
  const rotating = app([next, old]).encryption.rotate({ onProgress: ({ done }) => progress.push(done) });
  await expect.poll(() => progress, { timeout: 60_000 }).toContain(6);
  const string = createKeyring([old]).encrypt('"held"', `patient/string/${held}`);
  await rows('update patients set string = $2 where id = $1', [held, string]);
  await rows('commit');
  expect(await rotating).toMatchObject({ left: 0, rotated: 9 });
  expect(await app([next]).service('patient').read(held!)).toMatchObject({ string: 'held' });
  expect(await keyIdsOf('patients', ['string', 'text', 'array'])).toEqual([getKeyId(next)]);
});

test('values that do not decrypt are counted and named without their content, and the rest is rotated', async () => {
  const database = await createEncryptedDatabase();
  const { next, old, app, rows, keyIdsOf } = database;
  await insertPatients(database, 700);
  const id = (n: number) => n.toString(16).padStart(24, '0');
  await rows(`update patients set string = 'never encrypted' where id = $1`, [id(1)]);
  await rows(`update patients set string = overlay(string placing 'AAAA' from length(string) - 3) where id = $1`, [
    id(600),
  ]);
  await rows(`update patients a set text = b.text from patients b where a.id = $1 and b.id = $2`, [id(3), id(4)]);
  await rows(`update patients set text = $2 where id = $1`, [
    id(5),
    createKeyring([generateKey()]).encrypt('"x"', `patient/text/${id(5)}`),
  ]);
  const one = app([next, old]);
  const rotation = await one.encryption.rotate();
  const undecryptable = [
    { name: 'patient.string', count: 2, ids: [id(1), id(600)] },
    { name: 'patient.text', count: 2, ids: [id(3), id(5)] },
  ];
  expect(rotation).toMatchObject({ rotated: 2100 - 4, left: 0, removable: [], stopped: false });
  expect(rotation.undecryptable.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual(undecryptable);
  expect(JSON.stringify(rotation)).not.toMatch(/never|v1\./);
  expect(await keyIdsOf('patients', ['array'])).toEqual([getKeyId(next)]);

  await rows('update patients set string = null, text = null where id = any($1)', [[1, 3, 5, 600].map(id)]);
  expect(await one.encryption.rotate()).toMatchObject({ rotated: 0, undecryptable: [], removable: [getKeyId(old)] });
});

test('a lost key can be retired while events wait under it: each record is named once, and events go out without its values', async () => {
  const { old, next, writer, app, rows } = await createEncryptedDatabase();
  const { url } = await writer.start(web);
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const account = { name: 'Ada', email: 'ada@example.com', password: 'a bell rings at noon' };
  const { token } = (await createClient(url)('POST', '/api/auth/register', account)).body.data;
  const ada = createClient(url, token);
  const { id } = (await ada('POST', '/api/patients', { name: 'Ann', string: 'CH93' })).body.data;
  for (const name of ['Anna', 'Anne']) await ada('PATCH', `/api/patients/${id}`, { name });
  await writer.close();
  await rows('update patients set string = null');

  const one = app([next]);
  const kept = await one.encryption.rotate();
  expect(kept.undecryptable).toEqual([{ name: 'outbox: patient.string', count: 5, ids: [id] }]);
  const rotation = await one.encryption.rotate({ giveUp: getKeyId(old) });
  expect(rotation).toMatchObject({ rotated: 0, givenUp: 5, undecryptable: [], left: 0 });
  expect((await one.encryption.status()).values).toEqual([]);
  const [key] = await rows('select retired_at from encryption_keys where key_id = $1', [getKeyId(old)]);
  expect(key.retired_at).not.toBeNull();

  const restarted = app([next]);
  const later = createClient((await restarted.start({ port: 0 })).url, token);
  await later('POST', '/api/webhooks', { url: receiver.url, events: ['patient.*'] });
  await expect.poll(async () => rows('select error from outbox'), { timeout: 60_000 }).toEqual([]);
});

test('a configured key cannot be given up', async () => {
  const { old, next, app } = await createEncryptedDatabase();
  await expect(app([next, old]).encryption.rotate({ giveUp: getKeyId(old) })).rejects.toThrow(
    `Key ${getKeyId(old)} cannot be given up`,
  );
});

test('if no configured key decrypts the values, nothing is written and no key is recorded', async () => {
  const database = await createEncryptedDatabase();
  await insertPatients(database, 10);
  const rotation = await database.app([generateKey()]).encryption.rotate();
  expect(rotation).toMatchObject({ rotated: 0, removable: [] });
  expect(rotation.undecryptable.map(({ count }) => count)).toEqual([10, 10, 10]);
  expect(await database.rows('select 1 from encryption_keys')).toEqual([]);
});

test('an event that a relay is handling is left to the relay and the next rotation', async () => {
  const { next, old, writer, app, rows } = await createEncryptedDatabase();
  await writer.service('patient').create({ name: 'Ann', string: 'x' });
  await rows('begin');
  await rows('select from outbox for update');
  const rotating = app([next, old]).encryption.rotate();
  await expect
    .poll(async () => (await app([next, old]).encryption.status()).values)
    .toContainEqual({
      name: 'patient.string',
      keyId: getKeyId(next),
      count: 1,
    });
  await rows('delete from outbox');
  await rows('commit');
  expect(await rotating).toMatchObject({ rotated: 1, left: 0, removable: [getKeyId(old)] });
});

test('an extension declares its encrypted columns to have them rotated, whatever the name of its primary key', async () => {
  const secrets = pgTable('probe_secrets', { userId: text('user_id').primaryKey(), secret: text('secret') });
  const probe = defineExtension({
    name: 'probe',
    tables: { probe_secrets: secrets },
    setup: () => ({
      encrypted: [
        {
          name: 'probe.secret',
          table: 'probe_secrets',
          column: 'secret',
          key: 'user_id',
          context: (id) => `probe/${id}`,
        },
      ],
    }),
  });
  const database = await createPatientsDatabase(onTestFinished);
  const [old, next] = [generateKey(), generateKey()];
  const one = database.app([next, old], { extensions: [probe] });
  await one.migrate({ mode: 'sync' });
  const stored = createKeyring([old]).encrypt('very secret', 'probe/u1');
  await database.rows(`insert into probe_secrets values ('u1', $1), ('u2', null), ('u3', '')`, [stored]);
  expect((await one.encryption.status()).values).toEqual([{ name: 'probe.secret', keyId: getKeyId(old), count: 1 }]);
  expect(await one.encryption.rotate()).toMatchObject({ rotated: 1, left: 0, removable: [getKeyId(old)] });
  const [row] = await database.rows(`select secret from probe_secrets where user_id = 'u1'`);
  expect(createKeyring([next]).decrypt(row.secret, 'probe/u1')).toBe('very secret');
});

test('the status lists the keys, their use, and the number of values per column and key', async () => {
  const database = await createEncryptedDatabase();
  const { next, old, writer, app, rows } = database;
  await insertPatients(database, 20);
  await rows(`update patients set string = 'plain' where name = $1`, ['0'.repeat(24)]);
  const running = app([next, old]);
  await running.start(web);
  await running.service('patient').update('1'.padStart(24, '0'), { string: 'new' });
  const status = await writer.encryption.status();
  const at = expect.stringMatching(/^\d{4}-/);
  expect(status.keys.toSorted((a, b) => (a.place ?? 9) - (b.place ?? 9))).toEqual([
    { keyId: getKeyId(old), place: 0, firstUsedAt: at, retiredAt: undefined, processes: 0 },
    { keyId: getKeyId(next), place: undefined, firstUsedAt: at, retiredAt: undefined, processes: 1 },
  ]);
  const values = new Set(status.values.map(({ name, keyId, count }) => `${name} ${keyId} ${count}`));
  expect(values).toEqual(
    new Set([
      `patient.string ${getKeyId(old)} 18`,
      `patient.string ${getKeyId(next)} 1`,
      'patient.string null 1',
      `patient.text ${getKeyId(old)} 20`,
      `patient.array ${getKeyId(old)} 20`,
      `outbox: patient.string ${getKeyId(old)} 1`,
      `outbox: patient.string ${getKeyId(next)} 1`,
      `outbox: patient.text ${getKeyId(old)} 2`,
      `outbox: patient.array ${getKeyId(old)} 2`,
    ]),
  );
});
