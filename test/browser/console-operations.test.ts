import { Redis } from 'ioredis';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { adminConsole, audit, defineJob, defineResource, defineUser, f, realtime } from '../../src/index.ts';
import { createProcessStore } from '../../src/platform/work/processes/store.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole } from './console-app.ts';
import { checkScreens } from './screens.ts';

const invoice = defineResource('invoice', {
  fields: { number: f.string().required(), amount: f.integer() },
  policies: { list: 'public', read: 'public', create: 'public' },
});
const jobs = [
  defineJob('close-stale-invoices-of-organisations-without-members', { run: () => undefined }),
  defineJob('report', { run: () => undefined }),
];
const { url, env, person, call } = await startTestApp(
  {
    resources: [invoice, defineUser()],
    jobs,
    extensions: [audit(), realtime(), adminConsole()],
    settings: {
      rateLimit: { enabled: true, global: { limit: 100_000, windowMs: 60_000 }, auth: { limit: 6, windowMs: 900_000 } },
      slowLog: { requestMs: 0, statementMs: 0 },
    },
  },
  { roles: 'all' },
);
const redis = new Redis(env.REDIS_URL!);
afterAll(() => redis.disconnect());

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const JOB = '6b0d30d39f614de63a5f979b';
const HOURS_AGO = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

/** Stores the state of processes on other machines, as they would themselves. */
async function addProcesses(): Promise<void> {
  const store = createProcessStore(redis, env.REDIS_PREFIX!);
  const roles = ['web', 'web', 'relay', 'webhook-worker', 'webhook-worker', 'push-worker', 'job-worker'];
  const processOf = (role: string, i: number) => ({
    roles: [role],
    host: `belfry-${role}-7d9f8b6c5-${'x2kqz'.slice(i % 5)}`,
    pid: 1,
    version: '1.0.0',
    node: '24.21.0',
    appVersion: i === 0 ? '4f1c9ab7720de6cc1f7ed20a8fbb9a4d01c2e3f4' : '90be77d11c0de6cc1f7ed20a8fbb9a4d01c2e3f4',
    startedAt: HOURS_AGO(3 * i + 0.2),
    memory: { rss: 1.4e8 + 2e7 * i, heapUsed: 7e7, heapLimit: 4e9 },
    cpu: 0.031 * (i + 1),
    eventLoop: { meanMs: 0.2, maxMs: 3 + 40 * i, busy: 0.1 },
    facts: {
      connections: { max: 8, open: 5, idle: 2, waiting: i === 1 ? 4 : 0, waitTimeouts: 0 },
      ...(role === 'web' && {
        streams: { open: 812, max: 10_000, subscriptions: 2431, changes: 90_211, cutOff: 3, lagMs: 41 },
        requests: {
          inFlight: 3,
          intervalSeconds: 10,
          points: Array.from({ length: 30 }, (_, n) => ({
            count: 300 + ((n * 37) % 90),
            failed: n % 7 === 0 ? 12 : 0,
            seconds: 9,
          })),
          bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
          buckets: [500, 3000, 4000, 2000, 300, 100, 20, 5, 1, 0, 0, 0],
        },
      }),
      ...(role === 'webhook-worker' && {
        queues: [
          {
            name: 'webhooks',
            running: 12,
            concurrency: 50,
            failures: [
              {
                queue: 'webhooks',
                id: `endpoint-${i}`,
                name: 'process',
                error: 'canceling statement due to statement timeout',
                at: HOURS_AGO(i),
              },
            ],
          },
        ],
      }),
    },
  });
  await Promise.all(
    roles.map((role, i) => {
      const { facts, ...state } = processOf(role, i);
      const queues = (facts as { queues?: { name: string }[] }).queues ?? [];
      return store.write(
        `other-${i}`,
        JSON.stringify({ ...state, facts }),
        undefined,
        queues.map(({ name }) => name),
        true,
      );
    }),
  );
}

/** Adds lines to the log, as other processes would themselves. */
async function addLines(record: string): Promise<void> {
  const line = (fields: object) => redis.xadd(`${env.REDIS_PREFIX}:log`, '*', 'line', JSON.stringify(fields));
  const requests = Array.from({ length: 120 }, (_, i) => ({
    level: 'info',
    time: new Date(Date.now() - (120 - i) * 900).toISOString(),
    process: i % 5 === 0 ? 'relay' : 'web',
    msg: i % 5 === 0 ? 'relay batch' : 'request',
    outcome: i % 5 === 0 ? 'done' : 'sent',
    ...(i % 5 === 0
      ? { rows: i }
      : { method: 'GET', route: '/api/invoices/:id', status: 200, requestId: `request-${i}` }),
    durationMs: (i * 7) % 90,
  }));
  for (const request of requests) await line(request);
  await line({ ...requests[1], route: '/console/api/operations/log' });
  await line({ ...requests[1], record });
  await line({ ...requests[1], method: 'POST', route: '/api/auth/login', status: 401 });
  const time = new Date().toISOString();
  await line({
    ...{
      level: 'info',
      time,
      process: 'webhook-worker',
      msg: 'webhook attempt',
      outcome: 'timeout',
      decision: 'retry',
    },
    ...{ endpoint: '6b0d30d39f614de63a5f979a', attempt: 1, durationMs: 10_000 },
    retryAt: new Date(Date.parse(time) + 30_000).toISOString(),
  });
  await line({
    ...{ level: 'error', time, process: 'job-worker', msg: 'job', outcome: 'retry', job: JOB, name: 'report' },
    ...{ attempt: 2, retryInMs: 2000, durationMs: 12, err: { type: 'Error', message: 'the printer is off' } },
  });
  await line({
    level: 'error',
    time: new Date().toISOString(),
    process: 'web',
    msg: 'a request failed',
    requestId: 'request-7',
    err: { type: 'Error', message: 'relation "invoices" does not exist', stack: 'Error\n    at read (app.ts:10:3)' },
  });
}

browserTest(
  'the operations tab shows servers, processes, queues, slow work, limits and the log, and unlocks an account',
  240_000,
  async () => {
    await addProcesses();
    const heartbeats = setInterval(() => void addProcesses(), 10_000);
    onTestFinished(() => clearInterval(heartbeats));
    const ada = await person('Ada');
    for (let i = 0; i < 12; i++) await call('POST', '/api/invoices', { number: `2030-${i}`, amount: i });
    const { body } = await call('GET', '/api/invoices?sort=createdAt&limit=1');
    const [read] = body.data;
    await addLines(read.id);
    for (let i = 0; i < 5; i++) await call('POST', '/api/auth/login', { email: ada.email, password: `wrong ${i}` });
    const { page, pageErrors } = await openConsole(browser, `${url}/console/data`);

    await page.getByRole('link', { name: 'Operations' }).click();
    await page.getByRole('heading', { name: 'Operations' }).waitFor();
    await page.getByText('Processes run 3 different versions').waitFor();
    await page.getByText('The environment is valid').waitFor();
    await checkScreens(page, 'console-operations-overview');

    await page.getByRole('link', { name: 'Processes', exact: true }).click();
    await page.getByText('3 versions run side by side.').waitFor();
    await page.getByText('this one').waitFor();
    await checkScreens(page, 'console-operations-processes');

    await page.getByRole('link', { name: 'Queues and outbox' }).click();
    await page.getByRole('link', { name: 'webhooks', exact: true }).waitFor();
    await checkScreens(page, 'console-operations-queues', [360, 1280]);
    await page.getByRole('link', { name: 'webhooks', exact: true }).click();
    await page.getByText('canceling statement due to statement timeout').first().waitFor();
    await checkScreens(page, 'console-operations-queue', [360]);

    await call('POST', '/api/invoices', { number: '2030-12' });
    await page.getByRole('link', { name: 'Slow work' }).click();
    await page.getByText('/api/invoices').first().waitFor();
    await page.getByRole('button', { name: 'Slowest' }).click();
    await expect.poll(() => page.url()).toContain('order=slowest');
    await checkScreens(page, 'console-operations-slow', [360, 1280]);
    await page.getByRole('button', { name: 'All runs in Postgres' }).click();
    await page.getByText('To switch it on').or(page.getByLabel('Statements in Postgres')).waitFor();

    await page.getByRole('link', { name: 'Limits and locks' }).click();
    await page.getByLabel('IP address, e-mail address or id of a user').fill(ada.email);
    await page.getByRole('button', { name: 'Look up' }).click();
    await page.getByText('locked, ends').first().waitFor();
    await page.reload();
    await page.getByText('locked, ends').first().waitFor();
    await checkScreens(page, 'console-operations-limits', [360, 1280]);
    await page.getByRole('button', { name: 'Unlock', exact: true }).click();
    await page.getByText('No failed attempts, no lock.').waitFor();
    const { status } = await ada.call('GET', '/api/auth/me');
    expect(status).toBe(200);

    await page.getByRole('link', { name: 'Log', exact: true }).click();
    await page.getByText('relation "invoices" does not exist').waitFor();
    await checkScreens(page, 'console-operations-log', [360, 1280]);
    const ofConsole = page.locator('.operations-log li', { hasText: '/console/api/operations/log' });
    expect(await ofConsole.count()).toBe(0);
    await page.getByLabel('Show console requests').check();
    await ofConsole.first().waitFor();
    await page.getByLabel('Show console requests').uncheck();
    await page.getByLabel('Level').selectOption('error');
    await expect.poll(() => page.locator('.operations-log li').count()).toBe(2);
    await page.locator('.operations-log li', { hasText: 'request-7' }).locator('summary').click();
    await page.getByRole('link', { name: 'Show only this request' }).click();
    await expect.poll(() => page.locator('.operations-log li').count()).toBe(2);
    await page.goto(`${url}/console/operations/log`);
    const lines = page.locator('.operations-log li');
    await lines.filter({ hasText: 'Refused (401)' }).filter({ hasText: 'POST /api/auth/login' }).waitFor();
    await page.getByLabel('Outcome').selectOption('retry');
    await expect.poll(() => lines.count()).toBe(2);
    expect(await lines.first().innerText()).toMatch(
      /Webhook delivery[\s\S]*timeout[\s\S]*Will be retried in 30\ss[\s\S]*endpoint …3a5f979a/,
    );
    expect(await lines.last().innerText()).toMatch(
      /Job report[\s\S]*the printer is off[\s\S]*Will be retried in 2\ss[\s\S]*attempt 2/,
    );
    expect(await lines.last().getByRole('link').getAttribute('href')).toBe(`/console/jobs/runs/${JOB}`);
    await page.getByLabel('Outcome').selectOption('succeeded');
    const target = lines.getByRole('link', { name: '2030-0', exact: true });
    expect(await target.first().getAttribute('href')).toBe(`/console/data/invoice/${read.id}`);
    await checkScreens(page, 'console-operations-log-outcomes', [390, 1280]);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('paused').waitFor();
    expect(pageErrors).toEqual([]);
  },
);

browserTest('the operations tab speaks German', 120_000, async () => {
  const { page, pageErrors } = await openConsole(browser, `${url}/console/operations?lang=de`);
  for (const [link, heading] of [
    ['Übersicht', 'Betrieb'],
    ['Prozesse', 'Prozesse'],
    ['Warteschlangen und Outbox', 'Warteschlangen und Outbox'],
    ['Langsame Vorgänge', 'Langsame Vorgänge'],
    ['Limits und Sperren', 'Limits und Sperren'],
    ['Protokoll', 'Protokoll'],
  ] as const) {
    await page.getByRole('navigation', { name: 'Betrieb' }).getByRole('link', { name: link, exact: true }).click();
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await expect.poll(() => page.getByRole('progressbar').count()).toBe(0);
    await checkScreens(page, `console-operations-german-${heading.split(' ')[0]!.toLowerCase()}`, [390, 1280]);
  }
  expect(pageErrors).toEqual([]);
});
