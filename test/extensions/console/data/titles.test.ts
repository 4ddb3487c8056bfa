import { expect, test } from 'vitest';
import { adminConsole, audit, defineResource, defineUser, f } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';

const customer = defineResource('customer', {
  title: '{firstName} {lastName} ({tier}, {rank})',
  fields: {
    firstName: f.string(),
    lastName: f.string().visibleTo('admin'),
    tier: f.enum(['gold', 'silver']),
    rank: f.integer(),
    remark: f.string().searchable(),
  },
  policies: { list: 'public', read: 'public' },
  audit: true,
});
const order = defineResource('order', {
  title: 'No. {number}',
  fields: { number: f.integer(), price: f.decimal(), customer: f.ref('customer') },
  policies: { list: 'public', read: 'public' },
});
const { app, call, person } = await startTestApp({
  resources: [
    defineUser({ title: '{givenName} {familyName}', fields: { givenName: f.string(), familyName: f.string() } }),
    customer,
    order,
  ],
  extensions: [audit(), adminConsole()],
});
const API = '/console/api';
const customers = app.service('customer');
const ada = await customers.create({
  firstName: 'Ada',
  lastName: 'Lovelace',
  tier: 'gold',
  rank: 7,
  remark: 'first of all',
});
const grace = await customers.create({ firstName: 'Grace', lastName: 'Hopper' });
const nameless = await customers.create({ remark: 'nobody knows' });
const first = await app.service('order').create({ number: 12, customer: ada.id });
const get = async (path: string) => (await call('GET', `${API}${path}`)).body;

test('the app names the fields of a template', async () => {
  const { resources } = (await get('/app')).data;
  const found = (name: string) => resources.find((one: { name: string }) => one.name === name);
  expect(found('customer')).toMatchObject({ titleFields: ['firstName', 'lastName', 'tier', 'rank'] });
  expect(found('customer')).not.toHaveProperty('labelField');
  expect(found('order')).toMatchObject({ titleFields: ['number'] });
});

test('lists, records, references and labels name a record in the same way', async () => {
  const name = 'Ada Lovelace (gold, 7)';
  expect((await get('/records/customer?sort=id')).meta.titles).toEqual({
    [ada.id]: name,
    [grace.id]: 'Grace Hopper',
    [nameless.id]: nameless.id,
  });
  expect((await get(`/records/customer/${ada.id}`)).meta.titles).toEqual({ [ada.id]: name });
  const orders = await get('/records/order');
  expect(orders.meta).toMatchObject({
    titles: { [first.id]: 'No. 12' },
    labels: { customer: { [ada.id]: name } },
  });
  expect((await get(`/labels/customer?ids=${ada.id},${nameless.id}`)).data).toEqual({
    [ada.id]: name,
    [nameless.id]: nameless.id,
  });
});

test.each([
  ['Ada Lovelace', ['Ada Lovelace (gold, 7)']],
  ['lovelace, ada', ['Ada Lovelace (gold, 7)']],
  ['Ada Lovelace (gold, 7)', ['Ada Lovelace (gold, 7)']],
  ['race', ['Grace Hopper']],
  ['gold', ['Ada Lovelace (gold, 7)']],
  ['ada of', ['Ada Lovelace (gold, 7)']],
  ['Ada Hopper', []],
  ['%', []],
  ['(', []],
])('a picker finds by "%s" the records %j', async (q, expected) => {
  const { data } = await get(`/references/customer?q=${encodeURIComponent(q)}`);
  expect(data.map(({ label }: { label: string }) => label)).toEqual(expected);
});

test.each(['12', '#12', 'No. 12', 'no', 'No. 13'])(
  'a picker searches numbers for "%s" as people see them',
  async (q) => {
    const expected = ['12', '#12', 'No. 12'].includes(q) ? [{ id: first.id, label: 'No. 12' }] : [];
    expect((await get(`/references/order?q=${encodeURIComponent(q)}`)).data).toEqual(expected);
  },
);

test('the name of a record in "View as" has no field that the viewer does not get', async () => {
  const { data, meta } = await get('/records/customer?as=visitor');
  expect(JSON.stringify({ data, meta })).not.toContain('Lovelace');
  expect(meta.titles[ada.id]).toBe('Ada (gold, 7)');
  const record = await get(`/records/customer/${ada.id}?as=visitor`);
  expect(record.meta.titles).toEqual({ [ada.id]: 'Ada (gold, 7)' });
});

test('accounts are named and found by a template', async () => {
  const user = await person('x');
  await app.service('user').update(user.id, { givenName: 'Mary', familyName: 'Shelley' });
  const { data } = await get('/accounts/users?q=shelley%20mary');
  expect(data).toMatchObject([{ id: user.id, name: 'Mary Shelley' }]);
  expect((await get('/accounts/users?q=mary%20hopper')).data).toEqual([]);
});
