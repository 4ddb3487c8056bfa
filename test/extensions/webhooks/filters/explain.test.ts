import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { ALL_DELIVERIES } from '../../../support/webhooks/deliveries.ts';
import { startFilterApp, subscribe, untilDelivered } from './app.ts';

const { env, person } = await startFilterApp();
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());
const ann = await person('Ann');

/** Creates invoices, and returns the id of the event of the last one. */
async function createInvoices(all: string, ...invoices: object[]): Promise<string> {
  for (const invoice of invoices) await ann.call('POST', '/api/invoices', invoice);
  await untilDelivered(ann, all, invoices.length);
  const { rows } = await client.query(`select max(event_id) as id from ${ALL_DELIVERIES} d where endpoint_id = $1`, [
    all,
  ]);
  return rows[0].id;
}
const explain = async (endpoint: string, event: string) =>
  (await ann.call('GET', `/api/webhooks/${endpoint}/explain?event=${event}`)).body.data;
const testFilter = (endpoint: string, body?: object) => ann.call('POST', `/api/webhooks/${endpoint}/filter/test`, body);

test('an explanation names the condition that the event did not meet', async () => {
  const all = await subscribe(ann, ['invoice.*']);
  const filtered = await subscribe(ann, ['invoice.*'], { 'invoice.*': { status: 'paid', 'total[gte]': '100' } });
  const event = await createInvoices(all, { status: 'paid', total: 99 });
  expect(await explain(filtered, event)).toEqual({
    event,
    reason: 'filter_not_met',
    message: 'The event does not meet the current filter of the endpoint.',
    name: 'invoice.created',
    filter: { event: 'invoice.*', condition: 'total[gte]', error: null },
  });
  // As all other parts of an explanation, the filter is the current one.
  await ann.call('PATCH', `/api/webhooks/${filtered}`, { filter: { 'invoice.created': { status: 'paid' } } });
  expect(await explain(filtered, event)).toMatchObject({ reason: 'changed_since' });
  expect(await explain(all, event)).toMatchObject({ reason: 'delivered' });
});

test('an explanation names a condition that cannot be used any more, with its error', async () => {
  const all = await subscribe(ann, ['invoice.*']);
  const filtered = await subscribe(ann, ['invoice.*'], { 'invoice.*': { status: 'paid' } });
  const filter = JSON.stringify({ 'invoice.*': { gone: 'x' } });
  await client.query('update webhook_endpoints set filter = $2 where id = $1', [filtered, filter]);
  const event = await createInvoices(all, { status: 'paid' });
  expect(await explain(filtered, event)).toMatchObject({
    reason: 'filter_not_met',
    filter: { event: 'invoice.*', condition: 'gone', error: expect.stringMatching(/^Unknown query parameter "gone"/) },
  });
});

test('an explanation of an event that the endpoint does not subscribe to does not mention its filter', async () => {
  const all = await subscribe(ann, ['invoice.*']);
  const filtered = await subscribe(ann, ['invoice.updated'], { 'invoice.*': { status: 'void' } });
  const event = await createInvoices(all, { status: 'paid' });
  expect(await explain(filtered, event)).toMatchObject({ reason: 'filtered' });
  expect(await explain(filtered, event)).not.toHaveProperty('filter');
});

test('the test of a filter says which of the last events meet it, and why the others do not', async () => {
  const gold = (await ann.call('POST', '/api/customers', { name: 'g', tier: 'gold' })).body.data.id;
  const all = await subscribe(ann, ['invoice.*']);
  await createInvoices(
    all,
    { status: 'paid', total: 100, note: 'mine', customer: gold },
    { status: 'open', total: 5, customer: gold },
    { status: 'paid', total: 7 },
  );
  const filter = { 'invoice.*': { status: 'paid', 'customer.tier': 'gold' } };
  const { status, body } = await testFilter(all, { filter });
  expect(status).toBe(200);
  expect(body.data).toEqual([
    expect.objectContaining({
      type: 'invoice.created',
      result: 'no_match',
      failed: { event: 'invoice.*', condition: 'customer.tier', error: null },
    }),
    expect.objectContaining({ result: 'no_match', failed: { event: 'invoice.*', condition: 'status', error: null } }),
    expect.objectContaining({ result: 'match', failed: null }),
  ]);
  // Nothing was stored: without a filter, every event matches.
  expect((await ann.call('GET', `/api/webhooks/${all}`)).body.data.filter).toBeNull();
  await ann.call('PATCH', `/api/webhooks/${all}`, { filter: { 'invoice.created': { note: 'mine' } } });
  const stored = (await testFilter(all)).body.data;
  expect(stored.map(({ result }: { result: string }) => result)).toEqual(['no_match', 'no_match', 'match']);
});

test('which fields an update changed is not known from the log', async () => {
  const all = await subscribe(ann, ['invoice.*']);
  const { id } = (await ann.call('POST', '/api/invoices', { status: 'open' })).body.data;
  await ann.call('PATCH', `/api/invoices/${id}`, { status: 'paid' });
  await untilDelivered(ann, all, 2);
  const results = async (filter: object) =>
    (await testFilter(all, { filter })).body.data.map(({ result }: { result: string }) => result);
  expect(await results({ 'invoice.updated': { changed: ['status'] } })).toEqual(['unknown', 'match']);
  expect(await results({ 'invoice.updated': { changed: ['status'], status: 'void' } })).toEqual(['no_match', 'match']);
});

test('a filter is checked before it is tested, and only the owner of the endpoint tests it', async () => {
  const bob = await person('Bob');
  const all = await subscribe(bob, ['invoice.*']);
  const path = `/api/webhooks/${all}/filter/test`;
  const refused = await bob.call('POST', path, { filter: { 'invoice.*': { internal: 'x' } } });
  expect(refused.status).toBe(422);
  expect(Object.keys(refused.body.error.details)).toEqual(['filter.invoice.*.internal']);
  expect((await bob.call('POST', path, { other: 1 })).status).toBe(422);
  expect((await bob.call('POST', path)).body.data).toEqual([]);
  expect((await ann.call('POST', path)).status).toBe(404);
});

test('tests of filters are limited to 10 per minute and client', async () => {
  const limited = await startFilterApp({ rateLimit: { enabled: true } });
  const eve = await limited.person('Eve');
  const all = await subscribe(eve, ['invoice.*']);
  const statuses: number[] = [];
  for (let i = 0; i < 11; i++) statuses.push((await eve.call('POST', `/api/webhooks/${all}/filter/test`)).status);
  expect(statuses).toEqual([...Array(10).fill(200), 429]);
});
