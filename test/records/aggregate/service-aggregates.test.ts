// Aggregates for code: with system privilege, on behalf of a user, and inside a transaction.
import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const invoice = defineResource('invoice', {
  fields: {
    status: f.enum(['open', 'paid']).default('open').filterable().aggregatable(),
    amount: f.decimal({ precision: 12, scale: 2 }).aggregatable().visibleTo('owner'),
    margin: f.number().hidden(),
    count: f.integer(),
    paidAt: f.date(),
    customer: f.ref('user').owner(),
  },
  policies: { list: 'owner | admin' },
});
const { app, person } = await startTestApp({ resources: [defineUser(), invoice] });
const ann = await person('Ann');
const invoices = app.service(invoice);
for (const [i, status] of (['open', 'open', 'paid'] as const).entries())
  await invoices.create({
    status,
    amount: `${i + 1}.10`,
    margin: i,
    count: i,
    paidAt: '2026-11-24T23:30:00Z',
    ...(i === 0 ? {} : { customer: ann.id }),
  });

test('the system may use every stored field with comparable values, hidden ones too', async () => {
  const { data } = await invoices.aggregate({
    group: ['status', { day: 'paidAt' }],
    sum: ['margin', 'amount'],
    countDistinct: ['customer'],
    timeZone: 'Europe/Berlin',
    sort: '-status',
  });
  expect(data).toEqual([
    {
      group: { status: 'paid', 'day(paidAt)': '2026-11-25' },
      sum: { margin: 2, amount: '3.10' },
      countDistinct: { customer: 1 },
    },
    {
      group: { status: 'open', 'day(paidAt)': '2026-11-25' },
      sum: { margin: 1, amount: '3.20' },
      countDistinct: { customer: 1 },
    },
  ]);
  const recent = await invoices.aggregate({ group: [{ year: 'createdAt' }], limit: 1 });
  expect(recent.data[0]!.count).toBe(3);
});

test('code filters with typed values, by every field, and by one that has the name of a parameter', async () => {
  const countOf = async (where: object) =>
    (await invoices.aggregate({ where: where as { status?: string } })).data[0]!.count;
  expect(await countOf({ status: ['open', 'paid'], margin: { gte: 1 } })).toBe(2);
  expect(await countOf({ count: { lt: 1 } })).toBe(1);
  expect(await countOf({ paidAt: { lt: new Date('2026-01-01') } })).toBe(0);
});

test('on behalf of a user, policies and field rules apply', async () => {
  const user = { id: ann.id, roles: ['user'] };
  expect((await invoices.aggregate({ count: true, sum: ['amount'] }, { user })).data).toEqual([
    { group: {}, count: 2, sum: { amount: '5.20' } },
  ]);
  const admin = { id: 'f'.repeat(24), roles: ['admin'] };
  expect((await invoices.aggregate({ count: true, sum: ['amount'] }, { user: admin })).data).toEqual([
    { group: {}, count: 3, sum: { amount: null } },
  ]);
  await expect(invoices.aggregate({ sum: ['margin'] }, { user })).rejects.toThrow('Cannot compute "sum" of "margin"');
  await expect(invoices.aggregate({}, { user: undefined })).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
});

test('inside a transaction, aggregates see its changes', async () => {
  const rollback = new Error('roll back');
  const inside = app.transaction(async (tx) => {
    await tx.service(invoice).create({ amount: '100' });
    const { data } = await tx.service(invoice).aggregate({ sum: ['amount'] });
    expect(data).toEqual([{ group: {}, sum: { amount: '106.30' } }]);
    throw rollback;
  });
  await expect(inside).rejects.toBe(rollback);
  expect((await invoices.aggregate({})).data[0]!.count).toBe(3);
});
