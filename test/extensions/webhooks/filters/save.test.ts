import { expect, test } from 'vitest';
import { createClient, type Person } from '../../../support/app.ts';
import { startFilterApp, subscribe } from './app.ts';

const { app, person, url: base } = await startFilterApp();
const ann = await person('Ann');
const root = await person('Root', ['admin']);

const send = (who: Pick<Person, 'call'>, filter: unknown, events = ['invoice.*', 'customer.*']) =>
  who.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events, filter });
async function errorsOf(filter: unknown, events?: string[], who: Pick<Person, 'call'> = ann) {
  const { status, body } = await send(who, filter, events);
  expect(status, JSON.stringify(body)).toBe(422);
  return body.error.details as Record<string, string>;
}

test('an endpoint returns its filter, PATCH changes it, and null removes it', async () => {
  const filter = {
    'invoice.*': { status: 'paid', 'total[gte]': 100 },
    'invoice.updated': { changed: ['status', 'memo'] },
  };
  const created = await send(ann, filter);
  const stored = { ...filter, 'invoice.*': { status: 'paid', 'total[gte]': '100' } };
  expect(created.body.data).toMatchObject({ filter: stored, filterError: null });
  const { id } = created.body.data;
  const path = `/api/webhooks/${id}`;
  expect((await ann.call('GET', path)).body.data).toMatchObject({ filter: stored, filterError: null });
  expect((await ann.call('PATCH', path, { description: 'x' })).body.data.filter).toEqual(stored);
  const next = { 'invoice.*': { 'customer.tier': 'gold' } };
  expect((await ann.call('PATCH', path, { filter: next })).body.data.filter).toEqual(next);
  const listed = (await ann.call('GET', '/api/webhooks')).body.data;
  expect(listed.find((one: { id: string }) => one.id === id)).toMatchObject({ filter: next, filterError: null });
  expect((await ann.call('PATCH', path, { filter: null })).body.data).toMatchObject({
    filter: null,
    filterError: null,
  });
});

test('events about the endpoint carry its filter', async () => {
  const heard: { webhook: { filter: unknown } }[] = [];
  app.on('webhook.updated', (payload) => heard.push(payload as never));
  const id = await subscribe(ann, ['invoice.*']);
  const filter = { 'invoice.paid': {} };
  expect((await ann.call('PATCH', `/api/webhooks/${id}`, { filter })).status).toBe(422);
  await ann.call('PATCH', `/api/webhooks/${id}`, { filter: { 'invoice.created': { status: 'open' } } });
  expect(heard.map(({ webhook }) => webhook.filter)).toEqual([{ 'invoice.created': { status: 'open' } }]);
});

test.each<[what: string, filter: unknown, path: string, message: RegExp]>([
  ['no object', 'paid', 'filter', /^Must be an object/],
  ['a list', [], 'filter', /^Must be an object/],
  ['an empty object', {}, 'filter', /^Must be an object/],
  ['an event without conditions', { 'invoice.*': {} }, 'filter.invoice.*', /at least one condition/],
  ['a list of conditions', { 'invoice.*': ['status'] }, 'filter.invoice.*', /at least one condition/],
  ['an event without an object', { 'invoice.*': null }, 'filter.invoice.*', /at least one condition/],
  ['every event', { '*': { status: 'paid' } }, 'filter.*', /name one resource/],
  [
    'an unknown event',
    { 'invoice.eaten': { status: 'paid' } },
    'filter.invoice.eaten',
    /^Must be an event or a pattern/,
  ],
  ['an unknown resource', { 'nothing.*': { status: 'paid' } }, 'filter.nothing.*', /^Must be an event or a pattern/],
  ['a resource without webhooks', { 'quiet.*': { title: 'x' } }, 'filter.quiet.*', /^Must be an event or a pattern/],
  ['an event of the app', { 'report.made': { pages: '1' } }, 'filter.report.made', /the app publishes/],
  ['events of the app only', { 'report.*': { pages: '1' } }, 'filter.report.*', /the app publishes/],
  [
    'an event of the app with the name of a resource',
    { 'invoice.printed': { pages: 1 } },
    'filter.invoice.printed',
    /publishes/,
  ],
  [
    'an unknown field',
    { 'invoice.*': { colour: 'red' } },
    'filter.invoice.*.colour',
    /^Unknown query parameter "colour"; filterable/,
  ],
  [
    'a field that is not filterable',
    { 'invoice.*': { memo: 'x' } },
    'filter.invoice.*.memo',
    /^Unknown query parameter "memo"/,
  ],
  ['a hidden field', { 'invoice.*': { pin: '1' } }, 'filter.invoice.*.pin', /^Unknown query parameter "pin"/],
  ['an unknown operator', { 'invoice.*': { 'total[like]': '1' } }, 'filter.invoice.*.total[like]', /its operators: /],
  ['a value of the wrong type', { 'invoice.*': { total: 'ten' } }, 'filter.invoice.*.total', /value of the wrong type/],
  [
    'an unknown value of an enum',
    { 'invoice.*': { status: 'gone' } },
    'filter.invoice.*.status',
    /value of the wrong type/,
  ],
  [
    'null as a value',
    { 'invoice.*': { status: null } },
    'filter.invoice.*.status',
    /^Must be a text, a number or a boolean/,
  ],
  [
    'a list as a value',
    { 'invoice.*': { status: ['paid'] } },
    'filter.invoice.*.status',
    /^Must be a text, a number or a boolean/,
  ],
  [
    'an object as a value',
    { 'invoice.*': { total: { gte: 1 } } },
    'filter.invoice.*.total',
    /^Must be a text, a number or a boolean/,
  ],
  ['a NUL character', { 'invoice.*': { note: 'a\0' } }, 'filter.invoice.*.note', /invalid characters/],
  [
    'a condition given twice',
    { 'invoice.*': { status: 'paid', 'status[eq]': 'open' } },
    'filter.invoice.*.status',
    /must be given once/,
  ],
  ['a search', { 'invoice.*': { q: 'text' } }, 'filter.invoice.*.q', /^Unknown query parameter "q"/],
  ['an order', { 'invoice.*': { sort: 'total' } }, 'filter.invoice.*.sort', /^Unknown query parameter "sort"/],
  [
    'an unknown path',
    { 'invoice.*': { 'customer.colour': 'x' } },
    'filter.invoice.*.customer.colour',
    /filterable fields of "customer"/,
  ],
  [
    'a path over a field that is not filterable',
    { 'invoice.*': { 'user.name': 'x' } },
    'filter.invoice.*.user.name',
    /^Unknown query/,
  ],
  [
    'a path that is too long',
    { 'invoice.*': { 'customer.a.b.c.d.e': 'x' } },
    'filter.invoice.*.customer.a.b.c.d.e',
    /more than 4 relations/,
  ],
  [
    'the key __proto__',
    JSON.parse('{"invoice.*":{"status":"paid","__proto__":"x"}}'),
    'filter.invoice.*.__proto__',
    /^Unknown query/,
  ],
  [
    'the event __proto__',
    JSON.parse('{"__proto__":{"status":"paid"}}'),
    'filter.__proto__',
    /^Must be an event or a pattern/,
  ],
  [
    'changes of an unknown field',
    { 'invoice.updated': { changed: ['colour'] } },
    'filter.invoice.updated.changed',
    /^Unknown field "colour"/,
  ],
  [
    'changes of a hidden field',
    { 'invoice.updated': { changed: ['pin'] } },
    'filter.invoice.updated.changed',
    /^Unknown field "pin"/,
  ],
  ['no changed field', { 'invoice.updated': { changed: [] } }, 'filter.invoice.updated.changed', /at least one field/],
  [
    'changed fields that are no texts',
    { 'invoice.updated': { changed: [1] } },
    'filter.invoice.updated.changed',
    /at least one field/,
  ],
  [
    'changes in creations',
    { 'invoice.created': { changed: ['status'] } },
    'filter.invoice.created.changed',
    /^Must stand under/,
  ],
  ['changes in all events', { 'invoice.*': { changed: ['status'] } }, 'filter.invoice.*.changed', /"invoice.updated"/],
  ['more than 4 KB', { 'invoice.*': { 'note[in]': 'x'.repeat(4100) } }, 'filter', /at most 4096 bytes/],
])('a filter with %s is refused with its path', async (_, filter, path, message) => {
  const details = await errorsOf(filter);
  expect(Object.keys(details)).toEqual([path]);
  expect(details[path]).toMatch(message);
});

test('20 conditions are allowed in all, 21 are not', async () => {
  const events = ['created', 'updated', 'deleted'].map((name) => `invoice.${name}`);
  const conditions = ['status', 'total', 'total[ne]', 'total[gt]', 'total[gte]', 'total[lt]', 'total[lte]'];
  const filter = (count: number) => {
    const all = events.flatMap((event) => conditions.map((name) => [event, name] as const)).slice(0, count);
    const parts = Map.groupBy(all, ([event]) => event);
    return Object.fromEntries(
      Array.from(parts, ([event, list]) => [
        event,
        Object.fromEntries(list.map(([, name]) => [name, name === 'status' ? 'paid' : '1'])),
      ]),
    );
  };
  expect((await send(ann, filter(20))).status).toBe(201);
  expect(await errorsOf(filter(21))).toEqual({ filter: 'Must have at most 20 conditions' });
});

test('a filter names every condition that is wrong', async () => {
  const filter = { 'invoice.*': { colour: 'red', total: 'ten', status: 'paid' }, 'customer.*': { colour: 'red' } };
  expect(Object.keys(await errorsOf(filter))).toEqual([
    'filter.invoice.*.colour',
    'filter.invoice.*.total',
    'filter.customer.*.colour',
  ]);
});

test('a field that the owner sees in no record is refused, also of related records, for changes and by functions', async () => {
  const refused: Record<string, object> = {
    'filter.invoice.*.internal': { 'invoice.*': { internal: 'x' } },
    'filter.invoice.*.internal[exists]': { 'invoice.*': { 'internal[exists]': false } },
    'filter.invoice.*.customer.creditLimit[gt]': { 'invoice.*': { 'customer.creditLimit[gt]': 5 } },
    'filter.customer.*.banker.code': { 'customer.*': { 'banker.code': 'x' } },
    'filter.invoice.updated.changed': { 'invoice.updated': { changed: ['internal'] } },
  };
  // Policy functions decide about single records, so they cannot show a field in advance.
  const judged = { 'invoice.updated': { changed: ['judged'] } };
  for (const [path, filter] of Object.entries(refused)) {
    const details = await errorsOf(filter);
    expect(Object.keys(details)).toEqual([path]);
    expect(details[path]).toMatch(/^You may not see "/);
  }
  for (const who of [ann, root])
    expect((await errorsOf(judged, undefined, who))['filter.invoice.updated.changed']).toMatch(
      /^You may not see "judged"/,
    );
  for (const filter of Object.values(refused)) expect((await send(root, filter)).status).toBe(201);
  // Owners of records see the field of theirs.
  expect((await send(ann, { 'invoice.*': { note: 'x' } })).status).toBe(201);
});

test('a filter needs events that the endpoint subscribes to, also after these change', async () => {
  const filter = { 'invoice.updated': { status: 'paid' } };
  const notSubscribed = { 'filter.invoice.updated': 'Must be an event to which the webhook subscribes' };
  expect(await errorsOf(filter, ['invoice.created', 'customer.*'])).toEqual(notSubscribed);
  for (const events of [['*'], ['invoice.*'], ['invoice.updated']])
    expect((await send(ann, filter, events)).status).toBe(201);
  expect((await send(ann, { 'invoice.*': { status: 'paid' } }, ['invoice.created'])).status).toBe(201);
  const id = await subscribe(ann, ['invoice.*'], filter);
  const change = await ann.call('PATCH', `/api/webhooks/${id}`, { events: ['invoice.created'] });
  expect(change.status).toBe(422);
  expect(change.body.error.details).toEqual(notSubscribed);
  const both = await ann.call('PATCH', `/api/webhooks/${id}`, { events: ['customer.created'], filter: null });
  expect(both.body.data).toMatchObject({ events: ['customer.created'], filter: null });
});

test('a field with the name `changed` is filtered by a text, and changes by a list', async () => {
  const filter = { 'invoice.updated': { changed: 'yes' } };
  expect((await send(ann, filter)).body.data.filter).toEqual(filter);
  const list = { 'invoice.updated': { changed: ['changed'] } };
  expect((await send(ann, list)).body.data.filter).toEqual(list);
});

test('a filter of an API key follows only references that the key may read, and binds the endpoint to the key', async () => {
  const keyOf = async (...scopes: string[]) => {
    const { body } = await ann.call('POST', '/api/auth/api-keys', { name: 'script', scopes });
    return { id: body.data.id as string, call: createClient(base, body.data.key) };
  };
  const narrow = await keyOf('webhooks:*', 'invoices:read');
  const wide = await keyOf('webhooks:*', 'invoices:read', 'customers:read');
  const filter = { 'invoice.*': { 'customer.tier': 'gold' } };
  const details = await errorsOf(filter, ['invoice.*'], narrow);
  expect(details).toEqual({ 'filter.invoice.*.customer.tier': expect.stringMatching(/^You may not see/) });
  expect((await send(wide, filter, ['invoice.*'])).body.data).toMatchObject({ filter, apiKeyId: wide.id });
  // A session sets the filter of an endpoint that is bound to a key.
  const bound = await subscribe(narrow, ['invoice.*']);
  expect((await ann.call('PATCH', `/api/webhooks/${bound}`, { filter })).status).toBe(422);
  expect((await ann.call('PATCH', `/api/webhooks/${bound}`, { filter, apiKeyId: null })).status).toBe(200);
  // A key that changes a filter binds the endpoint, so that its conditions reveal nothing that the key may not read.
  const own = await subscribe(ann, ['invoice.*'], filter);
  const rebound = await narrow.call('PATCH', `/api/webhooks/${own}`, { url: 'http://127.0.0.1:9/other' });
  expect(rebound.status).toBe(422);
  const changed = await narrow.call('PATCH', `/api/webhooks/${own}`, { filter: { 'invoice.*': { status: 'paid' } } });
  expect(changed.body.data).toMatchObject({ apiKeyId: narrow.id });
});

test('the catalogue names the fields that the caller may filter by, with their operators', async () => {
  const read = async (who: Person, name: string) =>
    (await who.call('GET', `/api/webhooks/event?name=${name}`)).body.data as {
      filters: { field: string; operators: string[] }[];
      changed: string[];
    };
  const mine = await read(ann, 'invoice.updated');
  expect(mine.filters.map(({ field }) => field)).toEqual(['status', 'total', 'note', 'changed', 'customer']);
  expect(mine.filters[1]!.operators).toContain('gte');
  expect(mine.changed).toEqual(['status', 'total', 'note', 'memo', 'changed', 'customer', 'user']);
  expect((await read(root, 'invoice.updated')).filters.map(({ field }) => field)).toContain('internal');
  expect((await read(ann, 'invoice.created')).changed).toEqual([]);
  expect(await read(ann, 'invoice.printed')).toMatchObject({ filters: [], changed: [] });
});
