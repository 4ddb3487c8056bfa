import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { createAllExtensions, createFrameworkApp } from '../../scripts/framework-app.ts';
import { hashDeviceToken } from '../../src/accounts/devices/token.ts';
import { app } from '../../src/app/index.ts';
import { comment } from '../../src/app/resources/comment.ts';
import { post } from '../../src/app/resources/post.ts';
import { user } from '../../src/app/resources/user.ts';
import { keepFrameworkParts, readFrameworkSnapshot } from '../../src/cli/migration/framework.ts';
import { readDatabase } from '../../src/cli/migration/read-database.ts';
import { createApp } from '../../src/index.ts';
import { takeSnapshot } from '../../src/runtime/migrations/plan/snapshot.ts';
import { readMigrations } from '../../src/runtime/migrations/read-migrations.ts';
import {
  applyEarlierMigrations,
  createEmptyDatabase,
  EARLIER_MIGRATIONS,
  migrateAndClose,
} from '../support/database/earlier-databases.ts';
import { withoutResourcesOfApp } from '../support/database/framework-extensions.ts';
import { readSchema, removeFieldDefaults } from '../support/database/read-schema.ts';

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

/** Brings an empty database to the state in which earlier versions of the first migration left it. */
function applyEarlier(query: Parameters<typeof applyEarlierMigrations>[0], files: string[]): Promise<void> {
  const migrations = files.map((file) => ({
    file: join(EARLIER_MIGRATIONS, `${file}.sql`),
    when: Number.parseInt(file, 10),
  }));
  return applyEarlierMigrations(query, migrations);
}

test("migrations/belfry creates Belfry's own tables as they are declared", () => {
  const { tables, declared } = createFrameworkApp();
  const next = keepFrameworkParts(takeSnapshot(tables, declared), declared);
  const made = readFrameworkSnapshot();
  expect(Object.keys(next.tables).length).toBeGreaterThan(30);
  const behind = Object.entries(next.tables).filter(([key, table]) => !isDeepStrictEqual(made.tables[key], table));
  expect(
    behind.map(([key]) => key),
    'run npm run migration:generate -- --framework <name>',
  ).toEqual([]);
  expect(made.belfry?.statements).toEqual(next.belfry?.statements);
});

test('the migrations of this repository and sync create the same schema', async () => {
  const [migrated, synced] = [await createEmptyDatabase(), await createEmptyDatabase()];
  await migrateAndClose(app(migrated.env), 'migrations');
  // Migrations create the tables of all extensions, sync those of the declared ones.
  const extensions = createAllExtensions();
  // The fields that some extensions add to users are columns of the app's own table, and the resources that others add are resources of the app: both are
  // part of the app's migrations.
  const withUserFields = createApp({ resources: [user, post, comment], extensions }, synced.env);
  const ofExtensions = Object.keys(withUserFields.tables.users!).filter(
    (name) => !(name in app(synced.env).tables.users!),
  );
  await withUserFields.close();
  expect(ofExtensions).toEqual(['emailVerifiedAt']);
  const everything = createApp(
    { resources: [user, post, comment], extensions: extensions.map(withoutResourcesOfApp) },
    synced.env,
  );
  await everything.migrate({ mode: 'sync' }).finally(() => everything.close());
  expect(await readSchema(migrated)).toEqual(removeFieldDefaults(await readSchema(synced)));
});

test.each(['apply', 'sync'] as const)(
  'a default partition has an index on the column by which old rows are deleted (%s)',
  async (mode) => {
    const { env, query } = await createEmptyDatabase();
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
    const [fresh, earlier] = [await createEmptyDatabase(), await createEmptyDatabase()];
    await migrateAndClose(app(fresh.env), 'migrations');
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
      '',
      expect.stringMatching(/^Pending: \d+\. Apply with: npx belfry migrate$/),
    ]);
    const applied = await migrateAndClose(app(earlier.env), 'migrations');
    expect(applied[0]).toBe('belfry/0000_upgrade_earlier_versions applied');
    expect(await readSchema(earlier)).toEqual(await readSchema(fresh));
    expect(await earlier.query('select id from webhook_deliveries')).toEqual([{ id: 'd' }]);
    expect(await migrateAndClose(app(earlier.env), 'migrations')).toEqual([]);
  },
);

test('a device token registered on two platforms stays with the device seen last', async () => {
  const { env, query } = await createEmptyDatabase();
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
  await migrateAndClose(app(env), 'migrations');
  const kept = await query('select id, token, token_hash from devices order by id');
  expect(kept.map(({ id }) => id)).toEqual(['browser', 'newer', 'simulated', 'single']);
  for (const { token, token_hash } of kept) expect(token_hash).toBe(hashDeviceToken(token));
});
