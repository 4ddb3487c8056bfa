import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const item = defineResource('item', {
  fields: { n: f.integer().required(), kind: f.string(), owner: f.ref('user').owner() },
  policies: { list: 'owner | admin', create: 'authenticated' },
});
const { app, person } = await startTestApp({ resources: [defineUser(), item] });
const items = app.service(item);
for (let n = 0; n < 250; n++) await items.create({ n, kind: n % 2 === 0 ? 'even' : 'odd' });

async function collect<T>(all: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of all) found.push(one);
  return found;
}
const numbers = Array.from({ length: 250 }, (_, n) => n);

test('each() returns every record of a list once, in the requested order', async () => {
  expect((await collect(items.each())).map(({ n }) => n)).toEqual(numbers);
  expect((await collect(items.each({ sort: '-n' }))).map(({ n }) => n)).toEqual(numbers.toReversed());
  const even = await collect(items.each({ kind: 'even', n: { lt: 210 } }));
  expect(even.map(({ n }) => n)).toEqual(numbers.filter((n) => n % 2 === 0 && n < 210));
  expect(await collect(items.each({ kind: 'none' }))).toEqual([]);
});

test('each() returns every record once while other records are changed and deleted', async () => {
  const seen: number[] = [];
  for await (const one of items.each({ kind: 'odd' })) {
    seen.push(one.n);
    await items.update(one.id, { kind: 'done' });
  }
  expect(seen).toEqual(numbers.filter((n) => n % 2 === 1));
  expect(await items.count({ kind: 'odd' })).toBe(0);
});

test('each() reads one page at a time: a loop that ends early reads no further', async () => {
  const seen: number[] = [];
  for await (const { n } of items.each()) {
    if (n === 99) await items.create({ n: 250, kind: 'late' });
    seen.push(n);
    if (seen.length === 120) break;
  }
  expect(seen).toEqual(numbers.slice(0, 120));
  // The late record is created before the page that contains it is read.
  expect((await collect(items.each())).at(-1)).toMatchObject({ n: 250 });
});

test("each() applies the policies of a user, and runs in the caller's transaction", async () => {
  const ada = await person('Ada');
  const user = { id: ada.id, roles: ['user'] };
  await items.create({ n: 1000, owner: ada.id });
  expect((await collect(items.each({}, { user }))).map(({ n }) => n)).toEqual([1000]);
  await expect(collect(items.each({}, { user: undefined }))).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  await app.transaction(async (tx) => {
    await tx.service('item').create({ n: 1001, kind: 'own' });
    expect((await collect(tx.service('item').each({ kind: 'own' }))).map(({ n }) => n)).toEqual([1001]);
  });
});

test('each() refuses options that would return only a part of the list', async () => {
  const part = { limit: 5 } as never;
  await expect(collect(items.each(part))).rejects.toThrow('each() reads every record of a list; leave out "limit"');
});

test('a call of code can read up to 1,000 records, for a user as well', async () => {
  const user = { id: (await person('Bob', ['user', 'admin'])).id, roles: ['admin'] };
  expect((await items.list({ limit: 1000 }, { user })).data.length).toBeGreaterThan(250);
  await expect(items.list({ limit: 1001 }, { user })).rejects.toMatchObject({ code: 'BAD_REQUEST' });
});
