import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import {
  ACKNOWLEDGE,
  COUNT_WAITING,
  NUMBER_WAITING,
  READ_WAITING,
} from '../../../../src/extensions/webhooks/engine/polling/waiting-sql.ts';
import { blog } from '../../../fixtures/blog/app.ts';
import { createClient, startTestApp } from '../../../support/app.ts';
import { rowsRead } from '../../../support/database/query-plan.ts';
import { startBlog } from '../../../support/processes/app-process.ts';

const { env, person, url: survivor } = await startTestApp(blog);
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());

/** Starts a web process, which can be killed. */
async function startWeb() {
  const web = startBlog('web', {
    ...env,
    PORT: '0',
    RELAY: 'off',
    WEBHOOKS_WORKER: 'off',
    PUSH_WORKER: 'off',
    JOB_WORKER: 'off',
  });
  return { ...web, url: await web.url() };
}

/** Creates a polled endpoint for which `count` deliveries wait. */
async function createWaiting(count: number) {
  const { call, token } = await person('Ann');
  const { body } = await call('POST', '/api/webhooks', { delivery: 'poll', events: ['post.*'] });
  const { id } = body.data;
  await client.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, position, message_id, type, body, status, next_attempt_at, mentions)
     select x.id, $1, x.id, null, 'msg_' || n, 'webhook.test', $2, 'waiting', now(), '{}' from generate_series(1, $3::int) n,
       lateral (select to_hex(extract(epoch from now())::int) || lpad(to_hex($3::int * 10000 + n), 16, '0') as id) x`,
    [id, JSON.stringify({ type: 'webhook.test', data: { webhook: id } }), count],
  );
  return { id: id as string, token };
}

vi.setConfig({ testTimeout: 300_000 });

const countIn = async (table: string, id: string) =>
  (await client.query(`select count(*)::int as n from ${table} where endpoint_id = $1`, [id])).rows[0].n;

/** Inserts a delivery that would be the first or the last, and that waits since some seconds. */
const insertOne = (id: string, message: string, position: number, seconds: number) =>
  client.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, position, message_id, type, body, status, next_attempt_at, mentions)
     select x.id, $1, x.id, $3, $2, 'webhook.test', '{"type":"webhook.test","data":{}}', 'waiting', now() - $4::int * interval '1 second', '{}'
     from (select to_hex(extract(epoch from now())::int) || lpad(to_hex($3::int), 16, '0') as id) x`,
    [id, message, position, seconds],
  );

/** Polls all pages. Returns the ids of the messages, and the last cursor. */
async function pollAll(url: string, { id, token }: { id: string; token: string }) {
  const ids: string[] = [];
  let next = '';
  for (;;) {
    const after = next === '' ? '' : `&after=${next}`;
    const { status, body } = await createClient(url, token)('GET', `/api/webhooks/${id}/poll?limit=100${after}`);
    expect(status).toBe(200);
    next = body.meta.next;
    if (body.data.length === 0) return { ids, next };
    ids.push(...body.data.map((one: { id: string }) => one.id));
  }
}

test('no message is lost if the web process is killed between its response and the acknowledgement', async () => {
  const web = await startWeb();
  const endpoint = await createWaiting(250);
  const before = await pollAll(web.url, endpoint);
  web.child.kill('SIGKILL');
  await web.ended;
  const { ids, next } = await pollAll(survivor, endpoint);
  expect(ids).toHaveLength(250);
  expect(ids).toEqual(before.ids);
  // The cursor of the process that was killed is as good.
  expect(before.next).not.toBe('');
  const { body } = await createClient(survivor, endpoint.token)('POST', `/api/webhooks/${endpoint.id}/ack`, {
    cursor: next,
  });
  expect(body.data).toEqual({ acknowledged: 250 });
  expect((await pollAll(survivor, endpoint)).ids).toEqual([]);
});

test('an acknowledgement whose process is killed midway can be repeated, and each message is finished once', async () => {
  const web = await startWeb();
  const endpoint = await createWaiting(1200);
  const { ids, next } = await pollAll(web.url, endpoint);
  expect(ids).toHaveLength(1200);
  // The second statement of the acknowledgement waits for this row.
  await client.query('begin');
  await client.query(
    `select from webhook_deliveries where endpoint_id = $1 and poll_number =
       (select poll_number from webhook_deliveries where endpoint_id = $1 order by poll_number offset 700 limit 1) for update`,
    [endpoint.id],
  );
  const path = `/api/webhooks/${endpoint.id}/ack`;
  const cut = createClient(web.url, endpoint.token)('POST', path, { cursor: next }).catch(() => undefined);
  const other = new Client({ connectionString: env.DATABASE_URL });
  await other.connect();
  await vi.waitUntil(
    async () => {
      const { rows } = await other.query('select count(*)::int as n from webhook_delivery_log where endpoint_id = $1', [
        endpoint.id,
      ]);
      return rows[0].n === 500;
    },
    { timeout: 60_000 },
  );
  await other.end();
  web.child.kill('SIGKILL');
  await cut;
  await client.query('rollback');
  // The statement in progress may still have been carried out.
  const rest = await pollAll(survivor, endpoint);
  expect(ids.slice(-rest.ids.length)).toEqual(rest.ids);
  expect((await createClient(survivor, endpoint.token)('POST', path, { cursor: next })).status).toBe(200);
  expect(await countIn('webhook_deliveries', endpoint.id)).toBe(0);
  const { rows } = await client.query(
    `select count(*)::int as n, count(distinct message_id)::int as messages from webhook_delivery_log where endpoint_id = $1 and status = 'succeeded'`,
    [endpoint.id],
  );
  expect(rows).toEqual([{ n: 1200, messages: 1200 }]);
});

test('a server that stops ends the polls that wait, without messages and before their time', async () => {
  const web = await startWeb();
  const { id, token } = await createWaiting(0);
  const polls = Array.from({ length: 3 }, () =>
    createClient(web.url, token)('GET', `/api/webhooks/${id}/poll?wait=60`),
  );
  // Once this has a response, the others have arrived, or are on the way, which a stopping server also answers.
  await createClient(web.url, token)('GET', `/api/webhooks/${id}/poll`);
  web.child.kill('SIGTERM');
  for (const { status, body } of await Promise.all(polls)) expect([status, body.data]).toEqual([200, []]);
  expect(await web.ended).toBe(0);
});

test('a message waits for those of earlier events, but not for long', async () => {
  const { id, token } = await createWaiting(0);
  const idsOf = async () => (await pollAll(survivor, { id, token })).ids;
  // The relay has not handled the event of the registration, because none runs.
  await insertOne(id, 'msg_second', 2_000_000, -3600);
  await insertOne(id, 'msg_first', 1_000_000, 3600);
  expect(await idsOf()).toEqual(['msg_first']);
  await client.query(
    `update webhook_deliveries set next_attempt_at = now() - interval '1 minute' where endpoint_id = $1`,
    [id],
  );
  expect(await idsOf()).toEqual(['msg_first', 'msg_second']);
});

test('a look-up reads only what it returns, however much waits', async () => {
  const endpoint = await createWaiting(5000);
  await client.query('analyze webhook_deliveries');
  await pollAll(survivor, endpoint);
  // Postgres collects statistics at any time. If every message has a number then, it expects none without.
  await client.query('analyze webhook_deliveries');
  const explain = async (text: string, values: unknown[]) => {
    await client.query('begin');
    const { rows } = await client.query(`explain (analyze, format json) ${text}`, values);
    await client.query('rollback');
    return rowsRead(rows[0]['QUERY PLAN'][0].Plan, ['webhook_deliveries']);
  };
  expect(await explain(NUMBER_WAITING, [[endpoint.id]])).toBeLessThan(5);
  await client.query('update webhook_deliveries set poll_number = null where endpoint_id = $1', [endpoint.id]);
  expect(await explain(NUMBER_WAITING, [[endpoint.id]])).toBeLessThan(1600);
  await createClient(survivor, endpoint.token)('GET', `/api/webhooks/${endpoint.id}/poll`);
  expect(await explain(READ_WAITING, [endpoint.id, 0, 20, 1_000_000])).toBeLessThan(50);
  expect(await explain(ACKNOWLEDGE, [endpoint.id, 0, new Date().toISOString(), 500])).toBeLessThan(5);
  expect(await explain(COUNT_WAITING, [endpoint.id, 1000])).toBeLessThan(1100);
});
