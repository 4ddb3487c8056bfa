import { expect, onTestFinished, test, vi } from 'vitest';
import { createTestDatabase } from '../support/database/test-database.ts';
import { createAppProject } from '../support/processes/app-project.ts';
import { runCommandsInOneProcess } from '../support/processes/command.ts';

// The process loads the whole app.
vi.setConfig({ testTimeout: 240_000 });

const APP = `import { createApp, defineUser } from 'belfry';
export const app = (environment) => createApp({ resources: [defineUser()] }, environment);`;

const NOT_CHECKED = 'warning  The servers and the database were not checked.';

test('belfry doctor prints each finding with what to do, as JSON if asked, and fails if there is an error', async () => {
  const database = await createTestDatabase();
  const { folder, writeApp, write, remove } = createAppProject();
  onTestFinished(async () => {
    await database.drop();
    remove();
  });
  writeApp(APP);
  write('bad.ts', `${APP}\nthrow new Error('no');`);
  const env = { NODE_ENV: 'test', DATABASE_URL: database.databaseUrl, REDIS_URL: 'redis://127.0.0.1:1' };
  const [report, json, incomplete, broken] = await runCommandsInOneProcess([
    { folder, command: 'doctor', env },
    { folder, command: 'doctor --json', env },
    { folder, command: 'doctor', env: { NODE_ENV: 'test' } },
    { folder, command: 'doctor --app bad.ts', env },
  ]);

  expect(report!.code).toBe(1);
  const lines = report!.output.split('\n');
  expect(lines[0]).toMatch(/^ok {7}Belfry \S+ on Node 2\d\.\S+ \(\w+\)\.$/);
  expect(report!.output).toContain(`
error    There are no migrations: ${folder}/migrations contains none. Generate the first one with npx belfry migration generate init, or restore the folder from version control.
error    Redis at 127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1.
         Fix: check REDIS_URL, and that Redis runs.

Errors: 2. Warnings: 0.`);

  expect(json!.code).toBe(1);
  expect(JSON.parse(json!.output)).toContainEqual({
    level: 'error',
    message: 'Redis at 127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1',
    fix: 'check REDIS_URL, and that Redis runs',
  });

  expect(incomplete!.output.split('\n').slice(1)).toEqual([
    'error    DATABASE_URL is missing: it should look like postgres://user:password@host:5432/name.',
    'error    REDIS_URL is missing: it should look like redis://host:6379.',
    NOT_CHECKED,
    expect.stringMatching(/^ {9}Fix: set the variables in the shell or in \.env\. .* start npx belfry dev/),
    '',
    'Errors: 2. Warnings: 1.',
  ]);
  expect(broken!.output.split('\n').slice(1, 4)).toEqual([
    'error    bad.ts cannot be loaded: Error: no (bad.ts:3:7).',
    NOT_CHECKED,
    '         Fix: fix the errors above, then run npx belfry doctor again.',
  ]);
});
