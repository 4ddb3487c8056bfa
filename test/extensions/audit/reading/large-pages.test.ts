import { expect, test, vi } from 'vitest';
import { audit, defineResource, defineUser, f } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';

const policies = { list: 'public', read: 'public', create: 'authenticated' } as const;
const sheet = defineResource('sheet', { fields: { text: f.text(), json: f.json() }, policies, audit: true });
// An erasure of the owner removes the values of its entries, so they are stored in a separate table.
const letter = defineResource('letter', {
  fields: { json: f.json(), author: f.ref('user').owner() },
  policies,
  audit: true,
});

const PAGE_BYTES = 10_000;
const { app, person } = await startTestApp(
  {
    resources: [defineUser({ roles: ['user', 'admin'] }), sheet, letter],
    extensions: [audit()],
    settings: { http: { pageBytes: PAGE_BYTES } },
  },
  { roles: 'all' },
);
const root = await person('Root', ['user', 'admin']);

const path = (resource: string, limit: number) => `/api/admin/audit?resource=${resource}&action=created&limit=${limit}`;

/** Waits until the relay has written the entries. */
async function hasEntries(resource: string, count: number): Promise<void> {
  await vi.waitUntil(
    async () => {
      let [entries, next]: [number, string | null] = [0, ''];
      while (next !== null) {
        const { body } = await root.call('GET', path(resource, 200) + (next === '' ? '' : `&after=${next}`));
        entries += body.data.length;
        next = body.meta.next;
      }
      return entries === count;
    },
    { timeout: 30_000, interval: 50 },
  );
}

const makeSheet = async (values: object) => (await app.service('sheet').create(values)).id;
const makeLetter = async (values: object) => (await app.service('letter').create({ author: root.id, ...values })).id;

test.each([
  ['letters', 'sheet', makeSheet, { text: 'x'.repeat(1500) }],
  ['control characters', 'sheet', makeSheet, { text: '\u0001'.repeat(300) }],
  ['JSON that Postgres compresses', 'sheet', makeSheet, { json: { same: 'x'.repeat(7000) } }],
  ['values that an erasure removes', 'letter', makeLetter, { json: { same: 'x'.repeat(7000) } }],
])(
  'a page of the audit trail contains as many entries as fit, and the next page continues after them: %s',
  async (_, name, make, values) => {
    const before: number = (await root.call('GET', `/api/${name}s?limit=1`)).body.meta.total;
    const ids: string[] = [];
    for (let i = 0; i < 10; i++) ids.unshift(await make(values));
    await hasEntries(name, before + ids.length);

    const found: string[] = [];
    let next: string | undefined;
    while (found.length < ids.length) {
      const { status, body, headers } = await root.call('GET', path(name, 9) + (next ? `&after=${next}` : ''));
      expect(status).toBe(200);
      expect(body.data[0].changes).toMatchObject(
        Object.fromEntries(Object.entries(values).map(([field, to]) => [field, { to }])),
      );
      if (found.length === 0) expect(body.meta).toEqual({ limit: 9, next: expect.any(String), truncated: true });
      expect(Number(headers.get('content-length'))).toBeLessThan(PAGE_BYTES + 4000);
      found.push(...body.data.map(({ record }: { record: string }) => record));
      next = body.meta.next;
    }
    expect(found.slice(0, ids.length).toSorted()).toEqual(ids.toSorted());
  },
);

test('a complete page of the audit trail is not marked as truncated', async () => {
  await app.service('sheet').create({ text: 'short' });
  await app.service('sheet').create({ text: 'short' });
  const first = await vi.waitUntil(async () => {
    const { body } = await root.call('GET', path('sheet', 1));
    return body.data[0]?.changes?.text?.to === 'short' ? body : undefined;
  });
  expect(first.data).toHaveLength(1);
  expect(first.meta).toEqual({ limit: 1, next: expect.any(String) });
});
