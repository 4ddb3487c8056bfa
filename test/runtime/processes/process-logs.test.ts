import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { app } from '../../fixtures/logging/app.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';
import { type AppProcess, createRoleEnv, startProcess } from '../../support/processes/app-process.ts';

const database = await createTestDatabase();
afterAll(() => database.drop());
// Each test starts processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

const development = {
  ...createRoleEnv(database),
  LOG_LEVEL: 'info',
  SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
};
const production = { ...development, NODE_ENV: 'production', APP_URL: 'https://api.example.com' };

const ROLES = ['web', 'relay', 'webhook-worker', 'push-worker'] as const;
const FILE = 'test/fixtures/logging/process.ts';

beforeAll(async () => {
  const own = app({ ...development, LOG_LEVEL: 'error' });
  await own.migrate({ mode: 'sync' });
  await own.close();
});

/** Every line that a process printed, parsed. Throws for a line that is not JSON. */
const linesOf = (one: AppProcess) =>
  one
    .output()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Resolves when a process is running. */
async function running(one: AppProcess): Promise<void> {
  const adminOutput = vi.waitUntil(() => one.output().includes('with the roles'), { timeout: 60_000, interval: 25 });
  await Promise.race([adminOutput, one.ended.then(() => expect.fail(`it ended: ${one.output()}`))]);
}

test('a web process that runs all roles is called web, and its first log line lists the roles', async () => {
  const { RELAY: _, WEBHOOKS_WORKER: __, PUSH_WORKER: ___, JOB_WORKER: ____, ...all } = development;
  const one = startProcess(FILE, all, 'web');
  const url = await one.url();
  one.child.kill('SIGTERM');
  expect(await one.ended).toBe(0);
  const first = one
    .output()
    .split('\n')
    .find((line) => line.includes('with the roles'))!;
  expect(JSON.parse(first)).toMatchObject({
    process: 'web',
    roles: ['web', 'relay', 'webhook-worker', 'push-worker', 'job-worker'],
    url,
  });
});

test('in production every process prints only JSON lines, and each names its role', async () => {
  for (const role of ROLES) {
    const one = startProcess(FILE, production, role);
    await running(one);
    one.child.kill('SIGTERM');
    expect(await one.ended).toBe(0);
    const lines = linesOf(one);
    expect(lines.map((line) => line.process)).toEqual(lines.map(() => role));
    expect(lines).toContainEqual(expect.objectContaining({ level: 'info', roles: [role] }));
    const messages = lines.map(({ msg }) => String(msg));
    expect(messages).toEqual(expect.arrayContaining(['stopping after SIGTERM', 'stopped']));
    // Includes the output of declarations while they load, and a warning of Node.
    expect(lines[0]).toMatchObject({ level: 'info', msg: 'the declarations are loaded: 3 of them' });
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: 'it is old', err: expect.objectContaining({ code: 'DEP_OLD' }) }),
    );
  }
});

test('in production a failed start is one JSON line with every environment error, at any log level, and exit code 1', async () => {
  const faulty = { PORT: '70000', REDIS_URL: 'http://x', SVC_ENCRYPTION_KEYS: 'short', RELAY: 'maybe' };
  const always = ['DATABASE_URL', ...Object.keys(faulty)];
  const starts = [
    ['web', {}, ['APP_URL']],
    ['relay', { NODE_ENV: 'production', LOG_LEVEL: 'silent' }, ['APP_URL']],
    ['webhook-worker', { LOG_LEVEL: 'loud' }, ['APP_URL', 'LOG_LEVEL']],
    ['push-worker', { NODE_ENV: 'prod' }, ['NODE_ENV']],
  ] as const;
  const ended = starts.map(async ([role, env, more]) => {
    const one = startProcess(FILE, { ...faulty, ...env }, role);
    expect(await one.ended).toBe(1);
    const lines = linesOf(one).filter((line) => line.level === 'fatal');
    expect(lines).toEqual([expect.objectContaining({ process: role, msg: expect.any(String) })]);
    const named = [...String(lines[0]!.msg).matchAll(/\n {2}- (\w+)/g)].map((match) => match[1]);
    expect(named.toSorted()).toEqual([...always, ...more].toSorted());
    expect(one.output()).not.toMatch(/listens|with the roles| {4}at /);
  });
  await Promise.all(ended);
});

test('in production declarations that fail to load are one JSON line, and the exit code is 1', async () => {
  const one = startProcess(FILE, { ...production, FAULT: 'load' }, 'push-worker');
  expect(await one.ended).toBe(1);
  expect(linesOf(one)).toEqual([
    expect.objectContaining({ level: 'fatal', process: 'push-worker', msg: expect.stringMatching(/cannot start/) }),
  ]);
});

test('a SIGTERM while the declarations load stops the process with code 0', async () => {
  const one = startProcess(FILE, { ...production, FAULT: 'stop' }, 'web');
  expect(await one.ended, one.output()).toBe(0);
  // A process that exits may write its last line before the one that is being written.
  const messages = linesOf(one).map(({ msg }) => msg);
  expect(messages.toSorted()).toEqual(['stopped', 'stopping after SIGTERM']);
});

test('in production an uncaught error is one JSON line with its stack, and the exit code is 1', async () => {
  for (const [fault, origin] of [
    ['throw', 'uncaughtException'],
    ['reject', 'unhandledRejection'],
  ] as const) {
    const one = startProcess(FILE, { ...production, FAULT: fault, LOG_LEVEL: 'error' }, 'relay');
    expect(await one.ended).toBe(1);
    expect(linesOf(one)).toEqual([
      expect.objectContaining({
        level: 'fatal',
        process: 'relay',
        origin,
        err: expect.objectContaining({
          message: 'nobody waits for this',
          stack: expect.stringContaining('process.ts'),
        }),
      }),
    ]);
  }
});
