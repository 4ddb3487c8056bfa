import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  adminConsole,
  apiKeys,
  audit,
  createApp,
  defineResource,
  defineUser,
  f,
  softDelete,
} from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';

const note = defineResource('note', {
  fields: { title: f.string().required(), iban: f.string().encrypted(), author: f.ref('user').owner() },
  policies: { list: 'public', read: 'public' },
  softDelete: true,
});
const ledger = defineResource('ledger', { fields: { amount: f.integer().required() }, audit: true });
const resources = [defineUser({ roles: ['support'] }), note, ledger];
const PRODUCTION = {
  NODE_ENV: 'production',
  DRAIN_DELAY_MS: '0',
  APP_URL: 'https://api.example.com',
  SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
  LOG_LEVEL: 'silent',
};
const settings = { rateLimit: { enabled: false } };
const { app, call, person, url, env } = await startTestApp(
  {
    resources,
    settings,
    extensions: [softDelete(), audit(), apiKeys(), adminConsole({ production: true })],
  },
  { env: () => PRODUCTION, roles: ['web', 'relay'] },
);
const API = '/console/api';
const admin = await person('Root', ['user', 'admin']);
const ada = await person('Ada');
const stored = await app.service('note').create({ title: 'Stored', iban: 'DE89', author: ada.id });

async function query(text: string, values: unknown[]): Promise<void> {
  const client = new Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  try {
    await client.query(text, values);
  } finally {
    await client.end();
  }
}

const ROUTES: [method: string, path: string, body?: unknown][] = [
  ['GET', '/app'],
  ['GET', '/overview'],
  ['GET', '/records/note'],
  ['GET', `/records/note/${stored.id}`],
  ['GET', `/records/note/${stored.id}?as=${admin.id}`],
  ['POST', '/records/note', { title: 'x' }],
  ['PATCH', `/records/note/${stored.id}`, { title: 'x' }],
  ['DELETE', `/records/note/${stored.id}`],
  ['POST', `/records/note/${stored.id}/restore`],
  ['POST', `/records/note/${stored.id}/reveal`, { field: 'iban' }],
  ['GET', `/records/note/${stored.id}/history`],
  ['POST', '/records/note/bulk', { ids: [stored.id], action: 'delete' }],
  ['POST', '/records/note/files/title', 'x'],
  ['GET', `/labels/note?ids=${stored.id}`],
  ['GET', '/records/note/export?format=csv'],
  ['POST', '/records/note/import?format=csv&mode=check', '"title"'],
  ['GET', '/references/note'],
  ['GET', '/changes'],
  ['GET', '/records/__proto__'],
  ['GET', '/mails/texts'],
  ['GET', '/mails/texts/sign-in/en'],
  ['GET', '/mails/texts/sign-in/en/frame'],
  ['POST', '/mails/texts/sign-in/en/test'],
  ['GET', `/mails/tests/${stored.id}`],
  ['GET', '/reference/map'],
  ['GET', '/reference/document'],
];

describe.each(ROUTES)('%s %s', (method, path, body) => {
  const send = (client: typeof call, headers: Record<string, string> = {}) =>
    client(method, API + path, body, { 'if-match': '*', ...headers });

  test('is refused without a session of an administrator', async () => {
    expect((await send(call)).status).toBe(401);
    expect((await send(ada.call)).body.error.code).toBe('FORBIDDEN');
    expect((await send(createClient(url, 'nonsense'))).status).toBe(401);
    const head = await fetch(url + API + path, { method: 'HEAD' });
    expect(head.status).toBeOneOf([401, 405]);
    const options = await fetch(url + API + path, { method: 'OPTIONS' });
    expect([options.status, await options.text()]).toEqual([204, '']);
    const override = { 'x-http-method-override': method };
    expect((await call('POST', API + path, {}, override)).status).toBeOneOf([401, 405]);
  });

  test('is refused to an API key of an administrator', async () => {
    const { body: made } = await admin.call('POST', '/api/auth/api-keys', { name: 'key', scopes: ['*'] });
    const { status, body: refused } = await send(createClient(url, made.data.key));
    expect([status, refused.error.code]).toEqual([403, 'FORBIDDEN']);
    await admin.call('DELETE', `/api/auth/api-keys/${made.data.id}`);
  });

  test('is refused to a session without a recent sign-in', async () => {
    const late = await person('Late', ['user', 'admin']);
    await query(
      `update sessions set authenticated_at = now() - interval '1 day', created_at = created_at - interval '1 day' where user_id = $1`,
      [late.id],
    );
    expect((await send(late.call)).body.error.code).toBe('RECENT_SIGN_IN_REQUIRED');
  });
});

test('nothing was changed by the refused requests', async () => {
  expect((await app.service('note').list()).data).toHaveLength(1);
  expect((await app.service('note').read(stored.id)).title).toBe('Stored');
});

test('an administrator browses the data, and the pages of development do not exist', async () => {
  const { body } = await admin.call('GET', `${API}/app`);
  expect(body.data).toMatchObject({ mode: 'production', user: { id: admin.id, label: 'Root' } });
  expect(body.data.tabs.map(({ id }: { id: string }) => id)).toEqual([
    'overview',
    'data',
    'accounts',
    'audit',
    'push',
    'mails',
    'jobs',
    'operations',
    'reference',
  ]);
  expect((await admin.call('GET', `${API}/records/note`)).body.data[0]).toMatchObject({ title: 'Stored' });
  for (const path of ['/console/api/push/simulator', '/console/api/mails/captured'])
    expect((await fetch(url + path, { headers: { authorization: `Bearer ${admin.token}` } })).status).toBe(404);
  const policy = (await fetch(`${url}/console/data`)).headers.get('content-security-policy')!;
  expect(policy).toContain("img-src 'self' data:;");
  expect(policy).toContain("frame-src 'self';");
  expect(policy).not.toContain('https:');
});

test('the view as another administrator gives no rights of that administrator', async () => {
  const other = await person('Other', ['user', 'admin']);
  expect((await ada.call('GET', `${API}/records/note?as=${other.id}`)).status).toBe(403);
  expect((await admin.call('GET', `${API}/records/note?as=${other.id}`)).status).toBe(200);
});

type Entry = { action: string; record: string | null; user: string; via: string; changes: object; details: object };

async function entriesOf(resource: string, count: number): Promise<Entry[]> {
  const read = async () => (await admin.call('GET', `/api/admin/audit?resource=${resource}`)).body.data as Entry[];
  await expect.poll(async () => (await read()).length, { timeout: 60_000 }).toBe(count);
  return read();
}

test('every write is in the audit trail with its administrator, also for resources without the option audit', async () => {
  const { body: created } = await admin.call('POST', `${API}/records/note`, { title: 'One' });
  const { id } = created.data;
  const path = `${API}/records/note/${id}`;
  await admin.call('PATCH', path, { title: 'Two' }, { 'if-match': `"${created.meta.version}"` });
  await admin.call('DELETE', path, undefined, { 'if-match': '*' });
  await admin.call('POST', `${path}/restore`);
  await admin.call('POST', `${API}/records/note/bulk`, { ids: [id], action: 'update', values: { title: 'Three' } });
  await admin.call('POST', `${API}/records/note/bulk`, { ids: [id], action: 'delete' });
  await admin.call('POST', `${API}/records/note/bulk`, { ids: [id], action: 'restore' });
  const entries = await entriesOf('note', 7);
  expect(entries.map(({ action }) => action)).toEqual([
    'restored',
    'deleted',
    'updated',
    'restored',
    'deleted',
    'updated',
    'created',
  ]);
  for (const entry of entries) expect(entry).toMatchObject({ record: id, user: admin.id, via: 'console' });
  expect(entries[5]!.changes).toEqual({ title: { from: 'One', to: 'Two' } });
  const history = await admin.call('GET', `${path}/history?limit=2`);
  expect(history.body.data).toMatchObject([{ action: 'restored' }, { action: 'deleted' }]);
  expect(history.body.meta.labels.user).toEqual({ [admin.id]: 'Root' });
  const next = await admin.call('GET', `${path}/history?limit=200&after=${history.body.meta.next}`);
  expect(next.body.data).toHaveLength(5);
  expect((await admin.call('GET', `${path}/history?after=nonsense`)).status).toBe(400);
});

test('a user who is created in the console is in the audit trail, without a password', async () => {
  const { status, body } = await admin.call('POST', `${API}/records/user`, { name: 'Zoe', email: 'zoe@example.com' });
  expect(status).toBe(201);
  const [entry] = await entriesOf(`user&record=${body.data.id}&action=created`, 1);
  expect(entry).toMatchObject({ user: admin.id, via: 'console' });
  expect(JSON.stringify(entry)).not.toContain('scrypt');
});

test('other changes of a resource without the option audit are not recorded', async () => {
  const { body } = await admin.call('POST', '/api/notes', { title: 'By the API' });
  await admin.call('PATCH', `/api/notes/${body.data.id}`, { title: 'Changed' });
  await admin.call('POST', `${API}/records/ledger`, { amount: 1 });
  const [entry] = await entriesOf('ledger', 1);
  expect(entry).toMatchObject({ action: 'created', user: admin.id, via: 'console' });
  const history = await admin.call('GET', `${API}/records/note/${body.data.id}/history`);
  expect(history.body.data).toEqual([]);
});

test('imports and exports are in the audit trail', async () => {
  const send = (path: string, init: RequestInit) =>
    fetch(`${url}${API}/records/user/${path}`, {
      ...init,
      headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/x-ndjson' },
    });
  expect((await send('export?format=csv&name=Ada', {})).status).toBe(200);
  const imported = await send('import?format=ndjson&mode=write&upsertBy=email', {
    method: 'POST',
    body: JSON.stringify({ email: ada.email, name: 'Ada Lovelace' }),
  });
  expect(await imported.json()).toMatchObject({ data: { written: 1, rejected: 0 } });
  const [exported] = await entriesOf('user&action=console.exported', 1);
  const [updated] = await entriesOf(`user&action=updated&record=${ada.id}`, 1);
  expect(updated).toMatchObject({ action: 'updated', record: ada.id, user: admin.id, via: 'console' });
  expect(exported).toMatchObject({
    action: 'console.exported',
    record: null,
    user: admin.id,
    details: { format: 'csv', parameters: ['name'] },
  });
});

test('an encrypted value is revealed by its own route, which the audit trail records', async () => {
  const path = `${API}/records/note/${stored.id}`;
  expect((await admin.call('GET', path)).body.data.iban).toEqual({ $secret: true, isSet: true });
  const revealed = await admin.call('POST', `${path}/reveal`, { field: 'iban' });
  expect(revealed.body.data).toEqual({ value: 'DE89' });
  const history = () => admin.call('GET', `${path}/history`);
  await expect.poll(async () => (await history()).body.data.length, { timeout: 60_000 }).toBe(1);
  expect((await history()).body.data[0]).toMatchObject({
    action: 'console.revealed',
    user: admin.id,
    via: 'console',
    details: { field: 'iban' },
  });
  for (const field of ['title', 'password', '__proto__', 'author'])
    expect((await admin.call('POST', `${path}/reveal`, { field })).status).toBe(422);
  expect((await admin.call('POST', `${API}/records/user/${ada.id}/reveal`, { field: 'password' })).status).toBe(422);
});

test('a stream of changes ends when its administrator loses the role', { timeout: 60_000 }, async () => {
  const boss = await person('Boss', ['user', 'admin']);
  const response = await fetch(`${url}${API}/changes?resource=note`, {
    headers: { authorization: `Bearer ${boss.token}` },
  });
  const received: string[] = [];
  const ended = (async () => {
    for await (const text of response.body!.pipeThrough(new TextDecoderStream())) received.push(text);
  })();
  const created = await app.service('note').create({ title: 'Seen' });
  await expect
    .poll(() => received.join(''))
    .toContain(JSON.stringify({ resource: 'note', id: created.id, action: 'created' }));
  await app.service('ledger').create({ amount: 2 });
  await app.service('user').update(boss.id, { roles: ['user'] });
  await ended;
  expect(received.join('')).not.toContain('ledger');
  expect(received.join('')).toContain('event: ended');
});

test('a stream of changes ends when its session ends', { timeout: 60_000 }, async () => {
  const boss = await person('Leaver', ['user', 'admin']);
  const response = await fetch(`${url}${API}/changes`, { headers: { authorization: `Bearer ${boss.token}` } });
  await boss.call('POST', '/api/auth/logout');
  expect(await response.text()).toContain('event: ended');
});

describe('the setting production', () => {
  const create = (
    options: Parameters<typeof adminConsole>[0],
    extensions: Parameters<typeof createApp>[0]['extensions'] = [],
  ) => createApp({ resources, extensions: [softDelete(), ...extensions, adminConsole(options)] }, { ...env });

  test('needs the extension audit()', () => {
    const withoutTrail = { resources: [defineUser()], extensions: [adminConsole({ production: true })] };
    expect(() => createApp(withoutTrail, { ...env })).toThrow(/needs the extension audit\(\)/);
  });

  test.each(['public', 'authenticated', 'owner', 'verified', 'admin | authenticated'])(
    'refuses the policy %s',
    (policy) => {
      expect(() => create({ production: { policy } }, [audit()])).toThrow(/must name roles or be a function/);
    },
  );

  test('refuses a role that users cannot have', () => {
    expect(() => create({ production: { policy: 'admn' } }, [audit()])).toThrow('Did you mean "admin"?');
  });

  test('refuses unknown settings', () => {
    expect(() => create({ production: { roles: 'admin' } } as object, [audit()])).toThrow('production');
    expect(() => create({ produktion: true } as object, [audit()])).toThrow('produktion');
  });

  test('accepts a role of the app, and the console is open to that role only', async () => {
    const other = await startTestApp(
      {
        resources,
        settings,
        extensions: [softDelete(), audit(), adminConsole({ production: { policy: 'support' } })],
      },
      { env: () => PRODUCTION },
    );
    const [helper, boss] = [
      await other.person('Helper', ['user', 'support']),
      await other.person('Boss', ['user', 'admin']),
    ];
    expect((await helper.call('GET', `${API}/app`)).status).toBe(200);
    expect((await boss.call('GET', `${API}/app`)).status).toBe(403);
  });

  test('is off by default', async () => {
    const closed = createApp({ resources, settings, extensions: [softDelete(), audit(), adminConsole()] }, { ...env });
    onTestFinished(() => closed.close());
    const { url: at } = await closed.start({ port: 0, roles: ['web'] });
    const { status } = await createClient(at, admin.token)('GET', `${API}/app`);
    expect(status).toBe(404);
  });
});
