import { afterAll, expect, test, vi } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { type AppProcess, envOfOneRole, startProcess } from '../support/processes.ts';

const database = await createTestDatabase();
afterAll(() => database.drop());
// Each starts processes, which take long on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

const development = {
  ...envOfOneRole(database),
  LOG_LEVEL: 'info',
  SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
};
const production = { ...development, NODE_ENV: 'production', APP_URL: 'https://api.example.com' };

const FILE = 'test/fixtures/logging/process.ts';

/** Every line that a process printed, parsed. Throws for one that is no JSON. */
const linesOf = (one: AppProcess) =>
  one
    .said()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Resolves when a process runs. */
async function running(one: AppProcess): Promise<void> {
  const said = vi.waitUntil(() => one.said().includes('with the roles'), { timeout: 60_000, interval: 25 });
  await Promise.race([said, one.ended.then(() => expect.fail(`it ended: ${one.said()}`))]);
}

test('in production every process prints JSON lines that name its role, from the first to the last', async () => {
  const prepare = startProcess(FILE, development, 'web');
  await prepare.url();
  prepare.child.kill('SIGTERM');
  expect(await prepare.ended).toBe(0);
  for (const role of ['web', 'relay', 'webhook-worker', 'push-worker']) {
    const one = startProcess(FILE, production, role);
    await running(one);
    one.child.kill('SIGTERM');
    expect(await one.ended).toBe(0);
    const lines = linesOf(one);
    expect(lines.map((line) => line.process)).toEqual(lines.map(() => role));
    expect(lines).toContainEqual(expect.objectContaining({ level: 'info', roles: [role] }));
    // What the declarations print while they are loaded, and a warning of Node's.
    expect(lines[0]).toMatchObject({ level: 'info', msg: 'the declarations are loaded: 3 of them' });
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: 'it is old', err: expect.objectContaining({ code: 'DEP_OLD' }) }),
    );
  }
});

test('a web process that runs all roles calls itself web, and its first line lists the roles', async () => {
  const { RELAY: _, WEBHOOKS_WORKER: __, PUSH_WORKER: ___, ...all } = development;
  const one = startProcess(FILE, all, 'web');
  const url = await one.url();
  const first = one
    .said()
    .split('\n')
    .find((line) => line.includes('with the roles'))!;
  expect(JSON.parse(first)).toMatchObject({
    process: 'web',
    roles: ['web', 'relay', 'webhook-worker', 'push-worker'],
    url,
  });
});

test('in production a start that fails is one JSON line, whatever the log level, and the exit code is 1', async () => {
  const { DATABASE_URL: _, ...incomplete } = production;
  for (const [env, args, msg] of [
    [{ ...incomplete, PORT: 'http', LOG_LEVEL: 'silent' }, ['relay'], /PORT must be[\s\S]*DATABASE_URL is missing/],
    [{ ...production, LOG_LEVEL: 'loud' }, ['web'], /LOG_LEVEL must be one of/],
    [{ ...production, NODE_ENV: 'prod' }, ['web'], /NODE_ENV must be/],
    [{ ...production, FAULT: 'load' }, ['push-worker'], /cannot start/],
  ] as const) {
    const one = startProcess(FILE, env, ...args);
    expect(await one.ended).toBe(1);
    const lines = linesOf(one).filter((line) => line.level === 'fatal');
    expect(lines).toEqual([expect.objectContaining({ process: args[0], msg: expect.stringMatching(msg) })]);
  }
});

test('in production an error that nothing catches is one JSON line with its stack, and the exit code is 1', async () => {
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

test('in development a failed start is text for a person', async () => {
  const one = startProcess(FILE, { ...development, PORT: 'http' }, 'relay');
  expect(await one.ended).toBe(1);
  expect(one.said()).toContain('\n  - PORT must be a number');
});

test('a command that loads the app names itself in its log lines', async () => {
  const env = { DATABASE_URL: 'postgres://a:hidden@127.0.0.1:1/b' };
  const one = startProcess('scripts/migrate.ts', env);
  expect(await one.ended).toBe(1);
  const lines = one
    .said()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) expect(JSON.parse(line)).toMatchObject({ process: 'migrate' });
});
