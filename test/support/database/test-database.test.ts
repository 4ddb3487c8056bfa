import { Redis } from 'ioredis';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { createApp, defineResource, defineUser, f } from '../../../src/index.ts';
import { findAssembly } from '../../../src/runtime/create-app.ts';
import { createTestDatabase, planTestDatabase } from './test-database.ts';

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

test('two test databases are isolated from each other, and both have pg_trgm', async () => {
  const [first, second] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  const [one, two] = await Promise.all([connect(first.databaseUrl), connect(second.databaseUrl)]);
  await one.query('create table only_here (id int)');
  const { rows } = await two.query(`select to_regclass('only_here') as found, similarity('abc', 'abc') as alike`);
  expect(rows).toEqual([{ found: null, alike: 1 }]);
  await Promise.all([one.end(), two.end()]);
  await Promise.all([first.drop(), second.drop()]);
  await expect(connect(first.databaseUrl)).rejects.toThrow('does not exist');
});

test('drop removes the Redis keys of its own prefix and no others', async () => {
  const [mine, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  const redis = new Redis(mine.redisUrl);
  await redis.mset(`${mine.redisPrefix}:a`, '1', `{${mine.redisPrefix}}:b`, '1', `${other.redisPrefix}:a`, '1');
  await mine.drop();
  expect(await redis.exists(`${mine.redisPrefix}:a`, `{${mine.redisPrefix}}:b`)).toBe(0);
  expect(await redis.exists(`${other.redisPrefix}:a`)).toBe(1);
  redis.disconnect();
  await other.drop();
});

test('apps with the same tables, started at the same time and later, get a database with these tables each', async () => {
  const onlyHere = defineResource('onlyInThisTest', { fields: { name: f.string() } });
  const create = async () => {
    const database = planTestDatabase();
    const env = { NODE_ENV: 'test', DATABASE_URL: database.databaseUrl, REDIS_URL: database.redisUrl };
    const app = createApp({ resources: [defineUser(), onlyHere] }, env);
    await database.createWithTables(findAssembly(app)!);
    onTestFinished(async () => {
      await app.close();
      await database.drop();
    });
    return app;
  };
  const apps = [...(await Promise.all([create(), create(), create()])), await create()];
  for (const [i, app] of apps.entries()) {
    await app.service(onlyHere).create({ name: `record ${i}` });
    const { data } = await app.service(onlyHere).list({});
    expect(data.map(({ name }) => name)).toEqual([`record ${i}`]);
  }
});

// The sessions of a pooler end with the pool of the database, so that none of them is left.
test.skipIf(process.env.TEST_POOLER_URL)(
  'drop names the sessions that are still connected, and removes the database anyway',
  async () => {
    const database = await createTestDatabase();
    const left = await connect(database.databaseUrl);
    await left.query('select 42 as forgotten');
    await expect(database.drop()).rejects.toThrow(/1 sessions were still connected[\s\S]*select 42 as forgotten/);
    await expect(connect(database.databaseUrl)).rejects.toThrow('does not exist');
  },
);
