import { expect, test, vi } from 'vitest';
import { createEncryptedDatabase, getKeyId, insertPatients } from '../../../support/database/encrypted-patients.ts';

const web = { port: 0, roles: ['web' as const] };
// Each test creates a database and starts several apps.
vi.setConfig({ testTimeout: 240_000 });

test('a process that lacks the newest key stops a rotation before it changes anything', async () => {
  const database = await createEncryptedDatabase();
  const { next, old, app, keyIdsOf } = database;
  await insertPatients(database, 10);
  const behind = app([old]);
  await behind.start(web);
  const rotating = app([next, old]);
  await expect(rotating.encryption.rotate()).rejects.toThrow(
    `Key ${getKeyId(next)} is not available in every running process yet:\n  - 1 process does not have it`,
  );
  expect(await keyIdsOf('patients', ['string'])).toEqual([getKeyId(old)]);
  await behind.close();
  expect(await rotating.encryption.rotate()).toMatchObject({ rotated: 30, removable: [getKeyId(old)] });
});

test('an old key is not retired while a process still encrypts with it', async () => {
  const database = await createEncryptedDatabase();
  const { next, old, app } = database;
  await insertPatients(database, 10);
  const slow = app([old, next]);
  await slow.start(web);
  const rotating = app([next, old]);
  const kept = { busy: [{ keyId: getKeyId(old), processes: 1 }], removable: [] };
  expect(await rotating.encryption.rotate()).toMatchObject({ rotated: 30, left: 0, ...kept });
  await slow.service('patient').create({ name: 'late', string: 'late' });
  await slow.close();
  // One value in the record and one in its event.
  expect(await rotating.encryption.rotate()).toMatchObject({ rotated: 2, busy: [], removable: [getKeyId(old)] });
});

test('a lost key is retired and no longer required once no value is encrypted with it', async () => {
  const database = await createEncryptedDatabase();
  const { next, old, app, rows } = database;
  await insertPatients(database, 10);
  const before = app([old]);
  await before.start(web);
  await before.close();
  const without = app([next]);
  await expect(without.start(web)).rejects.toThrow(`key ${getKeyId(old)}`);
  expect((await without.encryption.rotate()).undecryptable).toHaveLength(3);
  await expect(without.start(web)).rejects.toThrow(`key ${getKeyId(old)}`);
  await rows('update patients set string = null, text = null, "array" = null');
  expect(await without.encryption.rotate()).toMatchObject({ rotated: 0, undecryptable: [], removable: [] });
  await without.start(web);
});

test('a killed process counts as running for one minute', async () => {
  const database = await createEncryptedDatabase();
  const { next, old, app, rows } = database;
  await insertPatients(database, 10);
  const values = ['killed', [getKeyId(old)], 59];
  await rows(`insert into encryption_processes values ($1, $2, now() - $3 * interval '1 second')`, values);
  const rotating = app([next, old]);
  await expect(rotating.encryption.rotate()).rejects.toThrow('1 process does not have it');
  await rows(`update encryption_processes set seen_at = now() - interval '61 seconds'`);
  expect(await rotating.encryption.rotate()).toMatchObject({ rotated: 30, busy: [], removable: [getKeyId(old)] });
});

test('an old key is not retired if a process started, encrypted with it and stopped while the values were counted', async () => {
  const database = await createEncryptedDatabase();
  const { next, old, app, rows, keyIdsOf } = database;
  await insertPatients(database, 10);
  const rotating = app([next, old]);
  await rotating.encryption.rotate();
  await rows('update encryption_keys set retired_at = null');
  await rows('begin');
  await rows('lock table webhook_endpoints');
  const counting = rotating.encryption.rotate();
  const waiting = `select 1 from pg_locks where relation = 'webhook_endpoints'::regclass and not granted`;
  await expect.poll(() => rows(waiting)).toHaveLength(1);
  const slow = app([old, next]);
  await slow.start(web);
  await slow.service('patient').create({ name: 'missed', string: 'missed' });
  await slow.close();
  await rows('delete from outbox');
  await rows('commit');
  expect(await counting).toMatchObject({ rotated: 0, left: 0, busy: [], removable: [] });
  expect(await keyIdsOf('patients', ['string'])).toEqual([getKeyId(old), getKeyId(next)].sort());
  expect(await rotating.encryption.rotate()).toMatchObject({ rotated: 1, removable: [getKeyId(old)] });
});
