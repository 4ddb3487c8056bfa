import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { audit, createApp, defineResource, f } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/database/test-database.ts';
import { createAppProject } from '../support/processes/app-project.ts';
import { runCommandProcess } from '../support/processes/command.ts';
import { runCommand } from '../support/processes/in-process.ts';
import { getUsageError } from '../support/processes/usage-error.ts';

// Each command is a process that loads the whole app.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const project = createAppProject();
project.writeApp(`import { audit, createApp, defineResource, f } from 'belfry';
  const note = defineResource('note', { fields: { title: f.string() }, audit: true });
  export const app = (environment) => createApp({ resources: [note], extensions: [audit()] }, environment);`);
afterAll(project.remove);
const note = defineResource('note', { fields: { title: f.string() }, audit: true });
const { app, env: own } = await startTestApp({ resources: [note], extensions: [audit()] }, { roles: 'all' });
const client = new Client({ connectionString: own.DATABASE_URL! });
await client.connect();
afterAll(() => client.end());

/** Runs `verify` in this process. */
const verify = (...args: string[]) => runCommand(['audit', 'verify', ...args], app);

test.each([
  ['repair', 'Unknown command repair.'],
  ['verify all', 'verify takes no arguments, but got: all.'],
  ['verify --fix', 'Unknown option --fix.'],
  ['verify --exepct 1', 'Unknown option --exepct. Did you mean --expect?'],
  ['verify --expect', '--expect needs a value: <row:hash>.'],
  ['verify --expect 12', '--expect 12 is invalid. It must be a row as verify prints it: 1234:9f86d0…'],
])('belfry audit %s is refused: %s', async (line, error) => {
  expect(await getUsageError(`audit ${line}`)).toBe(error);
});

test('belfry audit verify confirms an intact log and prints the row to note, else names the first broken row and fails', async () => {
  for (const title of ['a', 'b', 'c']) await app.service('note').create({ title });
  await vi.waitFor(
    async () => {
      const { rows } = await client.query('select count(*)::int as n from audit_entries');
      expect(rows[0].n).toBe(3);
    },
    { timeout: 60_000, interval: 25 },
  );
  const { rows } = await client.query('select hash from audit_entries where id = 3');
  const noted = `3:${rows[0].hash}`;
  expect(await verify('--expect', noted)).toEqual({
    code: 0,
    output: `3 rows are unchanged.\nLast row, for --expect: ${noted}\nThe expected row is there and unchanged.`,
    errorOutput: '',
  });
  await client.query('alter table audit_entries disable trigger audit_row_stays');
  await client.query(`update audit_entries set ip = '192.0.2.1' where id = 2`);
  const broken = await runCommandProcess(project.folder, 'audit verify', { DATABASE_URL: own.DATABASE_URL! });
  expect(broken).toEqual({
    code: 1,
    output:
      '1 row is unchanged.\nRow 2 was changed. Later rows were not checked.\nA trigger that protects the rows is missing or disabled. See docs/build/audit.md.',
    errorOutput: '',
  });
  expect(JSON.parse((await verify('--json')).output)).toMatchObject({
    broken: { id: 2, fault: 'changed' },
    guarded: false,
  });
});

test('an app without an audit trail, and a database without its tables, are reported in plain words', async () => {
  const bare = await createTestDatabase();
  const env = { ...own, DATABASE_URL: bare.databaseUrl };
  const [without, empty] = [
    createApp({ resources: [] }, env),
    createApp({ resources: [note], extensions: [audit()] }, env),
  ];
  onTestFinished(async () => {
    await Promise.all([without.close(), empty.close()]);
    await bare.drop();
  });
  const errorOf = async (opened: unknown) => {
    const { code, errorOutput } = await runCommand('audit verify', opened);
    return [code, errorOutput];
  };
  expect(await errorOf(without)).toEqual([1, 'This app has no audit trail. See docs/build/audit.md.']);
  expect(await errorOf(empty)).toEqual([
    1,
    'The database has no audit trail. Apply the migrations: npx belfry migrate',
  ]);
});
