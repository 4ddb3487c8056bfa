import { setTimeout as sleep } from 'node:timers/promises';
import pg, { Client } from 'pg';
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import type { WebhookPublisher } from '../../../../../src/extensions/webhooks/engine/fanout/publish.ts';
import { defineResource, defineUser, f, softDelete, webhooks } from '../../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../../support/app.ts';

const NOT_READABLE = "The endpoint's owner may no longer read this record";

const open = { create: 'authenticated', update: 'authenticated', delete: 'authenticated' } as const;
const diary = defineResource('diary', {
  fields: { text: f.text(), mood: f.string().visibleTo('nurse'), writer: f.ref('user').owner() },
  policies: { ...open, read: 'owner | auditor' },
});
const article = defineResource('article', {
  fields: { title: f.string(), status: f.enum(['draft', 'published']).default('published') },
  policies: { ...open, read: 'public' },
  scope: () => ({ status: 'published' }),
});
const folder = defineResource('folder', {
  fields: { name: f.string(), code: f.string().visibleTo('nurse') },
  policies: { ...open, read: 'auditor', reference: 'auditor | nurse' },
});
const page = defineResource('page', {
  fields: { title: f.string(), folder: f.ref('folder').populate() },
  policies: { ...open, read: 'authenticated' },
});
/** The error that the policy throws. If it is undefined, the policy allows access. */
let thrown: Error | undefined;
const riddle = defineResource('riddle', {
  fields: { answer: f.string() },
  policies: {
    ...open,
    read: () => {
      if (thrown !== undefined) throw thrown;
      return true;
    },
  },
});
const archived = defineResource('archived', {
  fields: { text: f.text(), writer: f.ref('user').owner() },
  policies: { ...open, read: 'owner' },
  softDelete: true,
});

const { app, person, env } = await startTestApp(
  {
    resources: [
      defineUser({ roles: ['user', 'admin', 'auditor', 'nurse'] }),
      diary,
      article,
      folder,
      page,
      riddle,
      archived,
    ],
    extensions: [
      softDelete(),
      webhooks({
        retrySchedule: ['1h', '1h'],
        pollMs: 50,
        maxEndpointsPerUser: 50,
        disableAfterFailures: 1,
        events: { 'number.drawn': { schema: z.unknown() } },
      }),
    ],
  },
  { roles: 'all' },
);
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const opened: Receiver[] = [];
afterAll(async () => {
  await client.end();
  await Promise.all(opened.map((one) => one.close()));
});
const published = app as unknown as { webhooks: WebhookPublisher };
const patience = { timeout: 60_000, interval: 20 };

interface Subscriber {
  who: Person;
  receiver: Receiver;
  id: string;
  /** Returns the deliveries in the log of the endpoint, newest first. */
  log(): Promise<Shown[]>;
  endpoint(): Promise<Record<string, unknown>>;
}
interface Shown {
  id: string;
  status: string;
  attempts: number;
  error: string | null;
  payload: string | null;
  payloadTruncated: boolean;
  response: string | null;
  attemptLog: object[];
}

async function subscribe(who: Person, events: string[], more: object = {}): Promise<Subscriber> {
  const receiver = await startReceiver();
  opened.push(receiver);
  const { status, body } = await who.call('POST', '/api/webhooks', { url: receiver.url, events, ...more });
  expect(status).toBe(201);
  const { id } = body.data;
  return {
    who,
    receiver,
    id,
    log: async () => (await who.call('GET', `/api/webhooks/${id}/deliveries`)).body.data,
    endpoint: async () => (await who.call('GET', `/api/webhooks/${id}`)).body.data,
  };
}

/** Resolves with the deliveries of an endpoint once all of them have this status. */
async function ended({ log }: Subscriber, status: string, count = 1): Promise<Shown[]> {
  let last: Shown[] = [];
  await vi.waitUntil(async () => {
    last = await log();
    return last.length === count && last.every((one) => one.status === status);
  }, patience);
  return last;
}

/** Creates a subscriber with one delivery whose first attempt got 500 and which waits for its retry. */
async function waiting(who: Person, events: string[], make: () => Promise<unknown>, more: object = {}) {
  const one = await subscribe(who, events, more);
  one.receiver.answer(async (_, res) => res.writeHead(500).end('echo: top secret'));
  await make();
  await one.receiver.received(1);
  const [delivery] = await vi.waitUntil(async () => {
    const shown = await one.log();
    return shown[0]?.status === 'pending' && shown[0].attempts === 1 && shown;
  }, patience);
  one.receiver.answer(204);
  return { ...one, delivery: delivery! };
}

/** Makes the retries of an endpoint's deliveries due. */
const due = ({ id }: Subscriber) =>
  client.query(`update webhook_deliveries set next_attempt_at = now() where endpoint_id = $1`, [id]);

const create = async (who: Person, path: string, body: object): Promise<string> => {
  const answer = await who.call('POST', `/api/${path}`, body);
  // Some resources respond 404 if the creator may not read the new record.
  return answer.body.data?.id;
};
const setRoles = (who: Person, roles: string[]) => app.service('user').update(who.id, { roles: roles as never });

let ann: Person;
let other: Person;
beforeEach(async () => {
  thrown = undefined;
  ann = await person('Ann', ['user', 'auditor', 'nurse']);
  other = await person('Other');
});

/** Expects the retry to end without a request, its payload to be hidden, and the endpoint to count no failure. */
async function expectRefused(one: Awaited<ReturnType<typeof waiting>>): Promise<void> {
  const [before] = await one.log();
  expect(before).toMatchObject({ status: 'pending', payload: null, payloadTruncated: false, response: null });
  await due(one);
  const [shown] = await ended(one, 'failed');
  expect(shown).toMatchObject({ error: NOT_READABLE, payload: null, response: null, attempts: 2 });
  expect(shown!.attemptLog).toMatchObject([{ error: 'status 500' }, { statusCode: null, error: NOT_READABLE }]);
  expect(one.receiver.requests).toHaveLength(1);
  expect(await one.endpoint()).toMatchObject({ enabled: true, lastError: 'status 500', consecutiveFailures: 0 });
}

test.each<[string, (make: { id: string; who: Person }) => Promise<unknown>]>([
  ['lost the role that the read policy requires', ({ who }) => setRoles(who, ['user'])],
  ['may no longer see one of its fields', ({ who }) => setRoles(who, ['user', 'auditor'])],
])('a retry is not sent, and the log shows no payload, if the owner of the endpoint %s', async (_what, change) => {
  let id = '';
  const one = await waiting(ann, ['diary.created'], async () => {
    id = await create(other, 'diaries', { text: 'top secret', mood: 'sad' });
  });
  expect(one.delivery.payload).toContain('top secret');
  await change({ id, who: ann });
  await expectRefused(one);
});

test('a retry is sent unchanged while the owner may read all of it', async () => {
  const one = await waiting(ann, ['diary.created'], () => create(other, 'diaries', { text: 'a', mood: 'sad' }));
  await due(one);
  await one.receiver.received(2);
  expect(one.receiver.requests[1]!.body).toBe(one.receiver.requests[0]!.body);
  expect((await ended(one, 'succeeded'))[0]).toMatchObject({ payload: one.receiver.requests[0]!.body });
});

test('a record that has changed owners is not sent to the former owner, who owned it when it changed', async () => {
  const writer = await person('Writer');
  let id = '';
  const one = await waiting(writer, ['diary.*'], async () => {
    id = await create(writer, 'diaries', { text: 'top secret' });
  });
  await client.query('update diaries set writer = $2 where id = $1', [id, other.id]);
  await expectRefused(one);
});

test('a record that left the scope filter is not sent', async () => {
  let id = '';
  const one = await waiting(other, ['article.created'], async () => {
    id = await create(other, 'articles', { title: 'top secret' });
  });
  await app.service('article').update(id, { status: 'draft' });
  await expectRefused(one);
});

test('a global endpoint gets no retry of a record that left the scope filter, nor of a field that its owner may not see', async () => {
  const chief = await person('Chief', ['user', 'admin', 'nurse']);
  let id = '';
  const scoped = await waiting(
    chief,
    ['article.created'],
    async () => {
      id = await create(other, 'articles', { title: 'x' });
    },
    { scope: 'global' },
  );
  const fields = await waiting(chief, ['diary.created'], () => create(other, 'diaries', { text: 'y', mood: 'sad' }), {
    scope: 'global',
  });
  await app.service('article').update(id, { status: 'draft' });
  await setRoles(chief, ['user', 'admin']);
  await expectRefused(scoped);
  await expectRefused(fields);
});

test.each<[string, (folder: string) => Promise<unknown>]>([
  ['may no longer be expanded', () => setRoles(ann, ['user'])],
  ['has a field that is no longer visible', () => setRoles(ann, ['user', 'auditor'])],
  ['is deleted', (id) => app.service('folder').delete(id)],
])('a record is not sent if a record expanded in it %s', async (_what, change) => {
  const folder = await app.service('folder').create({ name: 'top secret', code: 'c' });
  const one = await waiting(ann, ['page.created'], () => create(other, 'pages', { title: 't', folder: folder.id }));
  expect(one.delivery.payload).toContain('top secret');
  await change(folder.id);
  await expectRefused(one);
});

test('events of a deleted record are sent to owners of endpoints who could read the record when it was deleted', async () => {
  const writer = await person('Writer');
  const [mine, auditors] = [await subscribe(writer, ['diary.*']), await subscribe(ann, ['diary.*'])];
  for (const { receiver } of [mine, auditors]) receiver.answer(500);
  const id = await create(writer, 'diaries', { text: 'dear' });
  for (const { receiver } of [mine, auditors]) await receiver.received(1);
  await app.service('diary').delete(id);
  for (const { receiver } of [mine, auditors]) await receiver.received(2);
  for (const one of [mine, auditors]) await ended(one, 'pending', 2);
  for (const { receiver } of [mine, auditors]) receiver.answer(204);
  await setRoles(ann, ['user', 'nurse']);
  for (const one of [mine, auditors]) await due(one);
  await ended(mine, 'succeeded', 2);
  await ended(auditors, 'failed', 2);
  const types = mine.receiver.requests.slice(2).map(({ body }) => JSON.parse(body).type);
  expect(types.sort()).toEqual(['diary.created', 'diary.deleted']);
  expect(auditors.receiver.requests).toHaveLength(2);
  expect((await mine.log()).map(({ payload }) => payload)).not.toContain(null);
});

test('a deleted record is checked in its last state: a former owner gets no more events of it', async () => {
  const writer = await person('Writer');
  let id = '';
  const one = await waiting(writer, ['diary.created'], async () => {
    id = await create(writer, 'diaries', { text: 'top secret' });
  });
  await client.query('update diaries set writer = $2 where id = $1', [id, other.id]);
  await app.service('diary').delete(id);
  await expectRefused(one);
});

test('a deletion that the relay has not handled yet is checked like one that it has handled', async () => {
  const writer = await person('Writer');
  let id = '';
  const one = await waiting(writer, ['diary.created'], async () => {
    id = await create(writer, 'diaries', { text: 'dear' });
  });
  await client.query('begin');
  await client.query(
    `with gone as (delete from diaries where id = $1 returning *)
     insert into outbox (event_id, name, resource, record_id, payload, available_at)
     select $1, 'diary.deleted', 'diary', id, jsonb_build_object('record', to_jsonb(gone.*)), now() + interval '1 hour' from gone`,
    [id],
  );
  await client.query('commit');
  await due(one);
  await ended(one, 'succeeded');
});

test('with soft delete a deletion is sent, and a restored record is checked in its current state', async () => {
  const writer = await person('Writer');
  const one = await subscribe(writer, ['archived.*']);
  const id = await create(writer, 'archiveds', { text: 'dear' });
  await writer.call('DELETE', `/api/archiveds/${id}`);
  await one.receiver.received(2);
  const answer = await writer.call('POST', `/api/archiveds/${id}/restore`);
  expect(answer.status).toBeLessThan(300);
  await one.receiver.received(3);
  await ended(one, 'succeeded', 3);
  await client.query('update archiveds set writer = $2 where id = $1', [id, other.id]);
  expect((await one.log()).map(({ payload }) => payload)).toEqual([null, null, null]);
});

test('retry responds with the delivery as failed and sends nothing, and recover sends nothing either', async () => {
  const one = await subscribe(ann, ['diary.created']);
  await create(other, 'diaries', { text: 'top secret', mood: 'sad' });
  const [delivery] = await ended(one, 'succeeded');
  await setRoles(ann, ['user']);
  const retry = await ann.call('POST', `/api/webhooks/${one.id}/deliveries/${delivery!.id}/retry`);
  expect(retry.status).toBe(200);
  expect(retry.body.data).toMatchObject({ id: delivery!.id, status: 'failed', error: NOT_READABLE, payload: null });
  expect(retry.body.data.nextAttemptAt).toBeNull();

  const next = await startReceiver();
  opened.push(next);
  await ann.call('PATCH', `/api/webhooks/${one.id}`, { url: next.url });
  await ann.call('POST', `/api/webhooks/${one.id}/recover`, {
    since: new Date(Date.now() - 86_400_000).toISOString(),
  });
  await vi.waitUntil(async () => (await one.log())[0]!.attempts === 2, patience);
  expect((await ended(one, 'failed'))[0]).toMatchObject({ error: NOT_READABLE, payload: null });
  expect(next.requests).toEqual([]);
  expect(one.receiver.requests).toHaveLength(1);

  await setRoles(ann, ['user', 'auditor', 'nurse']);
  await ann.call('POST', `/api/webhooks/${one.id}/deliveries/${delivery!.id}/retry`);
  await next.received(1);
  expect(next.requests[0]!.body).toBe(one.receiver.requests[0]!.body);
});

test('deliveries that were claimed together are checked again if they are sent later', async () => {
  const one = await subscribe(ann, ['diary.created']);
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  one.receiver.answer(async (_, res) => {
    await held;
    res.writeHead(204).end();
  }, 204);
  await app.transaction(async (tx) => {
    for (const text of ['1', '2', '3'])
      await tx.service('diary').create({ text, mood: 'sad', writer: other.id } as never);
  });
  await one.receiver.received(1);
  await setRoles(ann, ['user']);
  // The result of a check is cached for some milliseconds.
  await sleep(200);
  goOn();
  await vi.waitUntil(async () => {
    const statuses = (await one.log()).map(({ status }) => status).sort();
    return JSON.stringify(statuses) === JSON.stringify(['failed', 'failed', 'succeeded']);
  }, patience);
  expect(one.receiver.requests).toHaveLength(1);
});

test('if a policy throws, nothing is sent or shown; if the database is down, the delivery is retried', async () => {
  const one = await waiting(ann, ['riddle.created'], () => create(other, 'riddles', { answer: 'top secret' }));
  thrown = new Error('a fault of the project');
  expect((await one.log())[0]).toMatchObject({ payload: null });
  thrown = Object.assign(new Error('terminating connection'), { code: '57P01' });
  await due(one);
  await expect
    .poll(async () => (await client.query('select from webhook_turns where endpoint_id = $1', [one.id])).rowCount)
    .toBe(1);
  expect(
    (await client.query('select status, attempts from webhook_deliveries where endpoint_id = $1', [one.id])).rows,
  ).toEqual([{ status: 'pending', attempts: 1 }]);
  thrown = undefined;
  await one.receiver.received(2);
  await ended(one, 'succeeded');
});

test('an event that the app published stays readable for its owner', async () => {
  const one = await subscribe(other, ['number.drawn']);
  one.receiver.answer(500, 204);
  await published.webhooks.publish('number.drawn', { n: 1 }, { owner: other.id });
  await one.receiver.received(1);
  await ended(one, 'pending');
  await due(one);
  await ended(one, 'succeeded');
  expect((await one.log())[0]!.payload).toContain('"n":1');
});

test('fifty deliveries in the log are checked together with one record query, and none is sent after it was refused', async () => {
  const one = await subscribe(ann, ['diary.created']);
  await ann.call('PATCH', `/api/webhooks/${one.id}`, { enabled: false });
  const made = await app.transaction(async (tx) => {
    const records: { id: string }[] = [];
    for (let i = 0; i < 50; i++) records.push(await tx.service('diary').create({ text: `${i}`, mood: 'm' }));
    return records;
  });
  await client.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, next_attempt_at)
     select id, $1, id, 'msg_' || id, 'diary.created', json_build_object('data', json_build_object('id', id, 'mood', 'm')), now()
     from unnest($2::text[]) id`,
    [one.id, made.map(({ id }) => id)],
  );
  await setRoles(ann, ['user', 'nurse']);
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  onTestFinished(() => void sent.mockRestore());
  const loads = () => {
    const texts = sent.mock.calls.map(([statement]) => (statement as unknown as { text?: string }).text ?? '');
    sent.mockClear();
    return texts.filter((text) => text.includes('from "diaries"')).length;
  };
  expect(await one.log()).toHaveLength(50);
  expect(loads()).toBe(1);
  await ann.call('PATCH', `/api/webhooks/${one.id}`, { enabled: true });
  await ended(one, 'failed', 50);
  expect(one.receiver.requests).toEqual([]);
});
