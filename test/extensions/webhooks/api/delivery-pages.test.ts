import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { defineUser, webhooks } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';
import { finishDeliveries } from '../../../support/webhooks/deliveries.ts';

const { env, person } = await startTestApp({
  resources: [defineUser()],
  extensions: [webhooks({ pollMs: 3_600_000 })],
});
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());

const ann = await person('Ann');
const created = await ann.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events: ['*'] });
const endpoint: string = created.body.data.id;
const hexId = (start: string, n: number) => start + n.toString(16).padStart(24 - start.length, '0');
// Each event name has every second delivery. All were created in the same moment, as by one transaction.
await client.query(
  `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, next_attempt_at, created_at)
   select '6b01' || lpad(to_hex(n), 20, '0'), $1, '6b00' || lpad(to_hex(n), 20, '0'), 'msg_' || n,
     case n % 2 when 0 then 'user.created' else 'user.updated' end, '{}', now() + interval '1 day', now()
   from generate_series(1, 40) n`,
  [endpoint],
);
await finishDeliveries(client, 'failed', `id <= '${hexId('6b01', 24)}'`);
await finishDeliveries(client, 'succeeded', `id <= '${hexId('6b01', 32)}'`);

const read = (query: string) => ann.call('GET', `/api/webhooks/${endpoint}/deliveries?${query}`);

/** Reads all pages. Returns the numbers of the deliveries in order, and the sizes of the pages. */
async function readAll(query: string): Promise<{ numbers: number[]; sizes: number[] }> {
  const [numbers, sizes]: [number[], number[]] = [[], []];
  for (let after: string | null = ''; after !== null; ) {
    const { status, body } = await read(`${query}${after === '' ? '' : `&after=${after}`}`);
    expect([status, body.error]).toEqual([200, undefined]);
    numbers.push(...body.data.map(({ messageId }: { messageId: string }) => Number(messageId.slice(4))));
    sizes.push(body.data.length);
    after = body.meta.next;
  }
  return { numbers, sizes };
}

const downFrom = (most: number, least: number, step = 1) =>
  Array.from({ length: Math.floor((most - least) / step) + 1 }, (_, i) => most - i * step);

test.each([
  ['', downFrom(40, 1)],
  ['status=failed&', downFrom(24, 1)],
  ['status=succeeded&', downFrom(32, 25)],
  ['status=pending&', downFrom(40, 33)],
  ['event=user.created&', downFrom(40, 2, 2)],
  ['status=failed&event=user.updated&', downFrom(23, 1, 2)],
  ['event=user.deleted&', []],
])('the pages of the log with "%s" contain each delivery once, newest first', async (filter, expected) => {
  const { numbers, sizes } = await readAll(`${filter}limit=7`);
  expect(numbers).toEqual(expected);
  expect(sizes.slice(0, -1).every((size) => size === 7)).toBe(true);
});

test('a cursor of another list, an altered cursor and an invalid filter are refused with an error that names the parameter', async () => {
  const next = async (query: string) => (await read(`${query}limit=2`)).body.meta.next;
  const [ofAll, ofFailed] = [await next(''), await next('status=failed&')];
  const encode = (text: string) => Buffer.from(text).toString('base64url');
  for (const query of [
    `status=failed&after=${ofAll}`,
    `after=${ofFailed}`,
    'after=',
    `after=${encode("' or true")}`,
    `status=failed&after=${encode(`99999999999999999 ${endpoint}`)}`,
    `after=${ofAll}&after=${ofAll}`,
    'event=',
    `event=${'x'.repeat(201)}`,
    'event=a&event=b',
    'offset=1',
  ]) {
    const { status, body } = await read(query);
    expect([query, status, body.error?.code]).toEqual([query, 400, 'BAD_REQUEST']);
  }
  // The largest number that has the form of a time in a cursor is a time that Postgres has.
  const far = await read(`status=failed&limit=1&after=${encode(`9999999999999999 ${endpoint}`)}`);
  expect([far.status, far.body.data.length]).toEqual([200, 1]);
});
