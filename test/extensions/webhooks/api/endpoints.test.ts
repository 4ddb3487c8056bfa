import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { createApp, defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { startDnsServer } from '../../../fakes/dns-server.ts';
import { createClient, startTestApp } from '../../../support/app.ts';
import { finishDeliveries } from '../../../support/webhooks/deliveries.ts';

const post = defineResource('post', { fields: { title: f.string() } });
const secretPlan = defineResource('plan', { fields: { title: f.string() }, webhooks: false });
const resources = [defineUser(), post, secretPlan] as const;

const dns = await startDnsServer((_, type) => (type === 'A' ? ['93.184.216.34'] : []));
afterAll(() => dns.close());
const { person, call, env } = await startTestApp(
  {
    resources,
    extensions: [
      webhooks({ maxEndpointsPerUser: 3, allowPrivate: false, maxUrlLength: 100, nameServers: [dns.address] }),
    ],
  },
  { roles: 'all' },
);
const ann = await person('Ann');
const bob = await person('Bob');
const root = await person('Root', ['admin']);
const url = 'https://hooks.example.com/in';
const create = (who: { call: typeof call }, body: object) =>
  who.call('POST', '/api/webhooks', { url, events: ['post.created'], ...body });

async function query(text: string, values: unknown[] = []) {
  const client = new Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  const { rows } = await client.query(text, values);
  await client.end();
  return rows;
}

test('creating an endpoint responds 201 with its secret, only this once and uncached; the database stores the secret encrypted', async () => {
  const { status, headers, body } = await create(ann, { description: 'mine', events: ['post.created', 'post.*'] });
  expect(status).toBe(201);
  expect(headers.get('cache-control')).toBe('no-store');
  const { secret, ...shown } = body.data;
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(shown).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{24}$/),
    url,
    events: ['post.created', 'post.*'],
    description: 'mine',
    scope: 'own',
    enabled: true,
    ordered: false,
    rateLimit: null,
    status: 'active',
    lastSuccessAt: null,
    lastFailureAt: null,
    lastError: null,
    consecutiveFailures: 0,
    disabledReason: null,
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
    filter: null,
    filterError: null,
    delivery: 'push',
  });
  expect((await ann.call('GET', '/api/webhooks')).body).toEqual({ data: [shown] });
  expect((await ann.call('GET', `/api/webhooks/${shown.id}`)).body).toEqual({ data: shown });
  const [row] = await query('select * from webhook_endpoints where id = $1', [shown.id]);
  expect(row.secret).toMatch(/^v1\./);
  expect(JSON.stringify(row)).not.toContain(secret.slice(6, 20));
});

test('every route responds 404 for another user’s, malformed or unknown endpoint, and 401 without a session', async () => {
  const { id } = (await ann.call('GET', '/api/webhooks')).body.data[0];
  for (const path of [id, 'f'.repeat(24), 'nonsense']) {
    for (const [method, rest, body] of [
      ['GET', ''],
      ['PATCH', '', {}],
      ['DELETE', ''],
      ['GET', '/deliveries'],
      ['POST', '/rotate-secret'],
      ['POST', '/test'],
      ['POST', `/deliveries/${id}/retry`],
      ['POST', '/recover', { since: new Date().toISOString() }],
      ['GET', `/recoveries/${id}`],
      ['GET', `/explain?event=${id}`],
      // Validation errors are reported to the owner only.
      ['PATCH', '', { enabled: 'maybe' }],
      ['PATCH', '', '{'],
      ['POST', '/rotate-secret', { signing: 'v7' }],
      ['POST', '/recover'],
      ['GET', '/deliveries?limit=1000'],
      ['GET', '/explain'],
    ] as const) {
      const at = `/api/webhooks/${path}${rest}`;
      expect([at, (await bob.call(method, at, body)).status]).toEqual([at, 404]);
      expect([at, (await call(method, at, body)).status]).toEqual([at, 401]);
    }
  }
  expect((await bob.call('GET', '/api/webhooks')).body).toEqual({ data: [] });
});

test('invalid fields are reported with 422, each by its name', async () => {
  const details = async (body: object) => {
    const answer = Array.isArray(body) ? await bob.call('POST', '/api/webhooks', body) : await create(bob, body);
    expect(answer.status).toBe(422);
    return answer.body.error.details;
  };
  const unknown = await details({ events: ['post.created', 'post.eaten', 'plan.created'] });
  expect(unknown).toEqual({
    events:
      'Unknown events: "post.eaten", "plan.created". Valid events: user.created, user.updated, user.deleted, user.*, ' +
      'post.created, post.updated, post.deleted, post.*, *',
  });
  expect(await details({ events: undefined, url: undefined })).toEqual({ url: 'Is required', events: 'Is required' });
  expect(await details({ events: [] })).toEqual({ events: 'Must be at least 1 item' });
  expect(await details({ events: Array(21).fill('*') })).toEqual({ events: 'Must be at most 20 items' });
  expect(await details({ surprise: 1 })).toEqual({ surprise: 'Unknown field' });
  expect(await details({ enabled: false })).toEqual({ enabled: 'Unknown field' });
  expect(await details({ scope: 'all' })).toEqual({ scope: 'Must be one of: own, global' });
  expect(await details({ description: 'a\0b' })).toEqual({ description: 'Must not contain invalid characters' });
  expect(await details({ url: `https://example.com/${'x'.repeat(100)}` })).toEqual({
    url: 'Must be at most 100 characters',
  });
  expect(await details([])).toEqual({ body: 'Must be an object' });
  for (const bad of [
    'https://example.com/\ud800',
    'ftp://example.com/',
    'https://user:password@example.com/',
    'http://localhost:8080/',
    'http://127.0.0.1/',
    'http://169.254.169.254/latest',
    'http://[::ffff:10.0.0.1]/',
    'https://intranet/',
    'nothing',
    7,
  ]) {
    expect(await details({ url: bad })).toEqual({ url: expect.any(String) });
  }
});

test('beyond the limit a creation responds 409 LIMIT_REACHED, even if all endpoints are created concurrently', async () => {
  const cy = await person('Cy');
  const answers = await Promise.all(Array.from({ length: 12 }, () => create(cy, {})));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
  const refused = answers.filter(({ status }) => status !== 201);
  for (const { status, body } of refused) expect([status, body.error.code]).toEqual([409, 'LIMIT_REACHED']);
  const [first] = (await cy.call('GET', '/api/webhooks')).body.data;
  expect((await cy.call('DELETE', `/api/webhooks/${first.id}`)).status).toBe(204);
  expect((await cy.call('DELETE', `/api/webhooks/${first.id}`)).status).toBe(404);
  expect((await create(cy, {})).status).toBe(201);
});

test('a global endpoint requires globalPolicy', async () => {
  const refused = await create(bob, { scope: 'global' });
  expect([refused.status, refused.body.error.code]).toEqual([403, 'FORBIDDEN']);
  expect((await create(root, { scope: 'global' })).body.data).toMatchObject({ scope: 'global' });
});

test('PATCH changes only the given fields and validates them like a creation', async () => {
  const { id, secret: _, ...made } = (await create(bob, { description: 'old' })).body.data;
  const patch = (body: object) => bob.call('PATCH', `/api/webhooks/${id}`, body);
  const changed = await patch({ url: 'https://example.com/b', events: ['*'], description: null });
  const { description: __, ...rest } = made;
  expect(changed.body.data).toEqual({
    ...rest,
    id,
    url: 'https://example.com/b',
    events: ['*'],
    updatedAt: expect.any(String),
  });
  expect((await patch({ enabled: false })).body.data).toMatchObject({
    enabled: false,
    status: 'disabled',
    disabledReason: 'manual',
  });
  expect((await patch({ enabled: true })).body.data).toMatchObject({
    enabled: true,
    status: 'active',
    disabledReason: null,
  });
  expect((await patch({ url: 'http://10.0.0.1/' })).status).toBe(422);
  expect((await patch({ scope: 'global' })).body.error.details).toEqual({ scope: 'Unknown field' });
});

test('an unknown, malformed or out-of-range query of the delivery log responds 400', async () => {
  const { id } = (await create(bob, {})).body.data;
  const get = (text: string) => bob.call('GET', `/api/webhooks/${id}/deliveries${text}`);
  expect((await get('?status=failed&limit=100')).body).toEqual({ data: [], meta: { limit: 100, next: null } });
  for (const bad of [
    'limit=0',
    'limit=101',
    'limit=1.5',
    'limit=-1',
    'limit=',
    'limit=1&limit=2',
    'status=done',
    'status=',
    'page=1',
  ]) {
    const { status, body } = await get(`?${bad}`);
    expect([bad, status, body.error.code]).toEqual([bad, 400, 'BAD_REQUEST']);
  }
});

test('the delivery log lists the newest first, 50 by default, and filters by status', async () => {
  const dan = await person('Dan');
  const { id } = (await create(dan, {})).body.data;
  const from = (count: number) => Array.from({ length: count }, (_, i) => 120 - i);
  const client = new Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, next_attempt_at)
     select lpad(n::text, 24, '0'), $1, lpad(n::text, 24, '0'), 'msg_' || n, 'note.created', '{}', now() + interval '1 day'
     from generate_series(1, 120) n`,
    [id],
  );
  for (const [remainder, status] of [
    [1, 'succeeded'],
    [2, 'failed'],
  ] as const) {
    const ids = from(120).filter((number) => number % 3 === remainder);
    const finished = [ids.map((number) => String(number).padStart(24, '0'))];
    expect(await finishDeliveries(client, status, 'id = any($1)', finished)).toBe(40);
  }
  const get = async (text = '') =>
    (await dan.call('GET', `/api/webhooks/${id}/deliveries${text}`)).body.data as { id: string; status: string }[];
  const numbers = (list: { id: string }[]) => list.map((one) => Number(one.id));
  expect(numbers(await get())).toEqual(from(50));
  expect(numbers(await get('?limit=7'))).toEqual(from(7));
  expect(numbers(await get('?limit=100'))).toEqual(from(100));
  for (const [n, status] of ['pending', 'succeeded', 'failed'].entries()) {
    const list = await get(`?status=${status}&limit=20`);
    expect(new Set(list.map((one) => one.status))).toEqual(new Set([status]));
    expect(numbers(list)).toEqual(
      from(120)
        .filter((number) => number % 3 === n)
        .slice(0, 20),
    );
  }
  expect(await get('?status=sending')).toEqual([]);
});

test('policy and globalPolicy decide which users may have endpoints and global endpoints; globalPolicy may be a function', async () => {
  const only = createApp(
    {
      resources,
      extensions: [webhooks({ policy: 'admin', globalPolicy: ({ user }) => user?.name === 'Root' })],
    },
    { ...env, REDIS_PREFIX: `${env.REDIS_PREFIX}-only` },
  );
  const { url: base } = await only.start({ port: 0, roles: ['web'] });
  onTestFinished(() => only.close());
  const other = await person('Other', ['admin']);
  const post = (who: { token: string }, scope: string) =>
    createClient(base, who.token)('POST', '/api/webhooks', { url, events: ['post.created'], scope });
  expect((await post(await person('Eve'), 'own')).status).toBe(403);
  expect((await post(other, 'own')).status).toBe(201);
  expect((await post(other, 'global')).status).toBe(403);
  expect((await post(root, 'global')).status).toBe(201);
});

test('without a session, endpoints can neither be listed nor created', async () => {
  expect((await call('GET', '/api/webhooks')).status).toBe(401);
  expect((await call('POST', '/api/webhooks', { url: 'https://example.com/', events: ['*'] })).status).toBe(401);
});

test('an invalid setting stops the start and is named', () => {
  const make = (options: object) => () => createApp({ resources, extensions: [webhooks(options)] }, env);
  expect(make({ secretGraceHours: -1, notifyOwner: 'yes' })).toThrow(
    /webhooks.notifyOwner[\s\S]*webhooks.secretGraceHours|webhooks.secretGraceHours[\s\S]*webhooks.notifyOwner/,
  );
  expect(make({ timeoutMs: 0, surprise: 1 })).toThrow(/timeoutMs[\s\S]*surprise|surprise[\s\S]*timeoutMs/);
  expect(make({ nameServers: ['dns.example.com'] })).toThrow('webhooks.nameServers.0: must be an IP address');
  expect(make({ retrySchedule: ['soon'] })).toThrow('"soon" is not a valid wait');
  expect(make({ globalPolicy: 'a+b' })).toThrow('webhooks.globalPolicy');
});
