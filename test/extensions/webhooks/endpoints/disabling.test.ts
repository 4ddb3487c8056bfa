import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { RECORD_RESULTS } from '../../../../src/extensions/webhooks/engine/delivery/record-results.ts';
import { createApp, defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../support/app.ts';
import { reopenDeliveries } from '../../../support/webhooks/deliveries.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const made = (options: object = {}) =>
  ({
    resources: [defineUser(), note],
    extensions: [webhooks({ retrySchedule: [], pollMs: 50, disableAfterFailures: 3, ...options })],
  }) as const;
const first = await startTestApp(made(), { roles: 'all', env: () => ({ APP_URL: 'https://belfry.example.com' }) });
const { app, env } = first;
const quiet = await startTestApp(made({ notifyOwner: false, disableAfterFailures: 0 }), { roles: 'all' });
const patient = await startTestApp(made({ retrySchedule: ['5s', '30s'] }), { roles: 'all' });
const second = createApp(made(), env);
await second.start({ roles: ['relay', 'webhook-worker', 'push-worker'] });
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const opened: { close(): Promise<unknown> }[] = [];
afterAll(async () => {
  await Promise.all([second, ...opened].map((one) => one.close()));
  await client.end();
});

interface DisabledEvent {
  webhook: { id: string; status: string; secret?: string };
  owner: string;
  reason: string;
}
const disabledEvents: DisabledEvent[] = [];
for (const one of [app, second]) one.on('webhook.disabled', (payload) => disabledEvents.push(payload as DisabledEvent));
const disabledEventsOf = (id: string) => disabledEvents.filter(({ webhook }) => webhook.id === id);

interface Subscriber {
  who: Person;
  receiver: Receiver;
  id: string;
}
async function subscriber(name: string, other: object = {}, { person } = first): Promise<Subscriber> {
  const receiver = await startReceiver();
  opened.push(receiver);
  const who = await person(name);
  const body = { url: receiver.url, events: ['note.created'], ...other };
  const answer = await who.call('POST', '/api/webhooks', body);
  return { receiver, who, id: answer.body.data.id };
}
const until = (condition: () => unknown) => vi.waitUntil(condition, { timeout: 60_000, interval: 20 });
const read = async ({ who, id }: Subscriber) => (await who.call('GET', `/api/webhooks/${id}`)).body.data;
const log = async ({ who, id }: Subscriber) => (await who.call('GET', `/api/webhooks/${id}/deliveries`)).body.data;
/** Creates a note and waits until its delivery has finished. */
async function deliver(one: Subscriber): Promise<void> {
  const before = (await log(one)).length;
  await one.who.call('POST', '/api/notes', { text: 'x' });
  await until(async () => {
    const list: { status: string }[] = await log(one);
    return list.length > before && list.every(({ status }) => /succeeded|failed/.test(status));
  });
}
/** Returns the e-mails to an owner, without those about created and failing endpoints, which other tests cover. */
const mailsTo = async ({ who }: Subscriber) =>
  (await app.captured.mails()).filter(({ to, subject }) => to === who.email && !/was created| fails$/.test(subject));
/** Resolves once all e-mails requested so far have been captured. */
async function mailed(): Promise<void> {
  await until(async () => (await client.query('select from mails where finished_at is null')).rowCount === 0);
}

test('only deliveries that use up their schedule count; a success in between restarts the count', async () => {
  const one = await subscriber('Row');
  one.receiver.answer(500, 500, 204, 500, 500, 500);
  for (const failures of [1, 2, 0, 1, 2]) {
    await deliver(one);
    const status = failures > 0 ? 'failing' : 'active';
    expect(await read(one)).toMatchObject({ consecutiveFailures: failures, status, enabled: true });
  }
  await deliver(one);
  expect(await read(one)).toMatchObject({
    consecutiveFailures: 3,
    status: 'disabled',
    enabled: false,
    disabledReason: 'failing',
    lastError: 'status 500',
  });
  // With an empty schedule, each delivery is one attempt.
  expect((await log(one)).every(({ attempts }: { attempts: number }) => attempts === 1)).toBe(true);
});

test('parallel failures in two processes disable an endpoint once, with one event and one e-mail; waiting deliveries are not sent', async () => {
  const one = await subscriber('Parallel');
  one.receiver.answer(500);
  await Promise.all(Array.from({ length: 30 }, () => one.who.call('POST', '/api/notes', { text: 'x' })));
  await until(() => disabledEventsOf(one.id).length > 0);
  const other = await subscriber('Marker');
  await deliver(other);
  await mailed();
  expect(disabledEventsOf(one.id)).toHaveLength(1);
  expect(await mailsTo(one)).toHaveLength(1);
  const calls = one.receiver.requests.length;
  for (let i = 0; i < 5; i++) await deliver(other);
  expect(one.receiver.requests).toHaveLength(calls);
  expect((await read(one)).enabled).toBe(false);
});

test('the event contains the endpoint without its secret, its owner and the reason', async () => {
  const one = await subscriber('Event');
  one.receiver.answer(410);
  await deliver(one);
  await until(() => disabledEventsOf(one.id).length > 0);
  const { filterError: _, ...webhook } = await read(one);
  expect(disabledEventsOf(one.id)).toEqual([{ webhook, owner: one.who.id, reason: 'gone' }]);
  expect(disabledEventsOf(one.id)[0]!.webhook).not.toHaveProperty('secret');
});

test.each([
  ['gone', 410, 1, 'responded with 410 Gone'],
  ['failing', 503, 3, 'The last 3 deliveries failed on every attempt. The last error: status 503.'],
])(
  'an owner gets an e-mail when an endpoint is disabled as %s, without any text that the owner chose',
  async (_, status, times, why) => {
    const one = await subscriber('Mailed', { description: 'Win a prize' });
    await one.who.call('PATCH', `/api/webhooks/${one.id}`, { url: `${one.receiver.url}/win-a-prize` });
    one.receiver.answer(status);
    for (let i = 0; i < times; i++) await deliver(one);
    await until(async () => (await mailsTo(one)).length > 0);
    const [mail] = await mailsTo(one);
    expect(mail!.subject).toBe('Your webhook endpoint was disabled');
    expect(mail!.text).toContain(`${one.id} at belfry.example.com, created on `);
    expect(mail!.text).toContain('for note.created');
    expect(mail!.text).toContain(why);
    expect(JSON.stringify(mail)).not.toMatch(/prize|127\.0\.0\.1|whsec_/i);
  },
);

test('an owner who disables an endpoint gets no e-mail; the event says manual and is emitted only if the endpoint was enabled', async () => {
  const one = await subscriber('Manual');
  for (const enabled of [false, false, true, true, false]) {
    await one.who.call('PATCH', `/api/webhooks/${one.id}`, { enabled });
  }
  expect(disabledEventsOf(one.id).map(({ reason }) => reason)).toEqual(['manual', 'manual']);
  await mailed();
  expect(await mailsTo(one)).toEqual([]);
});

test('with notifyOwner: false no e-mail is sent', async () => {
  const one = await subscriber('Quiet', {}, quiet);
  one.receiver.answer(410);
  await deliver(one);
  expect(await read(one)).toMatchObject({ enabled: false });
  expect(await quiet.app.captured.mails()).toEqual([]);
});

test('with disableAfterFailures: 0 no number of failed deliveries disables an endpoint', async () => {
  const one = await subscriber('Never', {}, quiet);
  one.receiver.answer(500);
  for (let i = 0; i < 8; i++) await deliver(one);
  expect(await read(one)).toMatchObject({ enabled: true, status: 'failing', consecutiveFailures: 8 });
});

test('the result of an attempt that is stored twice counts once', async () => {
  const one = await subscriber('Twice');
  one.receiver.answer(500);
  await deliver(one);
  const [{ id, attempts }] = await log(one);
  const entry = { at: new Date().toISOString(), statusCode: 500, durationMs: 1, error: 'status 500' };
  const columns = [id, attempts, entry.at, 'failed', 500, 1, entry.error, null, null, true, false, false];
  const again = [...columns.map((value) => [value, value]), 3, [null, null], [], [], [], [], true];
  expect((await client.query(RECORD_RESULTS, again)).rows).toEqual([]);
  expect(await read(one)).toMatchObject({ consecutiveFailures: 1, enabled: true });
  // Also if both results come in one batch while the claim holds.
  await reopenDeliveries(client, 'id = $1', [id], { status: `'sending'`, attempt_log: `'[]'` });
  await client.query(RECORD_RESULTS, again);
  expect(await read(one)).toMatchObject({ consecutiveFailures: 2, enabled: true });
  const deliveries = await log(one);
  expect(deliveries).toHaveLength(1);
  expect(deliveries[0].attemptLog).toHaveLength(1);
});

test.each(['503', '429', '500'])(
  'the Retry-After of a %s is honoured, even if it is longer than every wait of the schedule',
  async (status) => {
    const one = await subscriber('Later', {}, patient);
    let made = 0;
    for (const [value, seconds] of [
      ['120', 120],
      [new Date(Date.now() + 3_600_000).toUTCString(), 3600],
      ['604800', 86_400],
    ] as const) {
      one.receiver.answer((_, res) => void res.writeHead(Number(status), { 'retry-after': value }).end());
      await one.who.call('POST', '/api/notes', { text: 'x' });
      made += 1;
      await until(async () => {
        const list = await log(one);
        return list.length === made && list[0].attemptLog.length === 1;
      });
      const [{ nextAttemptAt, attemptLog }] = await log(one);
      const wait = Date.parse(nextAttemptAt) - Date.parse(attemptLog[0].at);
      // The date has whole seconds, and time passes between the request and storing its result.
      expect(wait).toBeGreaterThan((seconds - 30) * 1000);
      expect(wait).toBeLessThan((seconds + 30) * 1000);
    }
  },
);

test('deliveries whose last attempt was lost with its worker count towards disabling and set the last error', async () => {
  const one = await subscriber('Worker');
  await deliver(one);
  const lose = async () => {
    const lost = { status: `'sending'`, lease_until: `now() - interval '1 second'` };
    expect(await reopenDeliveries(client, 'endpoint_id = $1', [one.id], lost)).toBe(1);
    await until(async () => (await log(one))[0].status === 'failed');
  };
  for (const failures of [1, 2]) {
    await lose();
    expect(await read(one)).toMatchObject({
      consecutiveFailures: failures,
      status: 'failing',
      lastError: 'worker lost',
      lastFailureAt: expect.any(String),
    });
  }
  await lose();
  expect(await read(one)).toMatchObject({ enabled: false, disabledReason: 'failing', lastError: 'worker lost' });
  expect((await log(one))[0].attemptLog.at(-1)).toEqual({
    at: expect.any(String),
    statusCode: null,
    durationMs: null,
    error: 'worker lost',
  });
  await until(() => disabledEventsOf(one.id).length > 0);
  expect(disabledEventsOf(one.id).map(({ reason }) => reason)).toEqual(['failing']);
  await until(async () => (await mailsTo(one)).length === 1);
});

test('an owner who was disabled meanwhile, or who enabled or deleted the endpoint, gets no e-mail', async () => {
  const three = await Promise.all(['Left', 'Enabled', 'Deleted'].map((name) => subscriber(name)));
  // The e-mails about the created endpoints are sent first. Then no worker may take the following ones until the test is ready.
  await mailed();
  await client.query(`create function postpone() returns trigger language plpgsql as
    $$ begin new.due_at := now() + interval '1 hour'; return new; end $$`);
  await client.query('create trigger postpone before insert on mails for each row execute function postpone()');
  for (const one of three) {
    one.receiver.answer(410);
    await deliver(one);
  }
  await until(async () => (await client.query('select from mails where finished_at is null')).rowCount === 3);
  const [left, enabled, deleted] = three as [Subscriber, Subscriber, Subscriber];
  await app.service('user').update(left.who.id, { status: 'disabled' });
  await enabled.who.call('PATCH', `/api/webhooks/${enabled.id}`, { enabled: true });
  await deleted.who.call('DELETE', `/api/webhooks/${deleted.id}`);
  await client.query('drop trigger postpone on mails');
  await client.query(
    `update mails set due_at = now() - make_interval(secs => 1), created_at = now() - interval '1 minute' where finished_at is null`,
  );
  await mailed();
  for (const one of three) expect(await mailsTo(one)).toEqual([]);
});
