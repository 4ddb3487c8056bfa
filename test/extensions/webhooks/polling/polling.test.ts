import { Client } from 'pg';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { WebhooksApi } from '../../../../src/extensions/webhooks/index.ts';
import { apiKeys, defineResource, defineUser, f, verifyWebhook, webhooks } from '../../../../src/index.ts';
import { createClient, type Person, startTestApp } from '../../../support/app.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner(), secret: f.string().encrypted().optional() },
  policies: { read: 'owner | admin' },
});
const label = defineResource('label', {
  fields: { name: f.string() },
  policies: { read: 'authenticated', create: 'authenticated' },
});
const task = defineResource('task', {
  fields: { text: f.text(), owner: f.ref('user').owner(), label: f.ref('label').populate() },
  policies: { read: 'owner' },
});
const key = Buffer.alloc(32, 7).toString('base64');
// The sweep never sends anything: only announcements and the interval of the polls find messages.
const running = await startTestApp(
  {
    resources: [defineUser(), note, label, task],
    extensions: [webhooks({ pollMs: 100, maxPollsPerUser: 2, maxEndpointsPerUser: 100, portal: true }), apiKeys()],
  },
  { roles: 'all', env: () => ({ SVC_ENCRYPTION_KEYS: key, APP_URL: 'https://api.example.com' }) },
);
const { call, env, person, url } = running;
const database = new Client({ connectionString: env.DATABASE_URL });
await database.connect();
afterAll(() => database.end());

interface Message {
  cursor: string;
  id: string;
  timestamp: number;
  headers: Record<string, string>;
  body: string;
}
interface Endpoint {
  id: string;
  secret: string;
}

let ann: Person;
let endpoint: Endpoint;

async function create(who: Person, more: object = {}): Promise<Endpoint> {
  const { status, body } = await who.call('POST', '/api/webhooks', { delivery: 'poll', events: ['note.*'], ...more });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.data;
}
beforeEach(async () => {
  ann = await person('Ann');
  endpoint = await create(ann);
});

const path = (rest = '', { id }: Endpoint = endpoint) => `/api/webhooks/${id}${rest}`;
const pollWith = (who: Person, query = '', at = endpoint) => who.call('GET', path(`/poll${query}`, at));
const poll = async (query = ''): Promise<{ messages: Message[]; next: string }> => {
  const { status, body } = await pollWith(ann, query);
  expect(status, JSON.stringify(body)).toBe(200);
  return { messages: body.data, next: body.meta.next };
};
const acknowledge = (cursor: unknown, at = endpoint) => ann.call('POST', path('/ack', at), { cursor });
const textOf = ({ body }: Message) => JSON.parse(body).data.text;
const texts = (messages: readonly Message[]) => messages.map(textOf);
async function write(...list: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const text of list) ids.push((await ann.call('POST', '/api/notes', { text })).body.data.id);
  return ids;
}
/** Polls until there are as many messages that are not acknowledged. */
const pollUntil = (count: number, query = '') =>
  vi.waitUntil(
    async () => {
      const found = await poll(`?limit=100${query}`);
      return found.messages.length >= count ? found : undefined;
    },
    { timeout: 60_000, interval: 20 },
  );
const log = async (query = '') => (await ann.call('GET', path(`/deliveries${query}`))).body.data;
const read = async () => (await ann.call('GET', path())).body.data;

describe('a polled endpoint', () => {
  test('has no URL, and shows how many messages wait and since when', async () => {
    expect(await read()).toMatchObject({
      url: null,
      delivery: 'poll',
      status: 'active',
      waiting: 0,
      oldestWaitingAt: null,
    });
    await write('a', 'b');
    await pollUntil(2);
    expect(await read()).toMatchObject({ waiting: 2, oldestWaitingAt: expect.stringMatching(/Z$/) });
    const { body } = await ann.call('GET', '/api/webhooks');
    expect(body.data[0]).toMatchObject({ url: null, delivery: 'poll' });
    expect(body.data[0]).not.toHaveProperty('waiting');
  });

  test.each([
    [{ url: 'https://example.com/hooks' }, 'url'],
    [{ ordered: true }, 'ordered'],
    [{ rateLimit: { limit: 5 } }, 'rateLimit'],
    [{ delivery: 'pull' }, 'delivery'],
    [{ delivery: 'push' }, 'url'],
  ])('is refused with %o, naming the field', async (more, field) => {
    const { status, body } = await ann.call('POST', '/api/webhooks', { delivery: 'poll', events: ['note.*'], ...more });
    expect(status).toBe(422);
    expect(Object.keys(body.error.details)).toEqual([field]);
  });

  test.each([
    [{ url: 'https://example.com/hooks' }, 'url'],
    [{ ordered: true }, 'ordered'],
    [{ rateLimit: { limit: 5 } }, 'rateLimit'],
    [{ delivery: 'push' }, 'delivery'],
  ])('refuses the change %o', async (change, field) => {
    const { status, body } = await ann.call('PATCH', path(), change);
    expect(status).toBe(422);
    expect(Object.keys(body.error.details)).toEqual([field]);
  });

  test('keeps its kind when other settings change', async () => {
    const { status, body } = await ann.call('PATCH', path(), { description: 'CI', ordered: false, rateLimit: null });
    expect([status, body.data.delivery, body.data.description]).toEqual([200, 'poll', 'CI']);
  });

  test('does not exist for other users', async () => {
    const bob = await person('Bob');
    expect((await pollWith(bob)).status).toBe(404);
    expect((await bob.call('POST', path('/ack'), { cursor: 'x' })).status).toBe(404);
    expect((await call('GET', path('/poll'))).status).toBe(401);
  });

  test('is the only kind that can be polled', async () => {
    const pushed = (await ann.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:1/', events: ['note.*'] })).body
      .data;
    expect(pushed).toMatchObject({ delivery: 'push', url: 'http://127.0.0.1:1/' });
    expect((await pollWith(ann, '', pushed)).status).toBe(400);
    expect((await acknowledge('x', pushed)).status).toBe(400);
  });
});

describe('messages', () => {
  test('are returned in the order of their events, signed so that verifyWebhook accepts them', async () => {
    await write('one', 'two', 'three');
    const { messages, next } = await pollUntil(3);
    expect(texts(messages)).toEqual(['one', 'two', 'three']);
    expect(next).not.toBe('');
    for (const { id, timestamp, headers, body } of messages) {
      expect(headers).toEqual({
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': expect.stringMatching(/^v1,/),
      });
      expect(verifyWebhook(endpoint.secret, headers, body)).toMatchObject({ type: 'note.created' });
    }
  });

  test('are returned again, with the same ids, until they are acknowledged', async () => {
    await write('one', 'two');
    const { messages } = await pollUntil(2);
    const again = await poll();
    expect(again.messages.map(({ id, body }) => [id, body])).toEqual(messages.map(({ id, body }) => [id, body]));
    expect((await acknowledge(messages[0]!.cursor)).body.data).toEqual({ acknowledged: 1 });
    expect(texts((await poll()).messages)).toEqual(['two']);
  });

  test('can be read page by page, and acknowledged together', async () => {
    await write('one', 'two', 'three');
    await pollUntil(3);
    const first = await poll('?limit=2');
    const second = await poll(`?limit=2&after=${first.next}`);
    expect([texts(first.messages), texts(second.messages)]).toEqual([['one', 'two'], ['three']]);
    expect((await poll(`?after=${second.next}`)).messages).toEqual([]);
    expect((await acknowledge(second.next)).body.data).toEqual({ acknowledged: 3 });
    expect((await poll()).messages).toEqual([]);
  });

  test('are the same for several pollers, which may all acknowledge them', async () => {
    await write('one', 'two');
    await pollUntil(2);
    const [one, other] = await Promise.all([poll(), poll()]);
    expect(texts(one.messages)).toEqual(texts(other.messages));
    const acknowledged = await Promise.all([acknowledge(one.next), acknowledge(other.next)]);
    expect(acknowledged.map(({ body }) => body.data.acknowledged).toSorted()).toEqual([0, 2]);
  });

  test('succeed in the log when they are acknowledged, and an earlier cursor changes nothing', async () => {
    await write('one');
    const first = await pollUntil(1);
    expect(await log('?status=pending')).toEqual([
      expect.objectContaining({ status: 'pending', attempts: 0, nextAttemptAt: null }),
    ]);
    await acknowledge(first.next);
    await write('two');
    const second = await pollUntil(1);
    expect((await acknowledge(first.next)).body.data).toEqual({ acknowledged: 0 });
    expect(texts((await poll()).messages)).toEqual(['two']);
    await acknowledge(second.next);
    expect(await log()).toEqual(
      Array.from({ length: 2 }, () =>
        expect.objectContaining({
          status: 'succeeded',
          attempts: 1,
          error: null,
          statusCode: null,
          attemptLog: [{ at: expect.stringMatching(/Z$/), statusCode: null, durationMs: null, error: null }],
        }),
      ),
    );
    expect(await read()).toMatchObject({ lastSuccessAt: expect.any(String), waiting: 0 });
  });

  test('that are committed late are not skipped, and not acknowledged with those that a poll returned before', async () => {
    await write('one', 'two');
    const { next } = await pollUntil(2);
    // An event whose relay was slower: its position is before those of the others.
    await database.query(
      `insert into webhook_deliveries (id, endpoint_id, event_id, position, message_id, type, body, status, next_attempt_at, mentions)
       select '5' || substr(id, 2), endpoint_id, '0' || substr(event_id, 2), position - 1, 'msg_late', type, replace(body, 'one', 'late'),
         'waiting', now(), '{}'
       from webhook_deliveries where endpoint_id = $1 order by position limit 1`,
      [endpoint.id],
    );
    expect(texts((await pollUntil(1, `&after=${next}`)).messages)).toEqual(['late']);
    expect((await acknowledge(next)).body.data).toEqual({ acknowledged: 2 });
    expect(texts((await poll()).messages)).toEqual(['late']);
  });

  test('stay within a megabyte for each response, but at least one is returned', async () => {
    const large = 'x'.repeat(600_000);
    await write(large, large, 'small');
    await vi.waitUntil(async () => (await read()).waiting === 3, { timeout: 60_000 });
    const first = await poll('?limit=100');
    const second = await poll(`?limit=100&after=${first.next}`);
    expect([first, second].map(({ messages }) => messages.length)).toEqual([1, 2]);
  });

  test('with values of encrypted fields are stored encrypted, and returned as plain text', async () => {
    await ann.call('POST', '/api/notes', { text: 'one', secret: 'hidden value' });
    const { messages } = await pollUntil(1);
    expect(JSON.parse(messages[0]!.body).data.secret).toBe('hidden value');
    const { rows } = await database.query('select body from webhook_deliveries where endpoint_id = $1', [endpoint.id]);
    expect(rows).toEqual([{ body: '' }]);
  });

  test('that the owner may no longer read are not returned, and fail', async () => {
    const [id] = await write('gone', 'kept');
    await pollUntil(2);
    await database.query(`update notes set owner = $2 where id = $1`, [id, (await person('Bob')).id]);
    expect(texts((await poll()).messages)).toEqual(['kept']);
    expect(await log('?status=failed')).toEqual([
      expect.objectContaining({
        error: "The endpoint's owner may no longer read this record",
        payload: null,
        attempts: 1,
      }),
    ]);
  });

  test('carry the signatures of the old secret, too, after a rotation', async () => {
    await write('one');
    const rotated = (await ann.call('POST', path('/rotate-secret'))).body.data;
    const [message] = (await pollUntil(1)).messages;
    for (const { secret } of [endpoint, rotated])
      expect(verifyWebhook(secret, message!.headers, message!.body)).toMatchObject({ type: 'note.created' });
  });
});

describe('a long poll', () => {
  test('returns a message as soon as its event is handled', async () => {
    const pending = pollWith(ann, '?wait=60');
    await write('one');
    const { status, headers, body } = await pending;
    expect([status, texts(body.data), headers.get('cache-control')]).toEqual([200, ['one'], 'no-store']);
  });

  test('finds a message whose announcement was lost', async () => {
    const pending = pollWith(ann, '?wait=60');
    await database.query(
      `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, status, next_attempt_at, mentions)
       values ('6a0000000000000000000001', $1, '6a0000000000000000000001', 'msg_1', 'webhook.test', $2, 'waiting', now(), '{}')`,
      [endpoint.id, JSON.stringify({ type: 'webhook.test', data: { text: 'unannounced' } })],
    );
    expect(texts((await pending).body.data)).toEqual(['unannounced']);
  });

  test('returns nothing at the end of its wait, with a cursor that continues', async () => {
    const { messages, next } = await poll('?wait=1');
    expect(messages).toEqual([]);
    await write('one');
    expect(texts((await pollUntil(1, `&after=${next}`)).messages)).toEqual(['one']);
  });

  test.each([
    ['disabled', 400, (at: string) => ann.call('PATCH', at, { enabled: false })],
    ['deleted', 404, (at: string) => ann.call('DELETE', at)],
  ])('ends when the endpoint is %s', async (_, status, change) => {
    const pending = pollWith(ann, '?wait=60');
    await change(path());
    expect((await pending).status).toBe(status);
  });

  test('returns no message that comes after its session has ended', async () => {
    const { body } = await call('POST', '/api/auth/login', { email: ann.email, password: 'correct horse battery' });
    const other = { ...ann, call: createClient(url, body.data.token) };
    const pending = pollWith(other, '?wait=60');
    await other.call('POST', '/api/auth/logout');
    await write('one');
    expect((await pending).status).toBe(401);
    expect(texts((await pollUntil(1)).messages)).toEqual(['one']);
  });

  test('returns no message that comes after its user was disabled', async () => {
    const boss = await person('Boss', ['admin']);
    const shared = await create(boss);
    const pending = pollWith(boss, '?wait=60', shared);
    const users = (
      running.app as unknown as { service(name: 'user'): { update(id: string, change: object): unknown } }
    ).service('user');
    await users.update(boss.id, { status: 'disabled' });
    await write('one');
    expect((await pending).status).toBe(401);
  });

  test('returns no message that comes after its link has expired', async () => {
    const { webhooks: api } = running.app as unknown as { webhooks: WebhooksApi };
    const link = await api.portalLink(ann.id, { expiresIn: 2000 });
    const guest = { ...ann, call: createClient(url, new URL(link.url).hash.replace('#token=', '')) };
    const pending = pollWith(guest, '?wait=60');
    await vi.waitUntil(async () => (await guest.call('GET', path())).status === 401, { timeout: 60_000 });
    await write('one');
    expect((await pending).status).toBe(401);
  });

  test('with a key to which the endpoint is no longer bound, neither returns the next message nor makes it fail', async () => {
    const { body } = await ann.call('POST', '/api/auth/api-keys', {
      name: 'k',
      scopes: ['webhooks:read', 'webhooks:write', 'notes:read'],
    });
    const withKey = { ...ann, call: createClient(url, body.data.key) };
    endpoint = await create(withKey, { events: ['note.*'] });
    const pending = pollWith(withKey, '?wait=60');
    const changed = await ann.call('PATCH', path(), { apiKeyId: null, events: ['note.*', 'task.*'] });
    expect(changed.status).toBe(200);
    await ann.call('POST', '/api/tasks', { text: 'a task' });
    expect((await pending).status).toBe(403);
    expect(texts((await pollUntil(1)).messages)).toEqual(['a task']);
  });

  test('is one of a limited number for each user, which disconnected clients do not use up', async () => {
    const controllers = Array.from({ length: 3 }, () => new AbortController());
    const headers = { authorization: `Bearer ${ann.token}` };
    // Two of three requests wait, whichever arrive first.
    const open = controllers.map(({ signal }) => fetch(`${url}${path('/poll?wait=60')}`, { headers, signal }));
    const refused = await Promise.race(open);
    expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, 10]);
    // A poll that does not wait needs no slot.
    expect((await pollWith(ann)).status).toBe(200);
    for (const controller of controllers) controller.abort();
    await Promise.allSettled(open);
    await vi.waitUntil(async () => (await pollWith(ann, '?wait=1')).status === 200, { timeout: 60_000 });
  });
});

describe('bad input', () => {
  test.each([
    '?wait=61',
    '?wait=-1',
    '?wait=1.5',
    '?wait=soon',
    '?limit=0',
    '?limit=101',
    '?limit=x',
    '?after=x&after=y',
    '?more=1',
  ])('GET …/poll%s is refused, naming the parameter', async (query) => {
    const { status, body } = await pollWith(ann, query);
    expect(status).toBe(400);
    expect(JSON.stringify(body.error)).toContain(/\w+/.exec(query)![0]);
  });

  test('a cursor that is garbage, very long or of another endpoint is refused', async () => {
    const other = await create(ann);
    await write('one');
    await pollUntil(1);
    const foreign = (await pollWith(ann, '', other)).body.meta.next;
    const { next } = await poll();
    for (const cursor of ['', 'garbage', '🙂', 'x'.repeat(100_000), foreign, `${next}x`, next.slice(0, -1)]) {
      const { status, body } = await acknowledge(cursor);
      expect([status, Object.keys(body.error.details)]).toEqual([422, ['cursor']]);
    }
    for (const cursor of [undefined, null, 5, {}, [next]]) {
      const { status, body } = await acknowledge(cursor);
      expect([status, Object.keys(body.error.details)]).toEqual([422, ['cursor']]);
    }
    for (const cursor of ['garbage', '🙂', 'x'.repeat(5000), foreign]) {
      const { status, body } = await pollWith(ann, `?after=${encodeURIComponent(cursor)}`);
      expect([status, body.error.message]).toEqual([400, expect.stringContaining('after')]);
    }
    expect(texts((await poll()).messages)).toEqual(['one']);
  });
});

describe('tests, retries and recoveries', () => {
  test('a test responds at once with a pending delivery, which the next poll returns', async () => {
    const { status, body } = await ann.call('POST', path('/test'));
    expect([status, body.data.status, body.data.type]).toEqual([200, 'pending', 'webhook.test']);
    const { messages, next } = await pollUntil(1);
    expect(messages[0]!.id).toBe(body.data.messageId);
    await acknowledge(next);
    expect((await log())[0]).toMatchObject({ status: 'succeeded' });
  });

  test('a retry makes an acknowledged message wait again, after the cursors of earlier polls', async () => {
    await write('one', 'two');
    const { messages, next } = await pollUntil(2);
    await acknowledge(next);
    const delivery = (await log()).find(({ messageId }: { messageId: string }) => messageId === messages[0]!.id);
    const { status, body } = await ann.call('POST', path(`/deliveries/${delivery.id}/retry`));
    expect([status, body.data.status]).toEqual([200, 'pending']);
    const again = await pollUntil(1, `&after=${next}`);
    expect(again.messages.map(({ id }) => id)).toEqual([messages[0]!.id]);
  });

  test('a message that waits can be requested again for a poller that has gone past it', async () => {
    await write('one', 'two');
    const { next } = await pollUntil(2);
    const [, first] = await log();
    await ann.call('POST', path(`/deliveries/${first.id}/retry`));
    expect(texts((await pollUntil(1, `&after=${next}`)).messages)).toEqual(['one']);
    expect(texts((await poll()).messages)).toEqual(['two', 'one']);
  });

  test('a recovery makes failed messages wait again', async () => {
    const [id] = await write('one');
    await pollUntil(1);
    const bob = await person('Bob');
    await database.query(`update notes set owner = $2 where id = $1`, [id, bob.id]);
    await poll();
    await database.query(`update notes set owner = $2 where id = $1`, [id, ann.id]);
    const since = new Date(Date.now() - 60_000).toISOString();
    const { status, body } = await ann.call('POST', path('/recover'), { since });
    expect([status, body.data.total]).toEqual([202, 1]);
    expect(texts((await pollUntil(1)).messages)).toEqual(['one']);
  });

  test('a disabled endpoint is not polled; its messages wait until it is enabled', async () => {
    await write('one');
    const { next } = await pollUntil(1);
    await ann.call('PATCH', path(), { enabled: false });
    const { status, body } = await pollWith(ann);
    expect([status, body.error.message]).toEqual([400, 'The webhook is disabled; enable it first']);
    await ann.call('PATCH', path(), { enabled: true });
    expect(texts((await poll()).messages)).toEqual(['one']);
    expect((await acknowledge(next)).body.data).toEqual({ acknowledged: 1 });
  });
});

describe('API keys', () => {
  async function createKey(scopes: string[]): Promise<Person> {
    const { body } = await ann.call('POST', '/api/auth/api-keys', { name: 'k', scopes });
    return { ...ann, call: createClient(url, body.data.key) };
  }

  test('poll and acknowledge the endpoints that they create', async () => {
    const withKey = await createKey(['webhooks:read', 'webhooks:write', 'notes:read']);
    endpoint = await create(withKey);
    await write('one');
    const found = await vi.waitUntil(
      async () => {
        const { body } = await pollWith(withKey);
        return body.data.length > 0 ? body : undefined;
      },
      { timeout: 60_000 },
    );
    expect(texts(found.data)).toEqual(['one']);
    const { body } = await withKey.call('POST', path('/ack'), { cursor: found.meta.next });
    expect(body.data).toEqual({ acknowledged: 1 });
  });

  test('need the scopes of the events and of the routes', async () => {
    const withoutNotes = await createKey(['webhooks:read', 'webhooks:write']);
    expect((await pollWith(withoutNotes)).status).toBe(403);
    const readOnly = await createKey(['webhooks:read', 'notes:read']);
    expect((await pollWith(readOnly)).status).toBe(200);
    expect((await readOnly.call('POST', path('/ack'), { cursor: 'x' })).status).toBe(403);
  });
});

test('an API key without the scopes of expanded records does not get messages with them, and does not make them fail', async () => {
  const { body } = await ann.call('POST', '/api/auth/api-keys', {
    name: 'k',
    scopes: ['webhooks:read', 'webhooks:write', 'tasks:read'],
  });
  const withKey = { ...ann, call: createClient(url, body.data.key) };
  endpoint = await create(ann, { events: ['task.*'] });
  const label = (await ann.call('POST', '/api/labels', { name: 'urgent' })).body.data.id;
  await ann.call('POST', '/api/tasks', { text: 'one' });
  await ann.call('POST', '/api/tasks', { text: 'two', label });
  await pollUntil(2);
  const first = await pollWith(withKey);
  expect(texts(first.body.data)).toEqual(['one']);
  const second = await pollWith(withKey, `?after=${first.body.meta.next}`);
  expect([second.status, second.body.error.message]).toEqual([
    403,
    'The API key may not read all data of the next message; poll with another credential',
  ]);
  expect(texts((await poll()).messages)).toEqual(['one', 'two']);
});

test('a link to the portal polls and acknowledges', async () => {
  const { app } = running;
  const link = await (app as unknown as { webhooks: WebhooksApi }).webhooks.portalLink(ann.id);
  const guest = { ...ann, call: createClient(url, new URL(link.url).hash.replace('#token=', '')) };
  const pending = pollWith(guest, '?wait=60');
  await write('one');
  const { body } = await pending;
  expect(texts(body.data)).toEqual(['one']);
  const acknowledged = await guest.call('POST', path('/ack'), { cursor: body.meta.next });
  expect(acknowledged.body.data).toEqual({ acknowledged: 1 });
});

test('workers, sweeps and the backlog ignore messages that wait to be polled', async () => {
  await write('one');
  await pollUntil(1);
  const { rows } = await database.query(
    `select d.status, d.attempts, (select count(*)::int from webhook_deliveries where status = 'pending') as pending
     from webhook_deliveries d where d.endpoint_id = $1`,
    [endpoint.id],
  );
  expect(rows).toEqual([{ status: 'waiting', attempts: 0, pending: 0 }]);
});
