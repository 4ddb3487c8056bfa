import { createHash, randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, onTestFinished } from 'vitest';
import type { Extension } from '../../../src/declare/extension.ts';
import { createApp, defineResource, defineUser, f, webhooks } from '../../../src/index.ts';
import { createKeyring } from '../../../src/platform/data/crypto/keyring.ts';
import { createTestDatabase } from './test-database.ts';

/** Creates a new encryption key. */
export const generateKey = () => randomBytes(32).toString('base64');

/** The key id in ciphertexts that were encrypted with a key. */
export const getKeyId = (key: string) =>
  createHash('sha256').update(Buffer.from(key, 'base64')).digest('hex').slice(0, 8);

/** A resource with an encrypted field of every type that can be encrypted. */
const patient = defineResource('patient', {
  fields: {
    name: f.string().required(),
    string: f.string().encrypted(),
    text: f.text().encrypted(),
    email: f.email().encrypted(),
    url: f.url().encrypted(),
    number: f.number().encrypted(),
    integer: f.integer().encrypted(),
    boolean: f.boolean().encrypted(),
    date: f.date().encrypted(),
    enum: f.enum(['a', 'b']).encrypted(),
    array: f.array(f.string()).encrypted(),
    objects: f.array(f.object({ at: f.date(), n: f.number() })).encrypted(),
    object: f.object({ inner: f.string(), list: f.array(f.integer()) }).encrypted(),
    json: f.json().encrypted(),
    pinCode: f.string().encrypted().writeOnly(),
  },
  policies: { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' },
});

/** A value for every encrypted field; `mark` is in each value that can hold text. */
export const createValues = (mark: string) => ({
  string: `${mark} s`,
  text: `${mark}\n💚 "\\`,
  email: `${mark}@example.com`,
  url: `https://example.com/${mark}`,
  number: -1.5e-7,
  integer: 9_007_199_254_740_991,
  boolean: false,
  date: '2026-01-01T00:00:00.123Z',
  enum: 'b' as const,
  array: [mark, ''],
  objects: [{ at: '2026-01-01T00:00:00.000Z', n: 0 }, {}],
  object: { inner: mark, list: [1, 2] },
  json: { [mark]: [null, 1, { deep: mark }] },
  pinCode: `${mark} pin`,
});

/** The columns of the encrypted fields. */
export const ENCRYPTED_COLUMNS = Object.keys(createValues('')).map((name) => (name === 'pinCode' ? 'pin_code' : name));

/**
 * Creates a database for a test file, and apps on it with different encryption keys.
 *
 * @param atEnd registers the clean-up; pass `onTestFinished` for the database of one test
 */
export async function createPatientsDatabase(atEnd: (clean: () => Promise<void>) => void = afterAll) {
  const database = await createTestDatabase();
  const openApps: { close(): Promise<void> }[] = [];
  const client = new Client(database.databaseUrl);
  await client.connect();
  const env = {
    NODE_ENV: 'test',
    DATABASE_URL: database.databaseUrl,
    REDIS_URL: database.redisUrl,
    REDIS_PREFIX: database.redisPrefix,
  };
  atEnd(async () => {
    for (const app of openApps) await app.close();
    await client.end();
    await database.drop();
  });
  return {
    env,
    /** Returns the rows of a query. */
    rows: async (sql: string, values: unknown[] = []) => (await client.query(sql, values)).rows,
    /** Creates an app with these keys, newest first, without starting it. */
    app(keys: readonly string[], appOptions: { extensions?: Extension[]; env?: Record<string, string> } = {}) {
      const app = createApp(
        {
          resources: [defineUser(), patient],
          extensions: [webhooks(), ...(appOptions.extensions ?? [])],
          settings: { auth: { password: { logN: 4, r: 8, p: 1 } } },
        },
        { ...env, SVC_ENCRYPTION_KEYS: keys.join(','), ...appOptions.env },
      );
      openApps.push(app);
      return app;
    },
  };
}

/** A database with tables and two keys, in which everything is encrypted with the older key. */
export async function createEncryptedDatabase() {
  const database = await createPatientsDatabase(onTestFinished);
  const [oldKey, newKey] = [generateKey(), generateKey()];
  const writer = database.app([oldKey]);
  await writer.migrate({ mode: 'sync' });
  const keyIdsOf = async (table: string, columns: readonly string[]) => {
    const heads = columns.map(
      (column) => `select split_part("${column}", '.', 2) as id from ${table} where "${column}" <> ''`,
    );
    const found = await database.rows(`select distinct id from (${heads.join(' union all ')}) all_of order by 1`);
    return found.map(({ id }) => id);
  };
  return { ...database, old: oldKey, next: newKey, writer, keyIdsOf };
}

type EncryptedDatabase = Awaited<ReturnType<typeof createEncryptedDatabase>>;

/** Inserts many patients directly into the table; returns their ids and the values of `string`. */
export async function insertPatients(
  { rows, old: oldKey }: EncryptedDatabase,
  count: number,
): Promise<Map<string, string>> {
  const ring = createKeyring([oldKey]);
  const ids = Array.from({ length: count }, (_, i) => i.toString(16).padStart(24, '0'));
  const of = (field: string, value: (i: number) => unknown) =>
    ids.map((id, i) => ring.encrypt(JSON.stringify(value(i)), `patient/${field}/${id}`));
  await rows(
    `insert into patients (id, name, string, text, "array", updated_at)
     select *, timestamptz '2020-01-01' from unnest($1::text[], $1::text[], $2::text[], $3::text[], $4::text[])`,
    [ids, of('string', (i) => `s${i}`), of('text', (i) => 'x'.repeat(i % 3000)), of('array', (i) => [`a${i}`])],
  );
  return new Map(ids.map((id, i) => [id, `s${i}`]));
}
