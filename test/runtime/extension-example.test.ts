import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { ExtensionHost } from '../../src/extension/index.ts';
import { createApp, defineExtension, defineResource, defineUser, f, newId, type Viewer } from '../../src/index.ts';
import { reportsExtension } from '../fixtures/reports.ts';
import { retentionExtension } from '../fixtures/retention.ts';
import { versionExtension } from '../fixtures/version.ts';
import { startTestApp } from '../support/app.ts';

const thing = defineResource('thing', { fields: { name: f.string() }, policies: { create: 'authenticated' } });
let host: ExtensionHost | undefined;
const hostExtension = defineExtension({
  name: 'host',
  setup(given) {
    host = given;
    return {};
  },
});
const note = defineResource('note', { fields: { text: f.text() }, retention: 30 });
const { app, call, env, person } = await startTestApp(
  {
    resources: [defineUser(), thing, note],
    extensions: [reportsExtension(), retentionExtension(), hostExtension],
  },
  { roles: 'all' },
);
const ada = await person('Ada', ['user', 'admin']);

const readText = (file: string) => readFileSync(join(import.meta.dirname, '..', '..', file), 'utf8');

test.each([
  ['extensions', 'reminders'],
  ['extensions', 'reports'],
  ['extension-reference', 'retention'],
  ['extensions', 'version'],
])('docs/extend/%s.md contains test/fixtures/%s.ts', (page, name) => {
  const code = readText(`test/fixtures/${name}.ts`)
    .replaceAll('../../src/index.ts', 'belfry')
    .replaceAll('../../src/extension/index.ts', 'belfry/extension');
  expect(readText(`docs/extend/${page}.md`)).toContain(`\`\`\`ts\n${code}\`\`\``);
});

test('docs/extend/extensions.md contains the test of an extension; its imports are sorted as in an app', () => {
  const code = readText('test/runtime/extension-test-example.test.ts')
    .replaceAll('../../src/index.ts', 'belfry')
    .replaceAll('../../src/testing/index.ts', 'belfry/testing')
    .replaceAll('../fixtures/version.ts', '../src/extensions/version.ts');
  const [imports, body] = [code.slice(0, code.indexOf('\nconst ')), code.slice(code.indexOf('\nconst '))];
  const sorted = imports
    .trim()
    .split('\n')
    .sort((a, b) => (a.split(' from ')[1]! < b.split(' from ')[1]! ? -1 : 1));
  const [own, ...packages] = sorted;
  expect(readText('docs/extend/extensions.md')).toContain(`\`\`\`ts\n${[...packages, own].join('\n')}\n${body}\`\`\``);
});

test('the settings of an extension can be values of the environment, and a misspelled one stops the start', () => {
  const create = (options: object) => () =>
    createApp({ resources: [defineUser()], extensions: [versionExtension(options)] }, env);
  expect(create({ comit: 'f00ba4' })).toThrow('version.comit: there is no such setting. Did you mean "commit"?');
  const settings = z.strictObject({ apiKey: z.string().min(1, 'set GEOCODER_API_KEY') });
  const geocoder = (options: z.input<typeof settings>) =>
    defineExtension({ name: 'geocoder', settings, options, setup: () => ({}) });
  const extensions = [geocoder({ apiKey: env.GEOCODER_API_KEY ?? '' })];
  expect(() => createApp({ resources: [defineUser()], extensions }, env)).toThrow(
    'geocoder.apiKey: set GEOCODER_API_KEY',
  );
});

test('an extension from another package has a table, routes, a job and an event', async () => {
  const finishedEvents: unknown[] = [];
  app.on('report.finished', (event) => void finishedEvents.push(event));
  await ada.call('POST', '/api/things', { name: 'one' });
  const reportRequest = await ada.call('POST', '/api/reports');
  expect(reportRequest.status).toBe(202);
  const { id } = reportRequest.body.data;
  const counts = async () => (await ada.call('GET', `/api/reports/${id}`)).body.data.counts;
  await vi.waitUntil(async () => (await counts()) !== null, { timeout: 60_000 });
  expect(await counts()).toEqual({ user: 1, thing: 1, note: 0 });
  await vi.waitUntil(() => finishedEvents.length > 0, { timeout: 60_000, interval: 20 });
  expect(finishedEvents).toEqual([{ report: id }]);
});

test('the routes of the extension are guarded and are in the OpenAPI document like any others', async () => {
  const bob = await person('Bob');
  expect((await call('POST', '/api/reports')).status).toBe(401);
  expect((await bob.call('POST', '/api/reports')).status).toBe(403);
  expect((await ada.call('GET', '/api/reports/nothing')).status).toBe(404);
  const { body } = await call('GET', '/api/openapi.json');
  expect(Object.keys(body.paths)).toEqual(expect.arrayContaining(['/api/reports', '/api/reports/{id}']));
});

test('host.resources is a list of gateways that load, check and serialize records', async () => {
  const bob = await person('Bob');
  const user: Viewer = { id: bob.id, roles: ['user'] };
  const { id } = await app.service('thing').create({ name: 'one' }, { user });
  const things = host!.resources.find(({ name }) => name === 'thing')!;
  const records = await things.load([id, newId()]);
  expect(records).toHaveLength(1);
  expect(await things.readableBy(records[0]!, { user })).toBe(true);
  expect(await things.serialize(records, { user })).toEqual([(await bob.call('GET', `/api/things/${id}`)).body.data]);
});

test('an extension that adds a resource option acts on the resources that set it', async () => {
  const day = 86_400_000;
  for (const age of [29, 31]) {
    const { id } = await app.service('note').create({});
    await host!.database.write({
      text: 'update notes set created_at = $2 where id = $1',
      values: [id, new Date(Date.now() - age * day).toISOString()],
    });
  }
  await app.service('thing').create({ name: 'kept' });
  const [sweep] = retentionExtension().setup(host!).sweeps!;
  await sweep!.run();
  expect(await app.service('note').count()).toBe(1);
  expect(await app.service('thing').count()).toBeGreaterThan(0);
});
