import { expect, test } from 'vitest';
import { z } from 'zod';
import { adminConsole, audit, createApp, defineJob, defineUser } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const tidy = defineJob('tidy', {
  description: 'Tidies up',
  input: z.strictObject({ days: z.number() }),
  retry: { attempts: 1 },
  run({ input }) {
    if (input.days === 0) throw new Error('Nothing to tidy '.repeat(40));
    return { tidied: input.days };
  },
});
const later = defineJob('later', { run: () => undefined });
const former = defineJob('former', { run: () => undefined });
const options = {
  resources: [defineUser()],
  jobs: [tidy, later],
  schedules: [
    { cron: '0 2  * * *', timeZone: 'Europe/Berlin', job: tidy, input: { days: 30 } },
    { name: 'leap', cron: '0 0 29 2 *', job: later },
  ],
  extensions: [adminConsole()],
};
const { app, url, call, env } = await startTestApp(options, { roles: 'all' });
const API = '/console/api/jobs';
const RUNS = `${API}/runs`;

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();
const statusOf = async (id: string) => (await call('GET', `${RUNS}/${id}`)).body.data.status;
const untilStatus = (id: string, status: string) => expect.poll(() => statusOf(id), { timeout: 60_000 }).toBe(status);

const readOverview = async () => (await call('GET', `${API}/overview`)).body.data;

test('the tab is in the navigation, and its page loads its own scripts and styles', async () => {
  const { body } = await call('GET', '/console/api/app');
  const { page, ...link } = body.data.tabs.find(({ id }: { id: string }) => id === 'jobs');
  expect(link).toEqual({ id: 'jobs', label: 'Jobs', path: '/console/jobs' });
  for (const path of [
    link.path,
    `${link.path}/runs/665f1c0a9b1e8a0012345678`,
    page.entry,
    ...page.scripts,
    ...page.styles,
  ])
    expect((await fetch(url + path)).status, path).toBe(200);
  const html = await (await fetch(url + link.path)).text();
  expect(html).not.toContain(page.entry);
});

test('the overview has the declared jobs with their counts, the others that are stored, and the schedules with their ticks', async () => {
  const other = createApp({ resources: [defineUser()], jobs: [former] }, env);
  await other.jobs.enqueue(former);
  await other.close();
  const { id } = await app.jobs.enqueue(tidy, { days: 0 });
  await untilStatus(id, 'failed');
  await app.jobs.enqueue(later, undefined, { runAt: inAnHour() });
  const { kinds, schedules, cappedStatuses } = await readOverview();
  const none = { waiting: 0, running: 0, succeeded: 0, failed: 0, cancelled: 0 };
  const kind = { description: null, isDeclared: true, hasInput: false, scheduled: 0 };
  expect(kinds).toEqual([
    { ...kind, name: 'tidy', label: 'Tidy', description: 'Tidies up', hasInput: true, counts: { ...none, failed: 1 } },
    { ...kind, name: 'later', label: 'Later', counts: { ...none, waiting: 1 }, scheduled: 1 },
    { ...kind, name: 'former', label: 'Former', isDeclared: false, counts: { ...none, waiting: 1 } },
  ]);
  expect(cappedStatuses).toEqual([]);
  const tick = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
  expect(schedules).toEqual([
    { name: 'tidy', job: 'tidy', cron: '0 2 * * *', timeZone: 'Europe/Berlin', nextAt: tick, lastAt: null },
    { name: 'leap', job: 'later', cron: '0 0 29 2 *', timeZone: 'UTC', nextAt: tick, lastAt: null },
  ]);
  const hour = new Date(schedules[0].nextAt).toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' });
  expect(hour).toBe('02:00:00');
});

test('a list is filtered and paged, newest first, and contains neither input nor result', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 23; i++) ids.unshift((await app.jobs.enqueue(later, undefined, { runAt: inAnHour() })).id);
  const first = (await call('GET', `${RUNS}?job=later&status=waiting`)).body;
  expect(first.data.map((job: { id: string }) => job.id)).toEqual(ids.slice(0, 20));
  const second = (await call('GET', `${RUNS}?job=later&status=waiting&after=${first.meta.next}`)).body;
  expect(second.data.slice(0, 3).map((job: { id: string }) => job.id)).toEqual(ids.slice(20));
  expect(second.meta.next).toBeNull();
  const failed = await call('GET', `${RUNS}?status=failed`);
  expect(failed.headers.get('cache-control')).toBe('no-store');
  expect(failed.body.data).toHaveLength(1);
  expect(failed.body.data[0]).toMatchObject({ job: 'tidy', error: expect.stringMatching(/^.{200}$/) });
  expect(failed.body.data[0]).not.toHaveProperty('input');
  expect(failed.body.data[0]).not.toHaveProperty('result');
});

test.each([
  ['status=done', 422, { status: 'Must be one of: waiting, running, succeeded, failed, cancelled' }],
  ['after=1', 422, { after: 'Must be the `next` of a page' }],
  ['job=%00', 422, { job: 'Must be a job or its name' }],
  ['status=failed&status=waiting', 400, undefined],
  ['limit=1000', 400, undefined],
])('an invalid filter is refused: %s', async (query, expectedStatus, details) => {
  const { status, body } = await call('GET', `${RUNS}?${query}`);
  expect([status, body.error.details]).toEqual([expectedStatus, details]);
});

test('a job is shown with input, result and error, and can be enqueued, cancelled and retried', async () => {
  const enqueued = await call('POST', RUNS, { job: 'tidy', input: { days: 7 }, runAt: inAnHour(), uniqueKey: 'k' });
  expect(enqueued).toMatchObject({ status: 201, body: { data: { created: true } } });
  const { id } = enqueued.body.data;
  const again = await call('POST', RUNS, { job: 'tidy', input: { days: 7 }, uniqueKey: 'k' });
  expect(again.body.data).toEqual({ id, created: false });
  expect((await call('POST', `${RUNS}/${id}/cancel`)).body.data).toMatchObject({ id, status: 'cancelled' });
  expect((await call('POST', `${RUNS}/${id}/retry`)).body.data).toMatchObject({ id, status: 'waiting' });
  await untilStatus(id, 'succeeded');
  expect((await call('GET', `${RUNS}/${id}`)).body.data).toMatchObject({
    label: 'Tidy',
    input: { rows: [{ label: 'Days', value: 7 }], json: '{\n  "days": 7\n}', isCut: false },
    result: { rows: [{ label: 'Tidied', value: 7 }], json: '{\n  "tidied": 7\n}', isCut: false },
    uniqueKey: 'k',
    attempts: 1,
    maxAttempts: 1,
  });
  const refused = await call('POST', `${RUNS}/${id}/cancel`);
  expect([refused.status, refused.body.error.message]).toEqual([
    409,
    'The job has succeeded, so it cannot be cancelled. Enqueue it again instead',
  ]);
});

test.each([
  [{ job: 'tidi', input: { days: 1 } }, { job: 'Is not declared. Did you mean "tidy"?' }],
  [{ job: 'former' }, { job: 'Is not declared; jobs: tidy, later' }],
  [{ job: 'tidy', input: { days: 'x' } }, { 'input.days': expect.any(String) }],
  [{ job: 'later', input: 1 }, { input: 'This job has no input' }],
  [{ job: 'later', runAt: 'soon' }, { runAt: expect.stringContaining('Must be a time') }],
  [{ job: 'later', delay: 1 }, { delay: 'Unknown field' }],
  [{ job: 5 }, { job: 'Must be a text' }],
  [{ job: '<b>' }, { job: 'Must be the name of a job' }],
])('a job that cannot be enqueued is refused with a message per field: %o', async (body, details) => {
  const refused = await call('POST', RUNS, body);
  expect([refused.status, refused.body.error.details]).toEqual([422, details]);
});

test.each(['nope', '665f1c0a9b1e8a0012345678'])('an unknown job responds 404: %s', async (id) => {
  for (const path of [id, `${id}/input`]) expect((await call('GET', `${RUNS}/${path}`)).status).toBe(404);
  for (const verb of ['retry', 'cancel']) expect((await call('POST', `${RUNS}/${id}/${verb}`)).status).toBe(404);
});

test('pages of other origins can neither read jobs nor change them', async () => {
  const { id } = await app.jobs.enqueue(later, undefined, { runAt: inAnHour() });
  const foreign = { origin: 'https://elsewhere.example.com', 'sec-fetch-site': 'cross-site' };
  for (const [method, path] of [
    ['GET', RUNS],
    ['GET', `${RUNS}/${id}`],
    ['GET', `${API}/overview`],
    ['POST', `${RUNS}/${id}/cancel`],
  ] as const)
    expect((await call(method, path, undefined, foreign)).status, path).toBe(403);
  expect((await call('POST', RUNS, { job: 'later' }, foreign)).status).toBe(403);
  expect(await statusOf(id)).toBe('waiting');
});

test('counting stops at 10,000 jobs of a status, and says so', async () => {
  const { default: pg } = await import('pg');
  const sql = new pg.Client({ connectionString: env.DATABASE_URL! });
  await sql.connect();
  await sql.query(`insert into background_jobs (id, name, status, finished_at)
    select 'z' || i, 'former', 'cancelled', now() from generate_series(1, 10050) i`);
  const { kinds, cappedStatuses } = await readOverview();
  expect(cappedStatuses).toEqual(['succeeded', 'cancelled']);
  const sum = kinds.reduce((total: number, { counts }: { counts: Record<string, number> }) => {
    return total + counts.succeeded! + counts.cancelled!;
  }, 0);
  expect(sum).toBe(10_000);
  await sql.query(`delete from background_jobs where id like 'z%'`);
  await sql.end();
});

test('an app without jobs has an empty overview', async () => {
  const without = await startTestApp({ resources: [defineUser()], extensions: [adminConsole()] }, { roles: 'all' });
  const { body } = await without.call('GET', `${API}/overview`);
  expect(body.data).toEqual({ kinds: [], cappedStatuses: [], schedules: [] });
});

test('in production, administrators alone see and change jobs, and the audit trail records each change', async () => {
  const { app: live, ...production } = await startTestApp(
    { ...options, schedules: [], extensions: [audit(), adminConsole({ production: true })] },
    {
      env: () => ({
        NODE_ENV: 'production',
        DRAIN_DELAY_MS: '0',
        APP_URL: 'https://api.example.com',
        SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
        LOG_LEVEL: 'silent',
      }),
      roles: ['web', 'relay'],
    },
  );
  const [admin, ada] = [await production.person('Root', ['user', 'admin']), await production.person('Ada')];
  const { id } = await live.jobs.enqueue(later, undefined, { runAt: inAnHour() });
  const routes = [
    ['GET', `${API}/overview`],
    ['GET', RUNS],
    ['GET', `${RUNS}/${id}`],
    ['GET', `${RUNS}/${id}/input`],
    ['GET', `${API}/kinds/tidy`],
    ['POST', RUNS, { job: 'tidy', input: { days: 1234 }, runAt: inAnHour() }],
    ['POST', `${RUNS}/${id}/cancel`],
    ['POST', `${RUNS}/${id}/retry`],
  ] as const;
  for (const [method, path, body] of routes) {
    expect((await production.call(method, path, body)).status, path).toBe(401);
    expect((await ada.call(method, path, body)).status, path).toBe(403);
    expect((await admin.call(method, path, body)).status, path).toBeOneOf([200, 201]);
  }
  const [ran] = (await admin.call('GET', `${RUNS}?job=tidy`)).body.data;
  expect(ran).toMatchObject({ user: admin.id, schedule: null, requestId: expect.any(String) });
  const readTrail = async () => (await admin.call('GET', '/api/admin/audit?resource=jobs')).body.data;
  await expect.poll(readTrail, { timeout: 60_000 }).toMatchObject([
    { action: 'console.jobRetried', record: id, user: admin.id, via: 'console' },
    { action: 'console.jobCancelled', record: id, user: admin.id },
    { action: 'console.jobEnqueued', record: null, details: { job: 'tidy' } },
  ]);
  expect(JSON.stringify(await readTrail())).not.toContain('days');
});
