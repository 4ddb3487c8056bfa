import { expect, test } from 'vitest';
import { ApiError, defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const ticket = defineResource('ticket', {
  fields: {
    number: f.integer(),
    title: f.string().lowercase(),
    status: f.enum(['open', 'done']).filterable(),
    secret: f.string().hidden(),
    sealed: f.string().encrypted(),
    word: f.password(),
    tags: f.array(f.string()),
    due: f.date(),
    urgent: f.boolean(),
    assignee: f.ref('user'),
    notes: f.text().visibleTo('admin').filterable(['eq']),
    data: f.json(),
  },
  policies: { list: 'public', read: 'public' },
});
const tally = defineResource('tally', {
  fields: { count: f.integer(), page: f.integer() },
  policies: { list: 'public' },
});

const { app, person, call } = await startTestApp({ resources: [defineUser(), ticket, tally] });
const ann = await person('Ann');
const tickets = app.service('ticket');
await tickets.create({
  number: 1,
  title: 'One',
  status: 'open',
  secret: 'a',
  tags: ['x', 'y'],
  due: '2026-01-01',
  urgent: true,
  assignee: ann.id,
  notes: 'n',
});
await tickets.create({
  number: 2,
  title: 'Two',
  status: 'done',
  secret: 'b',
  tags: ['y'],
  sealed: 's',
  word: 'a bell rings at noon',
});
await tickets.create({ number: 3, title: 'three, or more' });

/** The numbers of the tickets that a system query returns. */
async function found(query: Record<string, never>): Promise<(number | undefined)[]> {
  const { data, meta } = await tickets.list({ sort: 'number', ...query });
  expect(await tickets.count(query)).toBe(meta.total);
  expect((await tickets.first({ sort: 'number', ...query }))?.number).toBe(data[0]?.number);
  return data.map((one) => one.number);
}

test.each<[Record<string, unknown>, number[]]>([
  [{}, [1, 2, 3]],
  [{ number: 1 }, [1]],
  [{ number: '1' }, [1]],
  [{ number: { gte: 2, lt: 3 } }, [2]],
  [{ number: { gte: '2' } }, [2, 3]],
  [{ 'number[gte]': 2 }, [2, 3]],
  [{ 'number[in]': '1,3' }, [1, 3]],
  [{ 'number[in]': [1, 3] }, [1, 3]],
  [{ number: [1, 3, 7] }, [1, 3]],
  [{ number: [] }, []],
  [{ number: { ne: 2 } }, [1, 3]],
  [{ title: 'ONE' }, [1]],
  [{ title: 'three, or more' }, [3]],
  [{ title: ['three, or more', 'one'] }, [1, 3]],
  [{ secret: 'b' }, [2]],
  [{ secret: { in: ['a', null] } }, [1, 3]],
  [{ secret: null }, [3]],
  [{ assignee: null }, [2, 3]],
  [{ assignee: { ne: null } }, [1]],
  [{ assignee: { exists: false } }, [2, 3]],
  [{ 'assignee[exists]': 'true' }, [1]],
  [{ assignee: ann.id }, [1]],
  [{ tags: 'y' }, [1, 2]],
  [{ tags: { all: ['x', 'y'] } }, [1]],
  [{ due: new Date('2026-01-01') }, [1]],
  [{ due: { lte: new Date() } }, [1]],
  [{ urgent: true }, [1]],
  [{ urgent: 'true' }, [1]],
  [{ sealed: { exists: true } }, [2]],
  [{ data: null }, [1, 2, 3]],
  [{ createdAt: { lte: new Date(Date.now() + 60_000) } }, [1, 2, 3]],
  [{ number: { gte: 1 }, secret: 'a' }, [1]],
  [{ notes: 'n' }, [1]],
])('the system can filter by every stored field, whatever clients may filter by: %j', async (query, numbers) => {
  expect(await found(query as never)).toEqual(numbers);
});

test.each<[Record<string, unknown>, string]>([
  [{ nope: 1 }, 'Unknown field "nope" in a filter'],
  [{ word: 'a bell rings at noon' }, 'Unknown field "word" in a filter'],
  [{ sealed: 's' }, 'The field "sealed" cannot be filtered with "eq"; its operators: exists'],
  [{ number: 'one' }, 'The filter "number" has a value of the wrong type'],
  [{ number: {} }, 'The filter "number" needs an operator'],
  [{ number: new Map() }, 'The filter "number" needs an operator'],
  [{ number: { like: 1 } }, 'The field "number" cannot be filtered with "like"'],
  [{ number: { in: 1 } }, 'The operator "in" of the filter "number" takes a list'],
  [{ number: { exists: 1 } }, 'The operator "exists" of the filter "number" takes true or false'],
  [{ number: [1, 'x'] }, 'The filter "number" has a value of the wrong type'],
  [{ title: { gt: null } }, 'The filter "title" has a value of the wrong type'],
  [{ title: 'a\0' }, 'contains characters that are not allowed'],
  [{ sort: 'tags' }, 'Cannot sort by "tags"'],
  [{ sort: 'sealed' }, 'Cannot sort by "sealed"'],
  [{ sort: 'word' }, 'Cannot sort by "word"'],
  [{ limit: 1001 }, 'must be a whole number from 1 to 1000'],
  [{ count: 'all' }, 'The query parameter "count" can only be "exact", "capped" or "none"'],
])('a filter that no query can evaluate is refused, for the system too: %j', async (query, message) => {
  const error = await tickets.list(query as never).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  expect([error.code, error.message]).toEqual(['BAD_REQUEST', expect.stringContaining(message)]);
});

test.each<Record<string, unknown>>([
  { assignee: undefined },
  { assignee: { eq: undefined } },
  { assignee: [undefined] },
  { 'assignee[in]': [ann.id, undefined] },
  { assignee: { in: [undefined] } },
  { nope: undefined },
])(
  'an undefined filter is refused for the system and for users, since it would match every record: %j',
  async (query) => {
    for (const as of [undefined, { user: undefined }]) {
      for (const ask of [tickets.list, tickets.first, tickets.count]) {
        await expect(ask(query as never, as as never)).rejects.toThrow(TypeError);
      }
    }
  },
);

test('undefined is allowed for list options that are not filters', async () => {
  const words = {
    page: undefined,
    limit: undefined,
    sort: undefined,
    after: undefined,
    q: undefined,
    fields: undefined,
  };
  const { meta } = await tickets.list({ ...words, include: undefined, count: undefined });
  expect(meta).toMatchObject({ total: 3, limit: 20 });
});

test('the system can sort by every scalar field, and continue after any record', async () => {
  for (const sort of ['secret', '-secret', 'due', 'title', 'id', '-assignee', 'urgent,-number']) {
    const first = await tickets.list({ sort, limit: 2, count: 'none' });
    const nextPage = await tickets.list({ sort, limit: 2, after: first.meta.next! });
    const all = (await tickets.list({ sort })).data.map((one) => one.id);
    expect([...first.data, ...nextPage.data].map((one) => one.id)).toEqual(all);
  }
  expect((await tickets.list({ sort: 'secret', limit: 1000 })).meta.limit).toBe(1000);
});

test('a call with a user is limited to what clients may query, in the same syntax', async () => {
  const as = { user: await app.service('user').read(ann.id) };
  expect((await tickets.list({ status: ['open', 'done'] }, as)).meta.total).toBe(2);
  expect((await tickets.list({ status: { ne: 'open' } }, as)).meta.total).toBe(2);
  expect((await tickets.list({ status: null }, as)).meta.total).toBe(1);
  expect(await tickets.count({ status: 'open' }, as)).toBe(1);
  expect((await tickets.first({ status: 'done' }, as))?.number).toBe(2);
  // A field that the user does not see reveals nothing.
  expect(await tickets.count({ notes: 'n' }, as)).toBe(0);
  for (const query of [
    { number: 1 },
    { secret: 'a' },
    { 'secret[eq]': 'a' },
    { sort: 'number' },
    { limit: 1001 },
    { notes: null },
  ]) {
    await expect(tickets.list(query as never, as)).rejects.toMatchObject({ code: 'BAD_REQUEST' });
  }
  expect((await call('GET', '/api/tickets?number=1')).status).toBe(400);
});

test('a field named count can be filtered by, and a list parameter keeps its meaning', async () => {
  const tallies = app.service('tally');
  await tallies.create({ count: 5, page: 9 });
  await tallies.create({ count: 6 });
  expect(await tallies.count({ count: 5 })).toBe(1);
  expect((await tallies.first({ count: { gt: 5 } }))?.count).toBe(6);
  expect((await tallies.list({ count: 'none' })).data).toHaveLength(2);
  await expect(tallies.list({ count: undefined as never })).rejects.toThrow(TypeError);
  expect((await tallies.list({ page: 2 })).data).toEqual([]);
});
