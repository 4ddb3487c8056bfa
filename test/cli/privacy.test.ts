import { afterAll, expect, onTestFinished, test } from 'vitest';
import { printReport, readPrivacyArguments } from '../../src/cli/privacy.ts';
import { createApp, defineResource, defineUser, f, privacy } from '../../src/index.ts';
import { cloneProject } from '../support/processes/cloned-project.ts';
import { runInProcess } from '../support/processes/in-process.ts';
import { runScript } from '../support/processes/script.ts';

const project = cloneProject();
afterAll(project.remove);

test.each([
  ['', 'No command given. Usage:'],
  ['erase', 'Unknown command erase.'],
  ['report user', 'Unknown argument user.'],
  ['report --fix', 'Unknown argument --fix.'],
])('npm run privacy -- %s: the error is followed by the usage', (args, says) => {
  const read = () => readPrivacyArguments(args.split(' ').filter(Boolean));
  expect(read).toThrow(says);
  expect(read).toThrow('npm run privacy -- report [--json] [--strict]');
});

test('npm run privacy -- report needs no database, and with --strict it fails if personal data is not marked', {
  timeout: 240_000,
}, async () => {
  project.writeApp(`import { createApp, defineResource, defineUser, f, privacy } from '../index.ts';
  const contact = defineResource('contact', { fields: { phone: f.string() } });
  export const app = (environment) =>
    createApp({ resources: [defineUser(), contact], extensions: [privacy()] }, environment);`);
  const report = await runScript(project.folder, 'operations/privacy.ts report --strict');
  expect(report).toMatchObject({ code: 1, errorOutput: '' });
  expect(report.output).toContain(`contact.phone (name looks personal: NOT MARKED)
  stored   contacts.phone
  seen by  readers of the record: any signed-in user
  kept     as long as its record
`);
  expect(report.output).toMatch(/Looks personal, but is not marked\. [^\n]+\n {2}contact\.phone$/);

  const contact = defineResource('contact', { fields: { phone: f.string().pii() } });
  const app = createApp(
    { resources: [defineUser(), contact], extensions: [privacy()] },
    { NODE_ENV: 'test', DATABASE_URL: 'postgres://none', REDIS_URL: 'redis://none' },
  );
  onTestFinished(() => app.close());
  const given = readPrivacyArguments(['report', '--json', '--strict']);
  const { code, output } = await runInProcess(async () => printReport(app.privacy.report(app.tables), given));
  expect(code).toBe(0);
  expect(JSON.parse(output)).toMatchObject({ unmarked: [], unclaimed: [] });
});
