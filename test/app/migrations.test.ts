import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { readLastSnapshot } from '../../src/cli/migration/files.ts';
import { generate } from '../../src/cli/migration/generate.ts';
import { readDatabase } from '../../src/cli/migration/read-database.ts';
import { hashDeviceToken } from '../../src/accounts/devices/token.ts';
import { app } from '../../src/app/index.ts';
import { apiKeys, createApp, defineResource, defineUser, f, twoFactor, webhooks } from '../../src/index.ts';
import { readMigrations } from '../../src/runtime/migrations/read-migrations.ts';
import { takeSnapshot } from '../../src/runtime/migrations/plan/snapshot.ts';
import { readSchema } from '../support/database/migration-project.ts';
import { createTestDatabase } from '../support/database/test-database.ts';

const FIXTURES = join(import.meta.dirname, '../fixtures/earlier-migrations');

// What databases out there may have: which files they were migrated by, before the first migration was frozen.
const EARLIER: [state: string, files: string[]][] = [
  ['the first version', ['1795232748335_init']],
  ['the first version and one more file', ['1795232748335_init', '1795244420960_encryption_keys']],
  [
    'the first version and all that followed it',
    [
      '1795232748335_init',
      '1795244420960_encryption_keys',
      '1795245305483_idempotency_keys',
      '1795245305484_idempotency_keys_indexes',
      '1795248375660_no_index_by_the_last_change',
    ],
  ],
  ['the second version', ['1795256472296_init']],
  ['the third version', ['1795257900609_init']],
  ['the fourth version', ['1795268476645_init']],
];

/** An empty database, and what runs on it. */
async function emptyDatabase() {
  const database = await createTestDatabase();
  const client = new pg.Client(database.databaseUrl);
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    await database.drop();
  });
  const env = {
    NODE_ENV: 'test',
    DATABASE_URL: database.databaseUrl,
    REDIS_URL: database.redisUrl,
    REDIS_PREFIX: database.redisPrefix,
  };
  // biome-ignore lint/suspicious/noExplicitAny: rows as the test knows them
  const query = async (text: string, values?: unknown[]): Promise<any[]> => (await client.query(text, values)).rows;
  return { env, query };
}

type Made = Pick<ReturnType<typeof app>, 'migrate' | 'close'>;

async function migrate(made: Made, folder: string): Promise<string[]> {
  const applied: string[] = [];
  try {
    await made.migrate({ mode: 'apply', folder, say: (line) => applied.push(line) });
  } finally {
    await made.close();
  }
  return applied;
}

/** Brings an empty database to where earlier migrations left one. */
async function applyEarlier(
  query: (text: string, values?: unknown[]) => Promise<unknown>,
  files: string[],
): Promise<void> {
  await query('create schema drizzle');
  await query(
    'create table drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)',
  );
  for (const file of files) {
    const text = readFileSync(join(FIXTURES, `${file}.sql`), 'utf8');
    for (const statement of text.split('--> statement-breakpoint')) await query(statement);
    const values = [`hash of ${file}`, Number.parseInt(file, 10)];
    await query('insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, $2)', values);
  }
}

test("migrations/belfry creates Belfry's own tables as they are declared", async () => {
  const { tables, declared } = app({
    NODE_ENV: 'test',
    DATABASE_URL: 'postgres://none/none',
    REDIS_URL: 'redis://none',
  });
  const next = takeSnapshot(tables, declared);
  const own = Object.entries(next.tables).filter(([, { name }]) => !declared.tables.has(name));
  const made = readLastSnapshot('migrations/belfry')!.tables;
  expect(own.length).toBeGreaterThan(10);
  const behind = own.filter(([key, table]) => !isDeepStrictEqual(made[key], table)).map(([key]) => key);
  expect(behind, 'run npm run migration:generate -- --framework <name>').toEqual([]);
});

test('migrations and sync create tables with the same storage parameters', async () => {
  const parameters = await Promise.all(
    (['apply', 'sync'] as const).map(async (mode) => {
      const { env, query } = await emptyDatabase();
      const made = app(env);
      await made
        .migrate(mode === 'apply' ? { mode, folder: 'migrations' } : { mode, mayDrop: 'empty' })
        .finally(() => made.close());
      return query(`
        select relname, (select array_agg(one order by one) from unnest(reloptions) one) as parameters
        from pg_class where reloptions is not null and relkind = 'r' and relnamespace = 'public'::regnamespace order by relname`);
    }),
  );
  expect(parameters[0]!.map(({ relname }) => relname)).toEqual([
    'outbox',
    'push_results',
    'webhook_deliveries',
    'webhook_turns',
  ]);
  expect(parameters[1]).toEqual(parameters[0]);
});

test.each(['apply', 'sync'] as const)(
  'a default partition has an index on the column by which old rows are deleted (%s)',
  async (mode) => {
    const { env, query } = await emptyDatabase();
    const made = app(env);
    await made
      .migrate(mode === 'apply' ? { mode, folder: 'migrations' } : { mode, mayDrop: 'empty' })
      .finally(() => made.close());
    const columns = await query(`
    select i.indrelid::regclass::text as partition, a.attname as column, count(*)::int as indexes from pg_index i
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where i.indpred is null and i.indrelid = 'webhook_delivery_log_default'::regclass and a.attname = 'finished_at'
    group by 1, 2 order by 1`);
    expect(columns).toEqual([{ partition: 'webhook_delivery_log_default', column: 'finished_at', indexes: 1 }]);
    // No other partition has that index.
    expect(
      await query(
        `select inhparent from pg_inherits where inhrelid = 'webhook_delivery_log_default_finished_at_index'::regclass`,
      ),
    ).toEqual([]);
  },
);

test.each(EARLIER)(
  'a database created by %s of the first migration can be upgraded and keeps its rows',
  async (_, files) => {
    const [fresh, earlier] = [await emptyDatabase(), await emptyDatabase()];
    await migrate(app(fresh.env), 'migrations');
    await applyEarlier(earlier.query, files);
    await earlier.query(
      `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body) values ('d', 'e', 'v', 'm', 't', '{}')`,
    );
    await earlier.query(`insert into pushes (id, message, status) values ('p', '{}', 'sent')`).catch(() => undefined);
    expect(await readDatabase(earlier.env.DATABASE_URL, 'migrations', 'status')).toEqual([
      'applied  0000_init',
      expect.stringMatching(/^pending {2}belfry\/0000_upgrade_earlier_versions$/),
      ...readMigrations('migrations')
        .slice(2)
        .map(({ name }) => `pending  ${name}`),
    ]);
    const applied = await migrate(app(earlier.env), 'migrations');
    expect(applied[0]).toBe('belfry/0000_upgrade_earlier_versions applied');
    expect(await readSchema(earlier)).toEqual(await readSchema(fresh));
    expect(await earlier.query('select id from webhook_deliveries')).toEqual([{ id: 'd' }]);
    expect(await migrate(app(earlier.env), 'migrations')).toEqual([]);
  },
);

test('a device token registered on two platforms stays with the device seen last', async () => {
  const { env, query } = await emptyDatabase();
  await applyEarlier(query, ['1795268476645_init']);
  const browser = (auth: string) =>
    JSON.stringify({ endpoint: 'https://push.example.com/1', keys: { p256dh: 'k', auth } });
  const devices: [id: string, platform: string, token: string, seen: string][] = [
    ['older', 'ios', 'one', '2026-01-01'],
    ['newer', 'android', 'one', '2026-02-01'],
    ['single', 'android', 'two', '2026-01-01'],
    ['browser', 'web', browser('a'), '2026-02-01'],
    ['same-browser', 'web', browser('b'), '2026-01-01'],
    ['simulated', 'web', 'sim_1', '2026-01-01'],
  ];
  for (const [id, platform, token, seen] of devices)
    await query(
      `insert into devices (id, user_id, token, token_hash, platform, last_seen_at) values ($1, 'u', $2, $1, $3, $4)`,
      [id, token, platform, seen],
    );
  await migrate(app(env), 'migrations');
  const kept = await query('select id, token, token_hash from devices order by id');
  expect(kept.map(({ id }) => id)).toEqual(['browser', 'newer', 'simulated', 'single']);
  for (const { token, token_hash } of kept) expect(token_hash).toBe(hashDeviceToken(token));
});

test('a fork of an earlier version, with resources of its own, merges and upgrades by the documented commands', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'belfry-fork-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { env, query } = await emptyDatabase();
  const ticket = defineResource('ticket', { fields: { title: f.string().required().max(200).sortable() } });
  const fork = () =>
    createApp({ resources: [defineUser(), ticket], extensions: [webhooks(), apiKeys(), twoFactor()] }, env);
  const json = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
  const write = (file: string, value: unknown) => writeFileSync(join(folder, file), JSON.stringify(value, null, 2));
  const generating = async (...args: string[]) => {
    const made = fork();
    const outcome = await generate(made, folder, args, undefined);
    await made.close();
    return outcome;
  };

  // What the fork generated at that time: its own tables come and the samples go, while Belfry's tables stay as they were then.
  cpSync('migrations', folder, { recursive: true });
  expect(await generating('tickets', '--allow-loss')).toMatchObject({ ok: true });
  rmSync(join(folder, 'belfry'), { recursive: true });
  cpSync(join(FIXTURES, '1795268476645_init.sql'), join(folder, '0000_init.sql'));
  const former = json('migrations/meta/0000_snapshot.json');
  delete former.tables['public.webhook_deliveries'].columns.subject_id;
  write('meta/0000_snapshot.json', former);
  const generated = json(join(folder, 'meta/0001_snapshot.json'));
  const isSample = (key: string) => Object.hasOwn(former.belfry.resources, key.replace('public.', ''));
  const stale = Object.entries(former.tables).filter(([key]) => !isSample(key));
  write('meta/0001_snapshot.json', {
    ...generated,
    tables: { ...generated.tables, ...Object.fromEntries(stale) },
  });
  const journal = json(join(folder, 'meta/_journal.json'));
  const [init, own] = journal.entries;
  write('meta/_journal.json', { ...journal, entries: [{ ...init, when: 1795269702409 }, own] });
  expect(await migrate(fork(), folder)).toEqual(['0000_init applied', '0001_tickets applied']);
  await query(`insert into tickets (id, title, created_at, updated_at) values ('t', 'Kept', now(), now())`);

  // The merge: what is Belfry's comes from Belfry, the journal names the migrations of both.
  for (const name of ['belfry', '0000_init.sql', 'meta/0000_snapshot.json']) {
    cpSync(join('migrations', name), join(folder, name), { recursive: true });
  }
  write('meta/_journal.json', { ...journal, entries: [init, own] });
  const framework = readMigrations(folder).filter(({ name }) => name.startsWith('belfry/'));
  expect(await generating('--check')).toMatchObject({ ok: true });
  expect((await migrate(fork(), folder)).toSorted()).toEqual(framework.map(({ name }) => `${name} applied`).toSorted());
  expect(await query('select title from tickets')).toEqual([{ title: 'Kept' }]);
  const fresh = await emptyDatabase();
  const made = createApp({ resources: [] }, fresh.env);
  await migrate(made, folder);
  expect(await readSchema({ query })).toEqual(await readSchema(fresh));
});
