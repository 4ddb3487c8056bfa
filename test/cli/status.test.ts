import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { describeEndpoints } from '../../src/cli/status/endpoints.ts';
import { createApp, defineJob, defineUser, webhooks } from '../../src/index.ts';
import { blog } from '../fixtures/blog/app.ts';
import { startTestApp } from '../support/app.ts';
import { createMigrationProject } from '../support/database/migration-project.ts';
import { createTestDatabase } from '../support/database/test-database.ts';
import { createRoleEnv, startBlog } from '../support/processes/app-process.ts';
import { BLOG, createAppProject } from '../support/processes/app-project.ts';
import { runCommandProcess } from '../support/processes/command.ts';
import { runCommand } from '../support/processes/in-process.ts';

// Some commands are processes that load the whole app.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

let fails = false;
const tidy = defineJob('tidy', {
  retry: { attempts: 1 },
  run() {
    if (fails) throw new Error('broken');
  },
});
const declared = { resources: [defineUser()], extensions: [webhooks()], jobs: [tidy] };
const project = createAppProject();
project.writeApp(BLOG);
afterAll(project.remove);

/** Runs the command in this process, on a running app. */
const status = (app: unknown) => runCommand('status', app);
const report = async (app: unknown) => {
  const { code, output } = await runCommand('status --json', app);
  return { code, ...JSON.parse(output) };
};
const messages = ({ problems }: { problems: { level: string; message: string }[] }) =>
  problems.map(({ level, message }) => `${level} ${message}`);

test('an app whose roles all run is healthy, and the table shows its processes, queues and versions', async () => {
  const { app } = await startTestApp(declared, { roles: 'all' });
  await expect.poll(async () => (await status(app)).output, { timeout: 30_000 }).toMatch(/\nHealthy\.$/);
  const { code, output } = await status(app);
  expect(code).toBe(0);
  expect(output).toMatch(/^role +processes +last seen +waiting\nweb +1 +\d+ \w+ ago +-\n/);
  expect(output).toMatch(/\nrelay +1 .* events in the outbox: 0/);
  expect(output).toMatch(/\nwebhook-worker +1 .* webhook deliveries: 0/);
  expect(output).toMatch(/\npush-worker +1 .* push messages: 0, e-mails: 0/);
  expect(output).toMatch(/\njob-worker +1 .* background jobs: 0/);
  expect(output).toMatch(/\njob\.tidy +0 +0 +0 +0 +- +1\n/);
  expect(output).toMatch(/\nwebhooks +endpoints: 0 active, 0 retrying, 0 failing, 0 disabled\n/);
  expect(output).toMatch(/\nmigrations +none pending\nversions +Belfry \S+, Node \S+, Postgres \S+, (Redis|Valkey) /);
  expect(await report(app)).toMatchObject({
    code: 0,
    isComplete: true,
    problems: [],
    processes: [{ roles: ['web', 'relay', 'webhook-worker', 'push-worker', 'job-worker'], pid: process.pid }],
    outbox: { rows: 0, isCapped: false, oldestSeconds: null },
    jobs: { waiting: 0, running: 0, failed: 0 },
    migrations: { pending: [] },
  });
});

test('rows that wait for a role that no process has are errors, also of the doctor', async () => {
  const { app, env } = await startTestApp(declared, { roles: ['web', 'push-worker'] });
  const sql = new Client({ connectionString: env.DATABASE_URL! });
  await sql.connect();
  onTestFinished(() => sql.end());
  const user = await app
    .service('user')
    .create({ name: 'Ada', email: 'ada@example.com', password: 'correct horse battery' });
  const id = 'e'.repeat(24);
  await sql.query(
    `insert into webhook_endpoints (id, owner_id, url, events, scope, secret) values ($1, $2, 'http://x.example/', '{*}', 'own', 's')`,
    [id, user.id],
  );
  await sql.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, next_attempt_at)
     select 'd' || i, $1, 'e' || i, 'm' || i, 'user.updated', '{}', now() from generate_series(1, 3) i`,
    [id],
  );
  await app.jobs.enqueue(tidy);
  const deliveries = '3 webhook deliveries wait and no webhook-worker runs';
  const jobs = '1 background job waits and no job-worker runs';
  const events = '1 event in the outbox waits and no relay runs';
  const found = await report(app);
  expect(found.code).toBe(1);
  expect(messages(found).toSorted()).toEqual([`error ${jobs}`, `error ${events}`, `error ${deliveries}`]);
  expect(found.roles).toContainEqual(expect.objectContaining({ role: 'webhook-worker', processes: 0, seenAt: null }));
  const { code, output } = await status(app);
  expect(code).toBe(1);
  expect(output).toContain(
    `error    ${deliveries}.\n         Fix: start one with npx belfry start webhook-worker, or remove WEBHOOKS_WORKER=off from the variables of web (docs/operate/deployment.md).`,
  );
  expect(output).toMatch(/\njob-worker +0 +- +background jobs: 1 \(the oldest for \d+ \w+\)\n/);
  const errors = (await app.diagnose()).filter(({ level }) => level === 'error').map(({ message }) => message);
  expect(errors).toEqual(expect.arrayContaining([events, deliveries, jobs]));
});

test('an app without a relay is not healthy, even if nothing waits', async () => {
  const { app } = await startTestApp({ resources: [] }, { roles: ['web', 'push-worker'] });
  const found = await report(app);
  expect(found.code).toBe(1);
  expect(messages(found)).toEqual([
    'error No process works on the outbox, so events, webhooks and e-mails wait: none has the role relay',
  ]);
});

test('failed jobs and a queue with failed entries are warnings, which leave the app healthy', async () => {
  fails = true;
  onTestFinished(() => {
    fails = false;
  });
  const { app } = await startTestApp({ resources: [], jobs: [tidy] }, { roles: 'all' });
  const { id } = await app.jobs.enqueue(tidy);
  await vi.waitUntil(async () => (await app.jobs.get(id))?.status === 'failed');
  const { code, output } = await status(app);
  expect(code).toBe(0);
  expect(output).toContain(
    'warning  1 background job failed.\n         Fix: see npx belfry jobs list --status failed.',
  );
  expect(output).toMatch(/\njobs +0 waiting, 0 running, 1 failed\n/);
});

test('pending migrations and an app of which no process runs are errors', async () => {
  const { env } = await createMigrationProject();
  const app = createApp({ resources: [defineUser()] }, env);
  onTestFinished(() => app.close());
  const found = await report(app);
  expect(found).toMatchObject({ code: 1, isComplete: true, processes: [], webhooks: null, jobs: null });
  expect(messages(found)).toEqual(
    expect.arrayContaining([
      'error No process of the app runs',
      expect.stringMatching(/^error Pending migrations of Belfry: /),
    ]),
  );
  expect(found.migrations.pending).toContain('belfry/0000_upgrade_earlier_versions');
});

test('without Redis or Postgres, the other part is shown, and the exit code is 2', async () => {
  const { env } = await startTestApp(declared);
  const open = (variables: Record<string, string>) => {
    const app = createApp(declared, { ...env, LOG_LEVEL: 'silent', ...variables });
    onTestFinished(() => app.close());
    return app;
  };
  const withoutRedis = await report(open({ REDIS_URL: 'redis://127.0.0.1:1' }));
  expect(withoutRedis).toMatchObject({
    code: 2,
    isComplete: false,
    processes: null,
    queues: null,
    outbox: { rows: 0 },
  });
  expect(messages(withoutRedis)).toEqual([
    'error Redis at 127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1',
  ]);
  const { output } = await status(open({ REDIS_URL: 'redis://127.0.0.1:1' }));
  expect(output).toMatch(/\nwebhook-worker +\? +- +webhook deliveries: 0\n/);

  const withoutPostgres = await report(open({ DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/x' }));
  expect(withoutPostgres).toMatchObject({ code: 2, isComplete: false, outbox: null, migrations: null, jobs: null });
  expect(withoutPostgres.processes).toHaveLength(1);
  expect(messages(withoutPostgres)[0]).toMatch(/^error Postgres at 127\.0\.0\.1:1 cannot be reached: /);
  expect(JSON.stringify(withoutPostgres)).not.toContain('secret');
});

test('an app that cannot be loaded ends with the exit code 2', async () => {
  const { code, output, errorOutput } = await runCommandProcess(project.folder, 'status --json', {
    REDIS_URL: 'redis://127.0.0.1:1',
  });
  expect({ code, output }).toEqual({ code: 2, output: '' });
  expect(errorOutput).toContain('DATABASE_URL is missing');
});

test('the command needs only the addresses of the servers, and sees processes start and stop', async () => {
  const database = await createTestDatabase();
  onTestFinished(database.drop);
  const addresses = {
    DATABASE_URL: database.databaseUrl,
    REDIS_URL: database.redisUrl,
    REDIS_PREFIX: database.redisPrefix,
  };
  const observer = createApp(blog, { NODE_ENV: 'test', ...addresses });
  onTestFinished(() => observer.close());
  await observer.migrate({ mode: 'sync' });
  const countProcesses = async () =>
    (await report(observer)).roles.map(({ processes }: { processes: number }) => processes);
  expect(messages(await report(observer))).toEqual(['error No process of the app runs']);

  const env = createRoleEnv(database);
  const [web, ...workers] = (['web', 'relay', 'webhook-worker', 'push-worker'] as const).map((role) =>
    startBlog(role, env),
  );
  await web!.url();
  await expect.poll(countProcesses, { timeout: 120_000 }).toEqual([1, 1, 1, 1]);
  const { code, output } = await runCommandProcess(project.folder, 'status --json', addresses);
  expect({ code, ...JSON.parse(output) }).toMatchObject({ code: 0, isComplete: true, problems: [] });
  for (const { child } of workers) child.kill('SIGTERM');
  await Promise.all(workers.map(({ ended }) => ended));
  expect(await countProcesses()).toEqual([1, 0, 0, 0]);
  expect((await report(observer)).code).toBe(1);
});

test('a reason in the database cannot control the terminal', () => {
  const disabled = { 'gone\u001b]0;title\u0007': 1 };
  expect(describeEndpoints({ active: 0, retrying: 0, failing: 0, disabled })).toMatch(
    /1 disabled \(1 gone ]0;title \)$/,
  );
});
