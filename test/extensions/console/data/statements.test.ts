import { expect, test } from 'vitest';
import { adminConsole, defineResource, defineUser, f, softDelete } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';
import { countStatements } from '../../../support/database/sent-statements.ts';

const label = defineResource('label', { fields: { name: f.string().required() } });
const item = defineResource('item', {
  fields: { title: f.string(), text: f.text(), label: f.ref('label') },
  softDelete: true,
});
// Without relay and workers, which send statements of their own.
const { app, call } = await startTestApp({
  resources: [defineUser(), label, item],
  extensions: [softDelete(), adminConsole()],
  settings: { http: { pageBytes: 100_000 } },
});
const API = '/console/api/records/item';
const labels = await app.service('label').createMany(Array.from({ length: 20 }, (_, i) => ({ name: `Label ${i}` })));
const items = await app.service('item').createMany(
  Array.from({ length: 60 }, (_, i) => ({
    title: `Item ${i}`,
    label: labels[i % 20]!.id,
  })),
);
const sent = countStatements();

async function count(method: string, path: string, body?: unknown): Promise<number> {
  sent.count();
  const { status } = await call(method, path, body);
  expect([path, status]).toEqual([path, 200]);
  return sent.count();
}

test('a list takes as many statements for one record as for many', async () => {
  await count('GET', API);
  const one = await count('GET', `${API}?limit=1`);
  expect(await count('GET', `${API}?limit=60`)).toBe(one);
  expect(one).toBeLessThanOrEqual(3);
});

test.each(['update', 'delete', 'restore'])(
  'the bulk action %s takes as many statements for one record as for many',
  async (action) => {
    const bulk = (ids: string[]) =>
      count('POST', `${API}/bulk`, { ids, action, ...(action === 'update' && { values: { title: 'changed' } }) });
    const ids = items.map(({ id }) => id);
    await bulk(ids.slice(0, 2));
    const one = await bulk(ids.slice(2, 3));
    expect(await bulk(ids.slice(3, 60))).toBe(one);
  },
);

test('a page of large records has fewer of them, and continues', async () => {
  await app
    .service('item')
    .createMany(Array.from({ length: 4 }, (_, i) => ({ title: `zz ${i}`, text: 'x'.repeat(40_000) })));
  const { body } = await call('GET', `${API}?title[gte]=zz&sort=title`);
  expect(body.data.length).toBeLessThan(4);
  expect(body.meta).toMatchObject({ total: 4, truncated: true, next: expect.any(String) });
  const rest = await call('GET', `${API}?title[gte]=zz&sort=title&after=${body.meta.next}`);
  expect(rest.body.data[0].title).toBe(`zz ${body.data.length}`);
});
