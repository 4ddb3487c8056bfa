import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import type { WebhooksApi } from '../../../../src/extensions/webhooks/index.ts';
import type { EventDeclarations } from '../../../../src/extensions/webhooks/settings/events.ts';
import { createClient, type Person } from '../../../support/app.ts';
import { delivered, startFilterApp, subscribe, untilDelivered } from './app.ts';

const { app, env, person, url: base } = await startFilterApp();
// The type of the test helper does not know the APIs that extensions add.
const { publish } = (app as unknown as { webhooks: WebhooksApi<EventDeclarations> }).webhooks;
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());
const ann = await person('Ann');
const bob = await person('Bob');
const root = await person('Root', ['admin']);

const id = ({ body }: { body: { data: { id: string } } }) => body.data.id;
const create = async (who: Person, invoice: object) => id(await who.call('POST', '/api/invoices', invoice));
const update = (who: Person, invoice: string, changes: object) =>
  who.call('PATCH', `/api/invoices/${invoice}`, changes);

/**
 * Creates an endpoint for each filter, and one without a filter. Runs the changes, of which the last one is the `count`-th of the unfiltered
 * endpoint.
 *
 * @returns the deliveries of each endpoint
 */
async function receivedBy(
  who: Pick<Person, 'call'>,
  filters: readonly object[],
  count: number,
  changes: () => Promise<unknown>,
  { events = ['invoice.*'], ...other }: { events?: string[]; scope?: string } = {},
): Promise<string[][]> {
  const all = await subscribe(who, events, null, other);
  const ids = await Promise.all(filters.map((filter) => subscribe(who, events, filter, other)));
  await changes();
  await untilDelivered(who, all, count);
  const lists = await Promise.all(ids.map((one) => delivered(who, one)));
  for (const one of [all, ...ids]) await who.call('DELETE', `/api/webhooks/${one}`);
  return lists;
}

test('an endpoint gets the events that meet all conditions of every pattern that matches their name', async () => {
  const invoices: string[] = [];
  const filters = [
    { 'invoice.*': { status: 'paid', 'total[gte]': '100' } },
    { 'invoice.created': { status: 'paid' }, 'invoice.*': { 'total[lt]': '150' } },
    { 'invoice.updated': { status: 'paid' } },
    { 'invoice.*': { 'status[in]': 'open,void' } },
    { 'invoice.*': { 'customer[exists]': 'true' } },
  ];
  const lists = await receivedBy(ann, filters, 4, async () => {
    for (const [status, total] of [
      ['paid', 100],
      ['paid', 99],
      ['open', 500],
    ] as const)
      invoices.push(await create(ann, { status, total }));
    await update(ann, invoices[2]!, { status: 'paid' });
  });
  const [a, b, c] = invoices;
  expect(lists).toEqual([
    [`invoice.created ${a}`, `invoice.updated ${c}`],
    [`invoice.created ${a}`, `invoice.created ${b}`],
    [`invoice.created ${a}`, `invoice.created ${b}`, `invoice.created ${c}`, `invoice.updated ${c}`],
    [`invoice.created ${c}`],
    [],
  ]);
});

test('a filter applies to its own resource only, and not to events that the app publishes', async () => {
  const customers: string[] = [];
  const invoices: string[] = [];
  const filter = { 'invoice.*': { status: 'paid' } };
  const all = await subscribe(ann, ['*']);
  const filtered = await subscribe(ann, ['*'], filter);
  invoices.push(await create(ann, { status: 'open' }));
  customers.push(id(await ann.call('POST', '/api/customers', { name: 'c' })));
  await publish('invoice.printed', { pages: 3 }, { owner: ann.id });
  await untilDelivered(ann, all, 3);
  expect(await delivered(ann, filtered)).toEqual([`customer.created ${customers[0]}`, 'invoice.printed -']);
});

test('conditions on related records are met by their current state, as far as the owner may see them', async () => {
  const [gold, free] = await Promise.all(
    ['gold', 'free'].map(async (tier) => id(await ann.call('POST', '/api/customers', { name: tier, tier }))),
  );
  const filters = [
    { 'invoice.*': { 'customer.tier': 'gold' } },
    { 'invoice.*': { 'customer.tier': 'gold', 'customer.name': 'free' } },
    { 'invoice.*': { 'customer.name[ne]': 'gold', status: 'open' } },
  ];
  const made: string[] = [];
  const lists = await receivedBy(ann, filters, 3, async () => {
    for (const customer of [gold, free, undefined]) made.push(await create(ann, { customer }));
  });
  expect(lists).toEqual([[`invoice.created ${made[0]}`], [], [`invoice.created ${made[1]}`]]);
});

test('`changed` is met by updates that changed at least one of the fields', async () => {
  const filters = [
    { 'invoice.updated': { changed: ['status', 'memo'] } },
    { 'invoice.updated': { changed: ['total'], status: 'paid' } },
    { 'invoice.updated': { changed: ['customer'] } },
  ];
  const lists = await receivedBy(ann, filters, 4, async () => {
    const invoice = await create(ann, { status: 'open', total: 1, memo: 'a' });
    await update(ann, invoice, { total: 2 });
    await update(ann, invoice, { status: 'paid', total: 2 });
    await update(ann, invoice, { total: 3, memo: null });
  });
  // The creation matches no pattern, so it passes.
  expect(lists.map((list) => list.length)).toEqual([3, 2, 1]);
});

test('a condition on a field that only the owner of a record sees is met by records of the endpoint’s owner', async () => {
  const filters = [
    { 'invoice.*': { note: 'x' } },
    { 'invoice.*': { 'note[ne]': 'y' } },
    { 'invoice.*': { 'note[exists]': 'false' } },
  ];
  const changed = [{ 'invoice.updated': { changed: ['note'] } }];
  let mine = '';
  const lists = await receivedBy(ann, filters, 2, async () => {
    await create(bob, { note: 'x' });
    mine = await create(ann, { note: 'x' });
  });
  expect(lists).toEqual([[`invoice.created ${mine}`], [`invoice.created ${mine}`], []]);
  const [updates] = await receivedBy(ann, changed, 3, async () => {
    const others = await create(bob, { note: 'x' });
    await update(bob, others, { note: 'z' });
    await update(ann, mine, { note: 'z' });
  });
  expect(updates!.filter((one) => one.startsWith('invoice.updated'))).toEqual([`invoice.updated ${mine}`]);
});

test('a field that only administrators see can be filtered by them, also at a global endpoint', async () => {
  const filter = { 'invoice.*': { internal: 'secret' } };
  let hit = '';
  const [list] = await receivedBy(
    root,
    [filter],
    2,
    async () => {
      await create(bob, { internal: 'other' });
      hit = await create(bob, { internal: 'secret' });
    },
    { scope: 'global' },
  );
  expect(list).toEqual([`invoice.created ${hit}`]);
});

test('an endpoint whose owner lost the right to see a field gets nothing more, and says so', async () => {
  const eve = await person('Eve', ['admin']);
  const all = await subscribe(eve, ['invoice.*']);
  const filtered = await subscribe(eve, ['invoice.*'], { 'invoice.*': { internal: 'secret' } });
  const negated = await subscribe(eve, ['invoice.*'], { 'invoice.*': { 'internal[ne]': 'other' } });
  const changed = await subscribe(eve, ['invoice.*'], { 'invoice.updated': { changed: ['internal'] } });
  const invoice = await create(bob, { internal: 'secret' });
  await untilDelivered(eve, all, 1);
  expect((await delivered(eve, filtered)).length).toBe(1);
  await app.service('user').update(eve.id, { roles: ['user'] });
  await update(bob, invoice, { memo: 'm', internal: 'secret' });
  await update(bob, invoice, { memo: 'n', internal: 'third' });
  await untilDelivered(eve, all, 3);
  expect((await delivered(eve, filtered)).length).toBe(1);
  expect((await delivered(eve, negated)).length).toBe(1);
  expect((await delivered(eve, changed)).filter((one) => one.startsWith('invoice.updated'))).toEqual([]);
  const { body } = await eve.call('GET', `/api/webhooks/${filtered}`);
  expect(body.data.filterError).toMatch(/^filter\.invoice\.\*\.internal: You may not see "internal"/);
  // The rest of the endpoint can still be changed, and the filter be removed.
  expect((await eve.call('PATCH', `/api/webhooks/${filtered}`, { description: 'x' })).status).toBe(200);
  expect((await eve.call('PATCH', `/api/webhooks/${filtered}`, { filter: null })).body.data.filterError).toBeNull();
});

test('a filter that a change of the app made invalid is never met, and the endpoint says so', async () => {
  const all = await subscribe(ann, ['invoice.*', 'customer.*']);
  const stale: Record<string, object> = {};
  const filters = [
    { 'invoice.*': { gone: 'x' } },
    { 'invoice.created': { 'status[gone]': 'x' } },
    { 'invoice.*': { status: 'removed' } },
    { 'invoice.*': { memo: 'x' } },
    { 'invoice.*': { 'gone.name': 'x' } },
    { 'invoice.*': { status: 'open', pin: '1' } },
  ];
  for (const filter of filters) {
    const endpoint = await subscribe(ann, ['invoice.*', 'customer.*']);
    await client.query('update webhook_endpoints set filter = $2 where id = $1', [endpoint, JSON.stringify(filter)]);
    stale[endpoint] = filter;
  }
  await create(ann, { status: 'open', memo: 'x' });
  await ann.call('POST', '/api/customers', { name: 'c' });
  await untilDelivered(ann, all, 2);
  for (const endpoint of Object.keys(stale)) {
    const list = await delivered(ann, endpoint);
    // Other resources are not filtered.
    expect([endpoint, list.map((one) => one.split(' ')[0])]).toEqual([endpoint, ['customer.created']]);
    const { body } = await ann.call('GET', `/api/webhooks/${endpoint}`);
    expect(body.data.filterError).toMatch(/^filter\.invoice\./);
  }
});

test('an endpoint that is bound to an API key gets nothing by references that the key may no longer read', async () => {
  const { body } = await ann.call('POST', '/api/auth/api-keys', {
    name: 'script',
    scopes: ['webhooks:*', 'invoices:read', 'customers:read'],
  });
  const key = { call: createClient(base, body.data.key) };
  const filter = { 'invoice.*': { 'customer.tier': 'gold' } };
  const all = await subscribe(ann, ['invoice.*']);
  const [wide, narrow] = [await subscribe(key, ['invoice.*'], filter), await subscribe(key, ['invoice.*'], filter)];
  await client.query(`update webhook_endpoints set key_scopes = '{webhooks:*,invoices:read}' where id = $1`, [narrow]);
  const gold = id(await ann.call('POST', '/api/customers', { name: 'g', tier: 'gold' }));
  const made = await create(ann, { customer: gold });
  await untilDelivered(ann, all, 1);
  expect(await delivered(ann, wide)).toEqual([`invoice.created ${made}`]);
  expect(await delivered(ann, narrow)).toEqual([]);
  expect((await ann.call('GET', `/api/webhooks/${narrow}`)).body.data.filterError).toMatch(
    /customer\.tier: You may not see/,
  );
});

test('existing deliveries are retried and recovered, whatever the filter is now', async () => {
  const all = await subscribe(ann, ['invoice.*']);
  const endpoint = await subscribe(ann, ['invoice.*']);
  const since = new Date(Date.now() - 60_000).toISOString();
  await create(ann, { status: 'open' });
  await untilDelivered(ann, endpoint, 1);
  const filter = { 'invoice.*': { status: 'void' } };
  expect((await ann.call('PATCH', `/api/webhooks/${endpoint}`, { filter })).status).toBe(200);
  await create(ann, { status: 'open' });
  await untilDelivered(ann, all, 2);
  const log = await ann.call('GET', `/api/webhooks/${endpoint}/deliveries`);
  expect(log.body.data.length).toBe(1);
  const retry = `/api/webhooks/${endpoint}/deliveries/${log.body.data[0].id}/retry`;
  expect((await ann.call('POST', retry)).status).toBe(200);
  expect((await ann.call('POST', `/api/webhooks/${endpoint}/recover`, { since })).status).toBe(202);
  expect((await delivered(ann, endpoint)).length).toBe(1);
});
