import { Client } from 'pg';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { createApp, defineExtension, defineResource, defineUser, f, webhooks } from '../../../../../src/index.ts';
import { startReceiver } from '../../../../fakes/receiver.ts';
import { startTestApp } from '../../../../support/app.ts';
import { startTcpProxy } from '../../../../support/tcp-proxy.ts';
import { ALL_DELIVERIES } from '../../../../support/webhooks/deliveries.ts';

const NOTES = 8;

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner', create: 'authenticated' },
});
/** The relays whose sweeps have failed since this was last emptied. */
const interrupted = new Set<string>();
/** The relays whose sweep is in progress. */
const sweeping = new Set<string>();
/** The relays that have swept since this was last emptied. */
const swept = new Set<string>();
/** By relay: how often the test has looked since the relay's last sweep. */
const quietPolls = new Map<string, number>();
const RELAYS = ['first', 'second'];
/** An extension whose sweep notices an outage soon, and with it the relay that runs the sweep. */
const noticing = (relay: string) =>
  defineExtension({
    name: 'noticing',
    setup: ({ database }) => ({
      sweeps: [
        {
          name: 'noticing',
          everyMs: 20,
          async run() {
            sweeping.add(relay);
            quietPolls.set(relay, 0);
            try {
              await database.write({ text: 'select 1', values: [] });
            } catch (error) {
              interrupted.add(relay);
              throw error;
            } finally {
              swept.add(relay);
              sweeping.delete(relay);
            }
          },
        },
      ],
    }),
  });
const declared = (relay: string) => ({
  resources: [defineUser(), note] as const,
  extensions: [webhooks({ retrySchedule: [300], pollMs: 50, timeoutMs: 60_000 }), noticing(relay)],
});

const postgres = await startTcpProxy(new URL(process.env.TEST_DATABASE_URL!));
let direct = '';
const { person, env } = await startTestApp(declared('first'), {
  roles: 'all',
  env: (own) => {
    direct = own.DATABASE_URL;
    return { DATABASE_URL: new URL(new URL(own.DATABASE_URL).pathname, postgres.url).href };
  },
});
const second = createApp(declared('second'), env);
await second.start({ roles: ['relay', 'webhook-worker'] });
const client = new Client({ connectionString: direct });
await client.connect();
const receivers = await Promise.all([startReceiver(), startReceiver(), startReceiver()]);
const people = await Promise.all(
  receivers.map(async (receiver, i) => {
    const who = await person(`P${i}`);
    await who.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'] });
    return who;
  }),
);
afterAll(async () => {
  postgres.reopen();
  await second.close();
  await client.end();
  await Promise.all(receivers.map((receiver) => receiver.close()));
  postgres.close();
});

let release: () => void;
beforeEach(async () => {
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  for (const receiver of receivers) {
    receiver.requests.length = 0;
    receiver.answer(async (_request, res) => {
      await released;
      res.writeHead(204).end();
    });
  }
  for (const table of ['webhook_deliveries', 'webhook_delivery_log']) await client.query(`delete from ${table}`);
});

/** Creates notes, and waits until each receiver holds a request. Others are claimed, or wait for a claim. */
async function createNotesUntilInFlight(): Promise<void> {
  for (const who of people) for (let i = 0; i < NOTES; i++) await who.call('POST', '/api/notes', { text: `${i}` });
  await Promise.all(receivers.map((receiver) => receiver.received(1)));
}

/** Whether a relay has noticed the outage: a sweep has failed, or no sweep has run for many times as long as usual. */
function hasNoticed(relay: string): boolean {
  const polls = (quietPolls.get(relay) ?? 0) + 1;
  quietPolls.set(relay, polls);
  return interrupted.has(relay) || polls > 100;
}

/** Shuts Postgres off. Resolves when both relays have noticed. */
async function startOutage(): Promise<void> {
  interrupted.clear();
  postgres.shut();
  await untilNoticed();
}

const untilNoticed = () =>
  vi.waitUntil(() => RELAYS.filter(hasNoticed).length === RELAYS.length, { timeout: 30_000, interval: 10 });

/** Changes the leases as if the outage had lasted for ten minutes. */
const expireLeases = () =>
  client.query(`update webhook_turns set lease_until = now() - interval '10 minutes' where lease_until is not null`);

/** Lets the receivers respond, and waits until all responses are sent. */
async function finishRequests(): Promise<void> {
  release();
  await vi.waitUntil(() => receivers.every(({ inFlight }) => inFlight.now === 0), { interval: 10 });
}

/** Reads the deliveries, each with the error of every attempt, so that a failed test tells what happened. */
const readDeliveries = async () =>
  (
    await client.query<{ status: string; attempts: number; errors: (string | null)[] }>(
      `select status, attempts, jsonb_path_query_array(attempt_log, '$[*].error') as errors from ${ALL_DELIVERIES} d`,
    )
  ).rows;

async function expectEachDeliveredOnce(): Promise<void> {
  const isDone = async () => {
    const rows = await readDeliveries();
    return (
      rows.length === NOTES * people.length && rows.every(({ status }) => status !== 'pending' && status !== 'sending')
    );
  };
  await vi.waitUntil(isDone, { timeout: 60_000, interval: 50 });
  expect(await readDeliveries()).toEqual(
    Array.from({ length: NOTES * people.length }, () => ({ status: 'succeeded', attempts: 1, errors: [null] })),
  );
  expect(receivers.map(({ requests }) => requests.length)).toEqual(people.map(() => NOTES));
}

test('attempts that end while Postgres is down are stored when it is back, and nothing is sent twice', async () => {
  await createNotesUntilInFlight();
  await startOutage();
  await finishRequests();
  postgres.reopen();
  await expectEachDeliveredOnce();
});

test('the same holds after an outage of many minutes, in which every lease has expired', async () => {
  await createNotesUntilInFlight();
  await startOutage();
  await finishRequests();
  await expireLeases();
  postgres.reopen();
  await expectEachDeliveredOnce();
});

test('the same holds if Postgres hangs until every lease has expired, and can be reached again at once', async () => {
  await createNotesUntilInFlight();
  // After the previous outage, sweeps wait for a moment.
  swept.clear();
  await vi.waitUntil(() => swept.size === RELAYS.length, { timeout: 30_000, interval: 1 });
  interrupted.clear();
  postgres.hang();
  await vi.waitUntil(() => sweeping.size === RELAYS.length, { timeout: 30_000, interval: 10 });
  await expireLeases();
  await finishRequests();
  postgres.shut();
  postgres.reopen();
  await untilNoticed();
  await expectEachDeliveredOnce();
});

test('requests that are still in flight when Postgres is back are finished under their leases', async () => {
  await createNotesUntilInFlight();
  await startOutage();
  await expireLeases();
  postgres.reopen();
  await finishRequests();
  await expectEachDeliveredOnce();
});
