import { readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { startRedisServers, withRedis } from '../../scripts/services/redis-servers.ts';
import { createApp, defineJob, defineResource, defineUser, f, webhooks } from '../../src/index.ts';
import { warnIfLocaleIsAsciiOnly } from '../../src/platform/data/postgres/locale.ts';
import type { Logger } from '../../src/platform/observability/log.ts';
import type { App } from '../../src/runtime/create-app.ts';
import { startTestApp } from '../support/app.ts';
import { createMigrationProject } from '../support/database/migration-project.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

// Comparing tables loads drizzle-kit first, which takes long on a busy machine.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const project = await createMigrationProject(afterAll);
const { env, folder, query } = project;
const post = defineResource('post', { fields: { title: f.string() } });

/** The findings of an app, as lines: `error Postgres at … | fix`. */
async function diagnose(app: App): Promise<string[]> {
  const findings = await app.diagnose({ folder });
  return findings.map(({ level, message, fix }) => `${level} ${message}${fix === undefined ? '' : ` | ${fix}`}`);
}

/** The findings of an app with other variables that are not `ok`. */
async function findProblems(variables: Record<string, string>): Promise<string[]> {
  const app = createApp({ resources: [post] }, { ...env, ...variables });
  onTestFinished(() => app.close());
  return (await diagnose(app as App)).filter((line) => !line.startsWith('ok'));
}

const isAboutRedis = (line: string) => line.includes('Redis');

test('a project without migrations is told to generate the first one; pending ones are listed by name', async () => {
  const app = project.app(post);
  const lines = await diagnose(app);
  expect(lines).toContain(
    `error There are no migrations: ${folder} contains none. Generate the first one with npx belfry migration generate init, or restore the folder from version control`,
  );
  expect((await project.generate([post], 'init')).ok).toBe(true);
  const pending = (await diagnose(app)).filter((line) => line.startsWith('error'));
  expect(pending).toEqual([
    expect.stringMatching(
      /^error Pending migrations of Belfry: belfry\/0000_upgrade_earlier_versions, belfry\/0001_.* \| run npx belfry migrate$/,
    ),
    'error Pending migrations of the app: 0000_init | run npx belfry migrate',
  ]);
  await project.apply();
});

test('an app that can run has no errors; each check is listed', async () => {
  const lines = await diagnose(project.app(post));
  expect(lines.map((line) => line.replaceAll(/[\d.]+/g, '0'))).toEqual([
    'ok The environment is valid (NODE_ENV=test)',
    'ok Postgres at 0:0 responds (0)',
    'ok The clocks of Postgres and this machine agree',
    'ok Postgres allows 0 connections: each web process uses up to 0 of them',
    'ok All 0 migrations are applied',
    'ok The database has everything that the app declares',
    'ok Redis at 0:0 accepts writes (Redis 0)',
    'ok The clocks of Redis and this machine agree',
    'ok Redis keeps all keys when its memory is full (maxmemory-policy noeviction)',
  ]);
});

test('the share of connections is known, although Redis responds later than Postgres', async () => {
  const proxy = await startTcpProxy(new URL(env.REDIS_URL!));
  onTestFinished(proxy.close);
  const app = createApp({ resources: [post] }, { ...env, REDIS_URL: proxy.url });
  onTestFinished(() => app.close());
  proxy.hang();
  const diagnosing = diagnose(app as App);
  const limits = `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
    and state = 'idle' and query like '%encryption_processes%'`;
  await vi.waitUntil(async () => (await query(limits)).length > 0);
  proxy.reopen();
  expect(await diagnosing).toContainEqual(
    expect.stringMatching(/^ok Postgres allows \d+ connections: each web process/),
  );
});

test('a database whose locale knows only ASCII letters is a warning, here and at the start of an app that can be searched', async () => {
  const name = `${new URL(env.DATABASE_URL!).pathname.slice(1)}_c`;
  await query(`create database "${name}" template template0 encoding 'UTF8' locale_provider libc locale 'C'`);
  onTestFinished(() => query(`drop database "${name}" with (force)`).then(() => undefined));
  const DATABASE_URL = new URL(`/${name}`, env.DATABASE_URL).href;
  expect(await findProblems({ DATABASE_URL })).toContain(
    'warning The database has the locale C: searches find É and é only as they are written | create the database again with a locale that knows all letters, such as C.UTF-8 (docs/operate/deployment.md#create-the-database)',
  );
  expect((await findProblems({})).filter((line) => line.includes('locale'))).toEqual([]);
  const warnings: string[] = [];
  const log = { warn: (text: string) => void warnings.push(text) } as unknown as Logger;
  for (const connectionString of [env.DATABASE_URL, DATABASE_URL]) {
    const client = new pg.Client({ connectionString });
    await client.connect();
    const write = async ({ text }: { text: string }) => (await client.query({ text, rowMode: 'array' })).rows as never;
    await warnIfLocaleIsAsciiOnly({ write }, log).finally(() => client.end());
  }
  expect(warnings).toEqual([
    expect.stringMatching(/^the database has the locale C, so searches find É and é only as they are written; create /),
  ]);
});

test('a database that newer code has migrated is a warning', async () => {
  await query(`insert into drizzle.__drizzle_migrations (hash, created_at) values ('newer', 9999999999999)`);
  const [problem, ...more] = await findProblems({});
  await query(`delete from drizzle.__drizzle_migrations where hash = 'newer'`);
  expect(problem).toMatch(
    /^warning The database is ahead: it has 1 migration that neither this version of the app nor Belfry \S+ has \| deploy /,
  );
  expect(more).toEqual([]);
});

test('a changed migration, a missing file and a column that was dropped by hand are errors', async () => {
  const file = join(folder, '0000_init.sql');
  const text = await readFile(file, 'utf8');
  await writeFile(file, `${text}-- changed`);
  expect(await findProblems({})).toEqual([
    expect.stringMatching(
      /^error Migrations were changed after they were applied: 0000_init \| run npx belfry migrate,/,
    ),
  ]);
  await rename(file, `${file}.gone`);
  expect(await findProblems({})).toEqual([
    'error Migration files are missing: 0000_init.sql is listed in its meta/_journal.json but missing: restore it from version control',
  ]);
  await writeFile(file, text);
  await query('alter table posts rename column title to name');
  expect(await findProblems({})).toEqual([
    expect.stringMatching(
      /^error The database lacks column posts\.title \| if the declarations changed, run npx belfry/,
    ),
  ]);
  await query('alter table posts rename column name to title');
});

test('a folder of migrations that cannot be read is reported as such, not as a problem of Postgres', async () => {
  const journal = join(folder, 'meta/_journal.json');
  await rename(journal, `${journal}.moved`);
  // A file that refers to itself cannot be read, not even by root.
  await symlink('_journal.json', journal);
  onTestFinished(async () => {
    await rename(`${journal}.moved`, journal);
  });
  const problems = await findProblems({});
  expect(problems).toEqual([
    expect.stringMatching(
      /^error The migrations cannot be read: ELOOP: .* \| allow the user of the app to read the folder$/,
    ),
  ]);
});

test('a database user that may not see the migrations is a warning, and the tables are still checked', async () => {
  const role = `limited_${Date.now()}`;
  await query(`create role ${role} login password 'limited'`);
  await query(`grant select on all tables in schema public to ${role}`);
  const url = new URL(env.DATABASE_URL!);
  Object.assign(url, { username: role, password: 'limited' });
  const problems = await findProblems({ DATABASE_URL: url.href });
  await query(`drop owned by ${role}; drop role ${role}`);
  expect(problems).toEqual([
    'warning The user of the database may not see which migrations are applied: permission denied for schema drizzle | run npx belfry migration status as the user that migrates',
  ]);
});

test.each([
  [
    'a wrong password',
    (url: URL) => Object.assign(url, { password: 'wrong' }),
    /^error Postgres at \S+ refuses the connection: password authentication failed for user "\w+" \| check the user and the password in DATABASE_URL$/,
  ],
  [
    'a database that does not exist',
    (url: URL) => Object.assign(url, { pathname: '/nowhere' }),
    /^error Postgres at \S+ refuses the connection: database "nowhere" does not exist \| create the database, or check its name in DATABASE_URL$/,
  ],
  [
    'no Postgres',
    (url: URL) => Object.assign(url, { host: '127.0.0.1:1' }),
    /^error Postgres at 127\.0\.0\.1:1 cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:1 \| check DATABASE_URL, and that Postgres runs$/,
  ],
])('%s is an error that says what to do', async (_, change, expected) => {
  const url = change(new URL(env.DATABASE_URL!));
  expect(await findProblems({ DATABASE_URL: url.href })).toEqual([expect.stringMatching(expected)]);
});

test('a direct address that leads to another database is an error', async () => {
  const url = new URL(env.DATABASE_URL!);
  url.pathname = '/postgres';
  expect(await findProblems({ DATABASE_DIRECT_URL: url.href })).toEqual([
    expect.stringContaining('DATABASE_DIRECT_URL leads to another database than DATABASE_URL; set it to'),
  ]);
});

test('a read replica that cannot be reached, or that accepts writes, is a warning', async () => {
  expect(await findProblems({ DATABASE_REPLICA_URL: 'postgres://a:b@127.0.0.1:1/x' })).toEqual([
    'warning The read replica at 127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1 | check DATABASE_REPLICA_URL, and that Postgres runs',
  ]);
  expect(await findProblems({ DATABASE_REPLICA_URL: env.DATABASE_URL! })).toEqual([
    expect.stringMatching(
      /^warning The read replica at \S+ is not a replica: it accepts writes \| check DATABASE_REPLICA_URL /,
    ),
  ]);
});

test('tables that belfry dev manages need no migrations', async () => {
  const other = await createMigrationProject();
  await other.sync([post]);
  const lines = await diagnose(other.app(post));
  expect(lines).toContain('ok The tables are managed by belfry dev, not by migrations');
  expect(lines.filter((line) => !line.startsWith('ok'))).toEqual([]);
});

test('a Redis that evicts keys is a warning, and so is one whose policy cannot be read; one that is down is an error', async () => {
  const servers = await startRedisServers(2, () => [['maxmemory-policy allkeys-lru'], ['maxmemory-policy noeviction']]);
  onTestFinished(() => servers.stop());
  const [evicting, limited] = servers.ports as [number, number];
  expect((await findProblems({ REDIS_URL: `redis://127.0.0.1:${evicting}` })).filter(isAboutRedis)).toEqual([
    'warning Redis deletes keys when its memory is full (maxmemory-policy allkeys-lru): jobs would start late, and rate limits would forget clients | set maxmemory-policy noeviction (docs/operate/redis.md)',
  ]);
  await withRedis({ port: limited }, (redis) =>
    redis.call('acl', 'setuser', 'limited', 'on', '>secret', '~*', '&*', '+@all', '-info'),
  );
  const problems = await findProblems({ REDIS_URL: `redis://limited:secret@127.0.0.1:${limited}` });
  expect(problems).toEqual([
    'warning The user of REDIS_URL may not ask for the eviction policy of Redis | allow the user to run INFO, or check on the server that maxmemory-policy is noeviction',
  ]);
  expect(await findProblems({ REDIS_URL: `redis://limited:wrong@127.0.0.1:${limited}` })).toEqual([
    `error Redis at 127.0.0.1:${limited} refuses the user name or password of REDIS_URL`,
  ]);
  expect(await findProblems({ REDIS_URL: 'redis://127.0.0.1:1' })).toEqual([
    'error Redis at 127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1 | check REDIS_URL, and that Redis runs',
  ]);
});

test('roles that no process has, and queues on which no process works, are found', async () => {
  const tidy = defineJob('tidy', { run: async () => undefined });
  const declared = {
    resources: [defineUser()],
    extensions: [webhooks()],
    jobs: [tidy],
  };
  const { app, env: running } = await startTestApp(declared, { roles: ['web', 'push-worker'] });
  const roleOf = ({ message }: { message: string }) => /^No process works on .* role (\S+)$/.exec(message)?.[1] ?? [];
  expect((await app.diagnose()).flatMap(roleOf)).toEqual(['relay', 'webhook-worker', 'job-worker']);

  const worker = createApp(declared, running);
  await worker.start({ roles: ['relay', 'webhook-worker', 'job-worker'] });
  expect((await app.diagnose()).flatMap(roleOf)).toEqual([]);
  await worker.close();
  await app.jobs.enqueue(tidy, undefined, { runAt: new Date(Date.now() + 3_600_000) });
  const findings = await app.diagnose();
  expect(findings).toContainEqual({
    level: 'error',
    message: expect.stringMatching(/^No process works on the queue \S*tidy\S*, which has 1 entry$/),
    fix: expect.stringContaining('start a process'),
  });
});
