import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { createDatabaseServer } from '../../src/testing/servers/database-server.ts';
import { nameTemplate, provideTemplate } from '../../src/testing/servers/template.ts';
import { createFiles, runNodeTests, runVitest } from './run-tests.ts';

const serverUrl = process.env.TEST_DATABASE_URL!;
const server = createDatabaseServer(serverUrl);
const NO_SERVERS = { TEST_DATABASE_URL: undefined, TEST_REDIS_URL: undefined };

const PROGRAM = `
import { test } from 'RUNNER';
import { createTestApp } from '../../src/testing/index.ts';
import { app } from '../testing/fixture.ts';
const { signInAs } = await createTestApp(app);
test('works', async () => {
  const { status } = await (await signInAs()).api.post('/api/tasks', { title: 'Hello' });
  if (status !== 201) throw new Error(String(status));
});
`;

/** Runs a test file that creates a test app, with `node --test`. */
function runWithNode(variables: Record<string, string | undefined>) {
  const folder = createFiles({ 'app.node.ts': PROGRAM.replace('RUNNER', 'node:test') });
  return runNodeTests(`${folder}/app.node.ts`, variables);
}

const testDatabases = async () =>
  (
    await server.query<{ datname: string }>(
      `select datname from pg_database where starts_with(datname, 'belfry_app_test_')`,
    )
  ).length;

test('without servers, a test process starts its own and ends with them', { timeout: 240_000 }, async () => {
  const { code, output } = await runWithNode(NO_SERVERS);
  expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/pass 1\n/) });
});

test('vitest closes the app of a file without a hook in the file', { timeout: 240_000 }, async () => {
  const folder = createFiles({ 'app.test.ts': PROGRAM.replace('RUNNER', 'vitest') });
  const { code, output } = await runVitest(folder);
  expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/Tests +1 passed/) });
});

test.each([
  ['TEST_DATABASE_URL', 'postgres://postgres@127.0.0.1:1/postgres'],
  ['TEST_REDIS_URL', 'redis://127.0.0.1:1'],
])('a server of %s that does not respond is named', { timeout: 240_000 }, async (variable, url) => {
  const { code, output } = await runWithNode({ [variable]: url });
  expect(code).toBe(1);
  expect(output).toContain(`${variable}: no response from 127.0.0.1:1 (`);
  expect(output).toContain(
    'Start the server or correct the address. Without the variable, tests start a server of their own.',
  );
});

test('without Redis on the machine, the error says what to install', { timeout: 240_000 }, async () => {
  // As a user who is not root, so that nothing is installed.
  const folder = createFiles({
    'no-redis.mjs': `
process.getuid = () => 1000;
const { createTestApp } = await import('../../src/testing/index.ts');
const { app } = await import('../testing/fixture.ts');
await createTestApp(app);`,
  });
  expect(folder).toContain('.examples-');
});

/** Creates a template whose tables are a function of the test. Returns how often they were created. */
async function countCreations(fingerprint: string, times: number): Promise<number> {
  let count = 0;
  const template = nameTemplate(fingerprint);
  const create = () =>
    provideTemplate(server, serverUrl, template, async (name) => {
      count += 1;
      const client = new Client({ connectionString: server.addressOf(name) });
      await client.connect();
      await client.query('create table only_in_template (id int)');
      await client.end();
    });
  await Promise.all(Array.from({ length: times }, create));
  onTestFinished(async () => void (await server.dropDatabase(template)));
  return count;
}

test('processes that need the same template at the same time create it once', async () => {
  expect(await countCreations('0123456789abcdef01234567', 5)).toBe(1);
});

test('a template that a killed process left half finished is created again', async () => {
  await server.query('create database belfry_app_template_fedcba9876543210fedcba98_incomplete');
  expect(await countCreations('fedcba9876543210fedcba98', 1)).toBe(1);
});

test('databases that were left behind for a day are dropped when a template is created; newer ones stay', async () => {
  const now = Math.floor(Date.now() / 1000);
  const [old, recent] = [`belfry_app_test_${now - 90_000}_old`, `belfry_app_test_${now - 80_000}_recent`];
  for (const name of [old, recent]) await server.query(`create database ${name}`);
  onTestFinished(async () => void (await server.dropDatabase(recent)));
  await countCreations('abcdefabcdefabcdefabcdef', 1);
  const exists = (name: string) => server.query('select from pg_database where datname = $1', [name]);
  expect(await exists(old)).toEqual([]);
  expect(await exists(recent)).toHaveLength(1);
  expect(await testDatabases()).toBeGreaterThanOrEqual(1);
});
