import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { readAuditArguments, verifyAndPrint } from '../../src/cli/audit.ts';
import type { AuditApi } from '../../src/extensions/audit/index.ts';
import { audit, defineResource, f } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { cloneProject } from '../support/processes/cloned-project.ts';
import { runInProcess } from '../support/processes/in-process.ts';
import { runScript } from '../support/processes/script.ts';

// Each command is a process that loads the whole app.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const project = cloneProject();
project.writeApp(`import { audit, createApp, defineResource, f } from '../index.ts';
  const note = defineResource('note', { fields: { title: f.string() }, audit: true });
  export const app = (environment) => createApp({ resources: [note], extensions: [audit()] }, environment);`);
afterAll(project.remove);
const note = defineResource('note', { fields: { title: f.string() }, audit: true });
const { app, env: own } = await startTestApp({ resources: [note], extensions: [audit()] });
const client = new Client({ connectionString: own.DATABASE_URL! });
await client.connect();
afterAll(() => client.end());

const { audit: trail } = app as unknown as { audit: AuditApi };

/** Runs `verify` in this process. */
const verifying = (...args: string[]) =>
  runInProcess(() => verifyAndPrint(trail, readAuditArguments(['verify', ...args])));

test.each([
  ['', 'No command given. Usage:'],
  ['repair', 'Unknown command repair.'],
  ['verify all', 'Unknown argument all.'],
  ['verify --fix', 'Unknown argument --fix.'],
  ['verify --expect 12', '--expect must be a row as verify prints it (1234:9f86d0…), not 12.'],
])('npm run audit -- %s: the error is followed by the usage', (args, says) => {
  const read = () => readAuditArguments(args.split(' ').filter(Boolean));
  expect(read).toThrow(says);
  expect(read).toThrow('npm run audit -- verify [--expect <row>:<hash>] [--json]');
});

test('npm run audit -- verify confirms an intact log and prints the row to note, else names the first broken row and fails', async () => {
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
  expect(await verifying('--expect', noted)).toEqual({
    code: 0,
    output: `3 rows are unchanged.\nLast row, for --expect: ${noted}\nThe expected row is there and unchanged.`,
    errorOutput: '',
  });
  await client.query('alter table audit_entries disable trigger audit_row_stays');
  await client.query(`update audit_entries set ip = '192.0.2.1' where id = 2`);
  const broken = await runScript(project.folder, 'operations/audit.ts verify', { DATABASE_URL: own.DATABASE_URL! });
  expect(broken).toEqual({
    code: 1,
    output:
      '1 row is unchanged.\nRow 2 was changed. Later rows were not checked.\nA trigger that protects the rows is missing or disabled. See docs/audit.md.',
    errorOutput: '',
  });
  expect(JSON.parse((await verifying('--json')).output)).toMatchObject({
    broken: { id: 2, fault: 'changed' },
    guarded: false,
  });
});
