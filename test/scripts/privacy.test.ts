import { afterAll, expect, test } from 'vitest';
import { readPrivacyArguments } from '../../scripts/privacy/arguments.ts';
import { makeProject } from '../support/project.ts';
import { runScript } from '../support/scripts.ts';

const project = makeProject();
afterAll(project.remove);

const run = (args: string) => runScript(project.folder, `privacy.ts ${args}`);

test.each([
  ['', 'Say what to do:'],
  ['erase', 'Unknown command erase.'],
  ['report user', 'Unknown argument user.'],
  ['report --fix', 'Unknown argument --fix.'],
])('npm run privacy -- %s: what is wrong is told with how the command is called', (args, says) => {
  const read = () => readPrivacyArguments(args.split(' ').filter(Boolean));
  expect(read).toThrow(says);
  expect(read).toThrow('npm run privacy -- report [--json] [--strict]');
});

test('npm run privacy -- report needs no database, and with --strict it fails where something personal is not marked', {
  timeout: 240_000,
}, async () => {
  const declare = (phone: string) =>
    project.declare(`import { createApp, defineResource, defineUser, f, privacy } from '../index.ts';
  const contact = defineResource('contact', { fields: { phone: ${phone} } });
  export const app = (environment) =>
    createApp({ resources: [defineUser(), contact], extensions: [privacy()] }, environment);`);
  declare('f.string()');
  const wrong = await run('report --strict');
  expect(wrong).toMatchObject({ code: 1, wrong: '' });
  expect(wrong.said).toContain(`contact.phone (looks like it: NOT MARKED)
  stored   contacts.phone
  seen by  who may read the record: whoever is signed in
  kept     as long as its record
`);
  expect(wrong.said).toMatch(/Looks personal, and is not marked\. [^\n]+\n {2}contact\.phone$/);
  declare('f.string().pii()');
  const { code, said } = await run('report --json --strict');
  expect(code).toBe(0);
  expect(JSON.parse(said)).toMatchObject({ unmarked: [], unclaimed: [] });
});
