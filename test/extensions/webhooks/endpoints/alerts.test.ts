import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { createApp, defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../support/app.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const made = (disableAfterFailures: number, options: object = {}) =>
  ({
    resources: [defineUser(), note],
    extensions: [webhooks({ retrySchedule: [], pollMs: 50, disableAfterFailures, ...options })],
    languages: ['en', 'de'],
  }) as const;
const five = await startTestApp(made(5), { roles: 'all', env: () => ({ APP_URL: 'https://belfry.example.com' }) });
const { app, env } = five;
const other = createApp(made(5), env);
await other.start({ roles: ['relay', 'webhook-worker', 'push-worker'] });
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const opened: { close(): Promise<unknown> }[] = [];
afterAll(async () => {
  await Promise.all([other, ...opened].map((one) => one.close()));
  await client.end();
});

interface AlertEvent {
  webhook: { id: string; consecutiveFailures: number; secret?: string };
  owner: string;
  consecutiveFailures?: number;
  lastFailure?: object;
}
/** Collects the events of apps about an endpoint, by name and failure count: `failing 3`. */
function collectEvents(apps: readonly Pick<typeof app, 'on'>[]) {
  const events: [name: string, AlertEvent][] = [];
  for (const one of apps) {
    for (const name of ['failing', 'recovered', 'disabled'])
      one.on(`webhook.${name}`, (payload: never) => void events.push([name, payload]));
  }
  const eventsOf = (id: string) => events.filter(([, { webhook }]) => webhook.id === id);
  const namesOf = (id: string) =>
    eventsOf(id).map(([name, { consecutiveFailures: count }]) => (count === undefined ? name : `${name} ${count}`));
  return { eventsOf, namesOf };
}
const { eventsOf, namesOf } = collectEvents([app, other]);

interface Subscriber {
  who: Person;
  receiver: Receiver;
  id: string;
}
async function subscriber(name: string, { person } = five): Promise<Subscriber> {
  const receiver = await startReceiver();
  opened.push(receiver);
  const who = await person(name);
  const answer = await who.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'] });
  return { receiver, who, id: answer.body.data.id };
}
const until = (condition: () => unknown) => vi.waitUntil(condition, { timeout: 60_000, interval: 20 });
const read = async ({ who, id }: Subscriber) => (await who.call('GET', `/api/webhooks/${id}`)).body.data;
/** Creates notes at the same time and waits until the results of their deliveries are stored. */
async function deliver(one: Subscriber, count = 1): Promise<void> {
  const list = async () => (await one.who.call('GET', `/api/webhooks/${one.id}/deliveries?limit=100`)).body.data;
  const before = (await list()).length;
  await Promise.all(Array.from({ length: count }, () => one.who.call('POST', '/api/notes', { text: 'x' })));
  await until(async () => {
    const found: { status: string }[] = await list();
    return found.length === before + count && found.every(({ status }) => /succeeded|failed/.test(status));
  });
}
/** Lets deliveries fail one after the other. */
async function fail(one: Subscriber, count: number): Promise<void> {
  one.receiver.answer(500);
  for (let i = 0; i < count; i++) await deliver(one);
}
async function succeed(one: Subscriber): Promise<void> {
  one.receiver.answer(204);
  await deliver(one);
}
/** Returns the subjects of an owner's e-mails, without that about the new endpoint, once no e-mail waits any more. */
async function mailsTo({ who }: Subscriber, { app: own } = five) {
  await until(async () => (await client.query('select from mails where finished_at is null')).rowCount === 0);
  const mails = (await own.captured.mails()).filter(
    ({ to, subject }) => to === who.email && !/was created/.test(subject),
  );
  return mails.toReversed();
}
const subjectsTo = async (one: Subscriber) => (await mailsTo(one)).map(({ subject }) => subject);
const FAILS = 'Your webhook endpoint fails';
const WORKS = 'Your webhook endpoint works again';

test('webhook.failing is emitted at half of the failures that disable an endpoint, rounded up, and one before them', async () => {
  const one = await subscriber('Steps');
  await fail(one, 5);
  await until(() => namesOf(one.id).length === 3);
  expect(namesOf(one.id)).toEqual(['failing 3', 'failing 4', 'disabled']);
  expect(eventsOf(one.id)[0]![1]).toMatchObject({
    webhook: { id: one.id, consecutiveFailures: 3, enabled: true, lastError: 'status 500' },
    owner: one.who.id,
    disableAfterFailures: 5,
    lastFailure: { event: 'note.created', statusCode: 500, error: 'status 500' },
  });
  expect(eventsOf(one.id)[0]![1].webhook).not.toHaveProperty('secret');
});

test('the owner gets one e-mail with the event, the error and the failures that are left, without any text that they chose', async () => {
  const one = await subscriber('Mailed');
  await one.who.call('PATCH', `/api/webhooks/${one.id}`, { url: `${one.receiver.url}/prize`, description: 'A prize' });
  await fail(one, 4);
  const [mail, ...more] = await mailsTo(one);
  expect(more).toEqual([]);
  expect(mail).toMatchObject({ subject: FAILS });
  for (const text of [
    `${one.id} at belfry.example.com, created on `,
    'The last 3 deliveries failed on every attempt.',
    'note.created',
    'status 500',
    'After 2 more failed deliveries in a row, the endpoint will be disabled',
    `GET /api/webhooks/${one.id}/deliveries?status=failed`,
  ])
    expect(mail!.text).toContain(text);
  expect(JSON.stringify(mail)).not.toMatch(/prize|127\.0\.0\.1|whsec_/i);
});

test('an endpoint that works again is reported once, with an e-mail only if one said that it fails', async () => {
  const one = await subscriber('Again');
  await fail(one, 2);
  await succeed(one);
  expect(namesOf(one.id)).toEqual([]);
  await fail(one, 3);
  await succeed(one);
  await until(() => namesOf(one.id).length === 2);
  await succeed(one);
  expect(namesOf(one.id)).toEqual(['failing 3', 'recovered']);
  expect(eventsOf(one.id)[1]![1]).toEqual({
    webhook: expect.objectContaining({ id: one.id, consecutiveFailures: 0, status: 'active' }),
    owner: one.who.id,
  });
  expect(await subjectsTo(one)).toEqual([FAILS, WORKS]);
  // The second time on the same day: events, but no e-mails.
  await fail(one, 3);
  await succeed(one);
  await until(() => namesOf(one.id).length === 4);
  expect(await subjectsTo(one)).toEqual([FAILS, WORKS]);
  // The next day.
  await client.query(
    `update webhook_endpoints set failing_mail_at = failing_mail_at - interval '1 day' where id = $1`,
    [one.id],
  );
  await fail(one, 3);
  await succeed(one);
  await until(() => namesOf(one.id).length === 6);
  expect(namesOf(one.id)).toEqual(['failing 3', 'recovered', 'failing 3', 'recovered', 'failing 3', 'recovered']);
  expect(await subjectsTo(one)).toEqual([FAILS, WORKS, FAILS, WORKS]);
});

test('parallel failures in two processes send one e-mail, and parallel successes report one recovery', async () => {
  const one = await subscriber('Parallel');
  await fail(one, 2);
  // From 2 failures to 4: the results may be stored together or one by one, in either process.
  await deliver(one, 2);
  await until(() => namesOf(one.id).includes('failing 4'));
  expect(['failing 3,failing 4', 'failing 4']).toContain(namesOf(one.id).toSorted().join());
  one.receiver.answer(204);
  await deliver(one, 10);
  await until(() => namesOf(one.id).includes('recovered'));
  await succeed(one);
  expect(namesOf(one.id).filter((name) => name === 'recovered')).toHaveLength(1);
  expect(await subjectsTo(one)).toEqual([FAILS, WORKS]);
});

test('the e-mail about a failing or disabled endpoint is stored in the transaction that stores the result', async () => {
  const quiet = await startTestApp(made(2), { roles: ['web', 'relay', 'webhook-worker'] });
  const own = new Client({ connectionString: quiet.env.DATABASE_URL });
  await own.connect();
  const one = await subscriber('Stored', quiet);
  await fail(one, 2);
  const { rows } = await own.query(`
    select m.kind from webhook_delivery_log d join mails m on m.xmin::text = d.xmin::text order by d.finished_at`);
  await own.end();
  expect(rows).toEqual([{ kind: 'webhook-failing' }, { kind: 'webhook-disabled' }]);
});

test('a recovery that a crashed process has not reported is reported after the next success', async () => {
  const one = await subscriber('Crashed');
  await succeed(one);
  await client.query(
    `update webhook_endpoints set alerted_at = now(), failing_mail_at = now(), last_success_at = now() - interval '1 hour' where id = $1`,
    [one.id],
  );
  await succeed(one);
  await until(() => namesOf(one.id).length > 0);
  expect(namesOf(one.id)).toEqual(['recovered']);
  expect(await subjectsTo(one)).toEqual([WORKS]);
});

test('an endpoint that was disabled and enabled starts anew: its first success is no recovery', async () => {
  const one = await subscriber('Enabled');
  await fail(one, 5);
  await one.who.call('PATCH', `/api/webhooks/${one.id}`, { enabled: true });
  await succeed(one);
  await fail(one, 1);
  await succeed(one);
  await until(() => namesOf(one.id).length === 3);
  expect(namesOf(one.id)).toEqual(['failing 3', 'failing 4', 'disabled']);
  expect(await subjectsTo(one)).not.toContain(WORKS);
});

test('failed tests are not counted, and are not reported as the last failure', async () => {
  const one = await subscriber('Tested');
  await fail(one, 2);
  for (let i = 0; i < 3; i++) await one.who.call('POST', `/api/webhooks/${one.id}/test`);
  expect(namesOf(one.id)).toEqual([]);
  await fail(one, 1);
  await until(() => namesOf(one.id).length > 0);
  expect(eventsOf(one.id)[0]![1].lastFailure).toMatchObject({ event: 'note.created' });
});

test('the e-mail is in the language of the owner', async () => {
  const one = await subscriber('German');
  await client.query(`create or replace function german() returns trigger as $$ begin
    if new.kind = 'webhook-failing' then new.data = new.data || '{"locale": "de"}'; end if; return new; end $$ language plpgsql`);
  await client.query(`create trigger german before insert on mails for each row execute function german()`);
  await fail(one, 3);
  const [mail] = await mailsTo(one);
  await client.query('drop trigger german on mails');
  expect(mail).toMatchObject({ subject: 'Ihr Webhook-Endpunkt ist gestört' });
  expect(mail!.text).toContain('Scheitern noch 2 Zustellungen in Folge, wird er deaktiviert');
});

test('with notifyOwner: false the events are emitted and no e-mail is sent', async () => {
  const quiet = await startTestApp(made(3, { notifyOwner: false }), { roles: 'all' });
  const { namesOf: names } = collectEvents([quiet.app]);
  const one = await subscriber('Quiet', quiet);
  await fail(one, 2);
  await succeed(one);
  await until(() => names(one.id).length === 2);
  expect(names(one.id)).toEqual(['failing 2', 'recovered']);
  expect(await quiet.app.captured.mails()).toEqual([]);
});

test.each([
  [1, ['disabled']],
  [2, ['failing 1', 'disabled']],
  [3, ['failing 2', 'disabled']],
  [0, []],
])('with disableAfterFailures: %i, the events are %j', async (most, expected) => {
  const small = await startTestApp(made(most), { roles: 'all' });
  const { namesOf: names } = collectEvents([small.app]);
  const one = await subscriber('Small', small);
  await fail(one, most === 0 ? 4 : most);
  await until(() => names(one.id).length >= expected.length);
  expect(names(one.id)).toEqual(expected);
  expect(await read(one)).toMatchObject({ enabled: most === 0 });
});
