import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { defineResource, defineUser, f } from '../../src/index.ts';
import { reportsExtension } from '../fixtures/reports.ts';
import { startTestApp } from '../support/app.ts';

const thing = defineResource('thing', { fields: { name: f.string() }, policies: { create: 'authenticated' } });
const { app, call, person } = await startTestApp({
  resources: [defineUser(), thing],
  extensions: [reportsExtension()],
});
const ada = await person('Ada', ['user', 'admin']);

test('the example in docs/extensions.md matches this fixture', () => {
  const root = join(import.meta.dirname, '..', '..');
  const fixture = readFileSync(join(root, 'test', 'fixtures', 'reports.ts'), 'utf8');
  expect(readFileSync(join(root, 'docs', 'extensions.md'), 'utf8')).toContain(
    `\`\`\`ts\n${fixture.replace('../../src/index.ts', '../../index.ts')}\`\`\``,
  );
});

test('an extension from another package has a table, routes, a job and an event', async () => {
  const told: unknown[] = [];
  app.on('report.finished', (event) => void told.push(event));
  await ada.call('POST', '/api/things', { name: 'one' });
  const asked = await ada.call('POST', '/api/reports');
  expect(asked.status).toBe(202);
  const { id } = asked.body.data;
  const counts = async () => (await ada.call('GET', `/api/reports/${id}`)).body.data.counts;
  await vi.waitUntil(async () => (await counts()) !== null, { timeout: 60_000 });
  expect(await counts()).toEqual({ user: 1, thing: 1 });
  await vi.waitUntil(() => told.length > 0, { timeout: 60_000, interval: 20 });
  expect(told).toEqual([{ report: id }]);
});

test('the routes of the extension are guarded and are in the OpenAPI document like any others', async () => {
  const bob = await person('Bob');
  expect((await call('POST', '/api/reports')).status).toBe(401);
  expect((await bob.call('POST', '/api/reports')).status).toBe(403);
  expect((await ada.call('GET', '/api/reports/nothing')).status).toBe(404);
  const { body } = await call('GET', '/api/openapi.json');
  expect(Object.keys(body.paths)).toEqual(expect.arrayContaining(['/api/reports', '/api/reports/{id}']));
});
