import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { startReceiver } from '../../../../fakes/receiver.ts';
import { backfilling } from '../../../../fixtures/backfills/app.ts';
import { startTestApp } from '../../../../support/app.ts';
import { startProcess } from '../../../../support/processes/app-process.ts';
import { fillEventLog } from '../../../../support/webhooks/event-log.ts';

vi.setConfig({ testTimeout: 300_000 });

const { env, person } = await startTestApp(backfilling, { roles: ['web', 'webhook-worker'] });
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());
const until = (condition: () => Promise<boolean>) => vi.waitUntil(condition, { timeout: 120_000, interval: 20 });

const EVENTS = 3000;
test('a backfill whose relays are killed in the middle sends every event once', async () => {
  const ann = await person('Ann');
  const receiver = await startReceiver();
  afterAll(() => receiver.close());
  await fillEventLog(client, ann.id, EVENTS);
  const { body } = await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['number.drawn'] });
  const endpoint = body.data.id as string;
  const begun = await ann.call('POST', `/api/webhooks/${endpoint}/backfill`, { since: '2020-01-01' });
  const read = async () =>
    (await ann.call('GET', `/api/webhooks/${endpoint}/backfills/${begun.body.data.id}`)).body.data;
  for (const arrived of [1, 1000, 1800]) {
    const relay = startProcess('test/fixtures/backfills/process.ts', env);
    await until(async () => (await read()).sent >= arrived);
    relay.child.kill('SIGKILL');
    await relay.ended;
  }
  startProcess('test/fixtures/backfills/process.ts', env);
  await until(async () => (await read()).status === 'finished');
  expect(await read()).toMatchObject({ sent: EVENTS });
  await receiver.received(EVENTS, 200_000);
  const numbers = receiver.requests.map((request) => JSON.parse(request.body).data.number as number);
  expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: EVENTS }, (_, i) => i + 1));
});
