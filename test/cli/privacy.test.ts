import { afterAll, expect, onTestFinished, test } from 'vitest';
import { createApp, defineResource, defineUser, f, privacy } from '../../src/index.ts';
import { createAppProject } from '../support/processes/app-project.ts';
import { runCommandProcess } from '../support/processes/command.ts';
import { runCommand } from '../support/processes/in-process.ts';
import { getUsageError } from '../support/processes/usage-error.ts';

const project = createAppProject();
afterAll(project.remove);

test.each([
  ['erase', 'Unknown command erase.'],
  ['reprot', 'Unknown command reprot. Did you mean report?'],
  ['report user', 'report takes no arguments, but got: user.'],
  ['report --fix', 'Unknown option --fix.'],
  ['report --json=yes', '--json takes no value.'],
])('belfry privacy %s is refused: %s', async (line, error) => {
  expect(await getUsageError(`privacy ${line}`)).toBe(error);
});

test('belfry privacy report needs no database, and with --strict it fails if personal data is not marked', {
  timeout: 240_000,
}, async () => {
  project.writeApp(`import { createApp, defineResource, defineUser, f, privacy } from 'belfry';
  const contact = defineResource('contact', { fields: { phone: f.string() } });
  export const app = (environment) =>
    createApp({ resources: [defineUser(), contact], extensions: [privacy()] }, environment);`);
  const report = await runCommandProcess(project.folder, 'privacy report --strict');
  expect(report).toMatchObject({ code: 1, errorOutput: '' });
  expect(report.output).toContain(`contact.phone (name looks personal: NOT MARKED)
  stored   contacts.phone
  seen by  readers of the record: any signed-in user
  kept     as long as its record
`);
  expect(report.output).toMatch(/Looks personal, but is not marked\. [^\n]+\n {2}contact\.phone$/);

  const contact = defineResource('contact', { fields: { phone: f.string().pii() } });
  const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://none', REDIS_URL: 'redis://none' };
  const app = createApp({ resources: [defineUser(), contact], extensions: [privacy()] }, env);
  const without = createApp({ resources: [contact] }, env);
  onTestFinished(() => Promise.all([app.close(), without.close()]).then(() => undefined));
  const { code, output } = await runCommand('privacy report --json --strict', app);
  expect(code).toBe(0);
  expect(JSON.parse(output)).toMatchObject({ unmarked: [], unclaimed: [] });
  expect(await runCommand('privacy report', without)).toMatchObject({
    code: 1,
    errorOutput: 'This app does not use the extension privacy(). See docs/users/privacy.md.',
  });
});
