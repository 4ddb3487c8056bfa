// Invalid queries of aggregates get a 400 that names the parameter and says what is allowed.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createApp, defineResource, defineUser, f } from '../../../src/index.ts';
import { anyCharacter } from '../../support/any-text.ts';
import { startTestApp } from '../../support/app.ts';
import { scaleRuns } from '../../support/vitest/fuzz-runs.ts';

const item = defineResource('item', {
  fields: {
    status: f.enum(['open', 'closed']).filterable().aggregatable(),
    name: f.string().aggregatable(),
    kind: f.string().aggregatable(),
    team: f.string().aggregatable(),
    size: f.number().aggregatable(),
    count: f.integer().filterable().aggregatable(),
    at: f.date().aggregatable(),
    closed: f.string(),
    hidden: f.string().hidden(),
  },
  policies: { list: 'public', create: 'public' },
});
const { app, call } = await startTestApp({ resources: [defineUser(), item] });
for (const size of [1e308, 1e308]) await app.service(item).create({ size, count: 1, at: '2026-10-25T00:30:00Z' });

const many = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}${i}`).join();
const groups = 'groups: status, name, kind, team, size, count, month(at)';
const numbers = 'fields: size, count';

test.each([
  ['group=', 'The query parameter "group" needs field names, joined by commas'],
  ['group=status,', 'The query parameter "group" needs field names, joined by commas'],
  ['group=status&group=name', 'The query parameter "group" must be given once'],
  ['group=status,status', 'The query parameter "group" names "status" twice'],
  ['group=status,name,kind,team', 'The query parameter "group" takes at most 3 fields'],
  [`group=${'x'.repeat(10_000)}`, `Cannot group by "${'x'.repeat(100)}…"; ${groups}`],
  [`group=${many('x', 2000)}`, 'The query parameter "group" takes at most 3 fields'],
  ['group=closed', `Cannot group by "closed"; ${groups}`],
  ['group=hidden', `Cannot group by "hidden"; ${groups}`],
  ['group=createdAt', `Cannot group by "createdAt"; ${groups}`],
  ['group=month(createdAt)', `Cannot group by "month(createdAt)"; ${groups}`],
  ['group=month(status)', `Cannot group by "month(status)"; ${groups}`],
  ['group=__proto__', `Cannot group by "__proto__"; ${groups}`],
  ['group=constructor(at)', 'Cannot group dates by "constructor"; units: hour, day, week, month, quarter, year'],
  ['group=minute(at)', 'Cannot group dates by "minute"; units: hour, day, week, month, quarter, year'],
  [
    'group=at',
    'Cannot group by the date "at" itself; group by one of: hour, day, week, month, quarter, year, as in month(at)',
  ],
  ['sum=name', `Cannot compute "sum" of "name"; ${numbers}`],
  ['sum=at', `Cannot compute "sum" of "at"; ${numbers}`],
  ['sum=', 'The query parameter "sum" needs field names, joined by commas'],
  ['avg=toString', `Cannot compute "avg" of "toString"; ${numbers}`],
  ['min=status', 'Cannot compute "min" of "status"; fields: size, count, at'],
  ['median=size', 'Unknown query parameter "median"; filterable fields: status, count'],
  ['count=1', 'The query parameter "count" takes no value: it adds the number of records to each group'],
  ['count&sum=size,count&avg=size,count&min=size,count,at&max=size,count,at', 'A query takes at most 10 aggregates'],
  ['page=2', 'The query parameter "page" is only for lists'],
  ['include=author', 'The query parameter "include" is only for lists'],
  ['limit=0', 'The query parameter "limit" must be a whole number from 1 to 1000'],
  ['limit=1001', 'The query parameter "limit" must be a whole number from 1 to 1000'],
  ['sort=-size', 'Cannot sort groups by "size"; requested here: count'],
  ['group=status&sort=status,-status', 'The query parameter "sort" names a term twice'],
  ['timeZone=Mars/Olympus', 'The query parameter "timeZone" must be an IANA time zone, such as Europe/Berlin, or UTC'],
  ['timeZone=%2B02:00', 'The query parameter "timeZone" must be an IANA time zone, such as Europe/Berlin, or UTC'],
  ['timeZone=CET', 'The query parameter "timeZone" must be an IANA time zone, such as Europe/Berlin, or UTC'],
  ["timeZone=UTC'--", 'The query parameter "timeZone" must be an IANA time zone, such as Europe/Berlin, or UTC'],
  ['sum=size', 'A sum or an average is too large for a number; add a filter'],
  ['name=x', 'Unknown query parameter "name"; filterable fields: status, count'],
])('?%s is refused', async (query, message) => {
  const { status, body } = await call('GET', `/api/items/aggregate?${query}`);
  expect([status, body.error?.code, body.error?.message]).toEqual([400, 'BAD_REQUEST', message]);
});

test('a filter by a field that has the name of a parameter is written with its operator', async () => {
  const { body } = await call('GET', '/api/items/aggregate?count&count[eq]=1&group=count');
  expect(body.data).toEqual([{ group: { count: 1 }, count: 2 }]);
});

test('no query makes the server fail, whatever it contains', async () => {
  const names = ['group', 'count', 'sum', 'avg', 'min', 'max', 'countDistinct', 'sort', 'limit', 'timeZone', 'status'];
  const words = ['status', 'month(at)', 'hour(at)', 'count', 'size', '-count', '10', 'Europe/Berlin', 'Etc/GMT+5'];
  const value = fc.oneof(
    fc.constantFrom(...words),
    fc.string({ unit: anyCharacter }),
    fc.array(fc.constantFrom(...words)).map(String),
  );
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.constantFrom(...names), value), async (query) => {
      const { status } = await call('GET', `/api/items/aggregate?${new URLSearchParams(query)}`);
      expect(status).toBeLessThan(500);
    }),
    { numRuns: scaleRuns(150) },
  );
});

test('code gets the same errors, and some for mistakes of its own', async () => {
  const bad = (query: object) => app.service('item').aggregate(query as never, { user: undefined });
  await expect(bad({ group: ['closed'] })).rejects.toThrow(`Cannot group by "closed"; ${groups}`);
  await expect(bad({ group: 'status' })).rejects.toThrow('"group" takes a list of fields');
  await expect(bad({ sum: [{ month: 'at' }] })).rejects.toThrow('"sum" has a term that is not a field');
  await expect(bad({ group: [{ month: 'at', day: 'at' }] })).rejects.toThrow("a bucket: { month: 'createdAt' }");
  await expect(bad({ status: 'open' })).rejects.toThrow('Unknown parameter "status" of aggregates; filters belong in');
  await expect(bad({ where: { page: 2 } })).rejects.toThrow('Unknown filter "page"');
  await expect(bad({ where: { closed: 'x' } })).rejects.toThrow('Unknown query parameter "closed"');
  await expect(bad({ where: { status: undefined } })).rejects.toThrow('the filter "status" is undefined');
});

test('declarations that would reveal values, or do nothing, are configuration errors', () => {
  const wrong = defineResource('wrong', {
    timestamps: false,
    fields: {
      secret: f.string().hidden().aggregatable(),
      pin: f.string().writeOnly().aggregatable(),
      sealed: f.string().encrypted().aggregatable(),
      word: f.password().aggregatable(),
      ruled: f
        .string()
        .visibleTo(() => true)
        .aggregatable(),
      unseen: f.string().visibleTo('none').aggregatable(),
      tags: f.array(f.string()).aggregatable(),
      data: f.json().aggregatable(),
      long: f.text().aggregatable(),
      inside: f.object({ n: f.number().aggregatable() }),
    },
    aggregates: { timestamps: ['createdAt'] },
    routes: (route) => [route.get('/aggregate', () => 'mine')],
  });
  const start = () =>
    createApp(
      { resources: [defineUser(), wrong] },
      { NODE_ENV: 'test', DATABASE_URL: 'postgres://x', REDIS_URL: 'redis://x' },
    );
  let message = '';
  try {
    start();
  } catch (error) {
    message = (error as Error).message;
  }
  for (const text of [
    'field "secret": hidden() cannot be combined with aggregatable()',
    'field "pin": writeOnly() cannot be combined with aggregatable()',
    'field "sealed": encrypted() and aggregatable cannot be combined',
    'field "word": a password cannot be combined with aggregatable()',
    'field "ruled": visibleTo(function) and aggregatable() cannot be combined',
    'field "unseen": visibleTo("none") and aggregatable() cannot be combined',
    'field "tags": aggregatable() does nothing on a array field',
    'field "data": aggregatable() does nothing on a json field',
    'field "long": aggregatable() does nothing on a text field',
    'field "inside.n": aggregatable has no effect inside an array or object',
    'route GET /wrongs/aggregate: aggregatable() and aggregates add this route; choose another path',
    'aggregates: with timestamps: false, records have no createdAt and updatedAt',
  ])
    expect(message).toContain(text);
});
