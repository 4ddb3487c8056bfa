// Checked only by the compiler: the types of aggregates follow from the declaration and the query.
import { expectTypeOf, test } from 'vitest';
import { type AnyService, defineResource, f, type Services } from '../../src/index.ts';

const ticket = defineResource('ticket', {
  fields: {
    status: f.enum(['open', 'closed']).required(),
    team: f.string(),
    hours: f.number(),
    price: f.decimal().required(),
    dueAt: f.date(),
    author: f.ref('user').owner(),
  },
});
declare const service: Services;
const tickets = service(ticket);

test('the keys and values of a result are those of the query', async () => {
  const { data, meta } = await tickets.aggregate({
    group: ['status', { month: 'createdAt' }, 'team'],
    count: true,
    sum: ['hours', 'price'],
    max: ['dueAt', 'hours'],
    countDistinct: ['author'],
  });
  expectTypeOf(meta).toEqualTypeOf<{ groups: number; truncated: boolean }>();
  const one = data[0]!;
  expectTypeOf(one.group).toEqualTypeOf<{
    status: 'open' | 'closed' | null;
    'month(createdAt)': string | null;
    team: string | null;
  }>();
  expectTypeOf(one.count).toEqualTypeOf<number>();
  expectTypeOf(one.sum).toEqualTypeOf<{ hours: number | null; price: string | null }>();
  expectTypeOf(one.max).toEqualTypeOf<{ dueAt: string | null; hours: number | null }>();
  expectTypeOf(one.countDistinct).toEqualTypeOf<{ author: number }>();
  // @ts-expect-error the query computes no average
  expectTypeOf(one.avg);
});

test('a query without aggregates counts, and one with others does not', async () => {
  const counted = await tickets.aggregate({ group: ['team'], where: { status: 'open', hours: { gte: 1 } } });
  expectTypeOf(counted.data[0]!.count).toEqualTypeOf<number>();
  const summed = await tickets.aggregate({ sum: ['hours'] });
  expectTypeOf(summed.data[0]!.sum.hours).toEqualTypeOf<number | null>();
  // @ts-expect-error the query does not count
  expectTypeOf(summed.data[0]!.count);
});

test('only declared fields, date units and known parameters compile', () => {
  const compile = (_run: () => unknown) => undefined;
  // @ts-expect-error an unknown field
  compile(() => tickets.aggregate({ group: ['colour'] }));
  // @ts-expect-error an unknown field in a bucket
  compile(() => tickets.aggregate({ group: [{ month: 'made' }] }));
  // @ts-expect-error an unknown unit
  compile(() => tickets.aggregate({ group: [{ minute: 'createdAt' }] }));
  // @ts-expect-error an unknown field in a function
  compile(() => tickets.aggregate({ sum: ['hour'] }));
  // @ts-expect-error an unknown parameter
  compile(() => tickets.aggregate({ count: true, status: 'open' }));
  // @ts-expect-error a filter value of an unknown kind
  compile(() => tickets.aggregate({ where: { status: { like: 'x' } } }));
});

test('a service of unknown fields accepts any field', async () => {
  const untyped: AnyService = service('ticket');
  const { data } = await untyped.aggregate({ group: ['status', { day: 'createdAt' }], sum: ['hours'] });
  expectTypeOf(data[0]!.group).toHaveProperty('day(createdAt)');
  const any: AnyService = tickets;
  await any.aggregate({});
});
