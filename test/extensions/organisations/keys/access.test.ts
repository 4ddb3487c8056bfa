// What the API keys of an organisation reach: only its records, as their role allows, and no user's.
import { beforeAll, describe, expect, test, vi } from 'vitest';
import type { ApiResponse, Person } from '../../../support/app.ts';
import { listen, ready } from '../../realtime/listen.ts';
import { type Key, startOrganisationKeysApp } from './app.ts';

const { app, api, url, person, key, query, events, service } = await startOrganisationKeysApp();
const NONE = 'f'.repeat(24);
let [owner, member, root] = [] as unknown as Person[];
let [acme, bolt] = [
  { id: '', slug: 'acme' },
  { id: '', slug: 'bolt' },
];
let keys: Record<'member' | 'admin' | 'owner', Key>;
let foreign: Key;
/** A ticket of the member, and one of the other organisation. */
let [theirs, elsewhere] = ['', ''];

beforeAll(async () => {
  [owner, member] = await Promise.all(['Olga', 'Mia'].map((name) => person(name)));
  root = await person('Root', ['admin']);
  [acme, bolt] = [
    { ...acme, id: (await api.create({ name: 'Acme', slug: 'acme' }, owner!.id)).id },
    { ...bolt, id: (await api.create({ name: 'Bolt', slug: 'bolt' }, owner!.id)).id },
  ];
  await api.addMember(acme.id, member!.id, 'member');
  keys = {
    member: await key(owner!, acme.id),
    admin: await key(owner!, acme.id, { as: 'org:admin' }),
    owner: await key(owner!, acme.id, { as: 'org:owner' }),
  };
  foreign = await key(owner!, bolt.id, { as: 'org:owner' });
  theirs = (await member!.call('POST', '/api/tickets', { title: 'by the member' })).body.data.id;
  elsewhere = (await foreign.call('POST', '/api/tickets', { title: 'elsewhere' })).body.data.id;
});

const data = ({ status, body }: ApiResponse, expected = 200) => {
  expect([status, body?.error]).toEqual([expected, undefined]);
  return body?.data;
};
const titles = async (path: string, { call }: Pick<Key, 'call'> = keys.member) =>
  data(await call('GET', path)).map(({ title }: { title: string }) => title);

describe('records', () => {
  test('a key creates records of its organisation, which have no owner', async () => {
    const made = data(await keys.member.call('POST', '/api/tickets', { title: 'made' }), 201);
    expect(made).toMatchObject({ title: 'made', organisation: acme.id });
    expect(made.author ?? null).toBeNull();
    expect(await query('select author from tickets where id = $1', [made.id])).toEqual([{ author: null }]);
    expect(
      data(await keys.member.call('POST', '/api/tickets', { title: 'm', organisation: acme.id }), 201),
    ).toBeTruthy();
    for (const organisation of [bolt.id, NONE]) {
      const { status, body } = await keys.member.call('POST', '/api/tickets', { title: 'x', organisation });
      expect([status, Object.keys(body.error.details)]).toEqual([422, ['organisation']]);
    }
    for (const author of [acme.id, owner!.id]) {
      const { status, body } = await keys.owner.call('POST', '/api/tickets', { title: 'x', author });
      expect([status, body.error.details]).toEqual([422, { author: 'Is read-only' }]);
    }
  });

  test('a record that needs an owner is refused with a message, for one record and in a batch', async () => {
    const message = 'Is required, but the API key of an organisation belongs to no user';
    const { status, body } = await keys.owner.call('POST', '/api/signatures', { text: 'x' });
    expect([status, body.error.details]).toEqual([422, { signer: message }]);
    const batch = await keys.owner.call('POST', '/api/signatures/batch', { operations: [{ op: 'create', data: {} }] });
    expect(batch.status).toBe(422);
    expect(JSON.stringify(batch.body)).toContain(message);
    expect((await member!.call('POST', '/api/signatures', { text: 'x' })).status).toBe(201);
  });

  test('lists, searches, filters, groups and reads contain only records of the organisation', async () => {
    expect(await titles('/api/tickets?limit=100')).not.toContain('elsewhere');
    expect(await titles('/api/tickets?q=elsewhere')).toEqual([]);
    expect(await titles('/api/tickets?title=by the member')).toEqual(['by the member']);
    expect(data(await keys.member.call('GET', `/api/tickets/${theirs}`))).toMatchObject({ title: 'by the member' });
    const groups = data(await keys.member.call('GET', '/api/tickets/aggregate?group=state&count'));
    const all = data(await keys.member.call('GET', '/api/tickets?limit=100'));
    expect(groups.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(all.length);
    const calls = [
      ['GET', '', undefined],
      ['PATCH', '', { title: 'x' }],
      ['DELETE', '', undefined],
      ['POST', '/close', {}],
    ] as const;
    for (const id of [elsewhere, NONE])
      for (const [method, end, body] of calls)
        expect((await keys.owner.call(method, `/api/tickets/${id}${end}`, body)).status, method + end).toBe(404);
  });

  test('owner policies never match an organisation; its role decides', async () => {
    const made = data(await keys.member.call('POST', '/api/tickets', { title: 'own' }), 201).id;
    for (const id of [theirs, made]) {
      expect((await keys.member.call('PATCH', `/api/tickets/${id}`, { state: 'closed' })).status).toBe(403);
      expect((await keys.member.call('DELETE', `/api/tickets/${id}`)).status).toBe(403);
      expect((await keys.member.call('POST', `/api/tickets/${id}/close`, {})).status).toBe(403);
      data(await keys.admin.call('PATCH', `/api/tickets/${id}`, { state: 'closed' }));
      data(await keys.admin.call('POST', `/api/tickets/${id}/close`, {}));
    }
    expect((await keys.admin.call('DELETE', `/api/tickets/${made}`)).status).toBe(204);
    await member!.call('POST', '/api/jottings', { text: 'private' });
    expect(data(await keys.owner.call('GET', '/api/jottings'))).toEqual([]);
    const jotting = data(await keys.owner.call('POST', '/api/jottings', { text: 'x' }), 201);
    expect((await keys.owner.call('GET', `/api/jottings/${jotting.id}`)).status).toBe(404);
  });

  test('fields follow the role of the key', async () => {
    const { status, body } = await keys.admin.call('POST', '/api/tickets', { title: 'x', price: 5 });
    expect([status, Object.keys(body.error.details)]).toEqual([422, ['price']]);
    const { id } = data(await keys.owner.call('POST', '/api/tickets', { title: 'priced', price: 5 }), 201);
    expect(data(await keys.admin.call('GET', `/api/tickets/${id}`))).toMatchObject({ price: 5 });
    expect(data(await keys.member.call('GET', `/api/tickets/${id}`))).not.toHaveProperty('price');
    expect((await keys.admin.call('PATCH', `/api/tickets/${id}`, { price: 6 })).status).toBe(422);
  });

  test('batches, soft deletion and restoring work for the organisation', async () => {
    const operations = [
      { op: 'create', data: { name: 'One' } },
      { op: 'create', data: { name: 'Two' } },
    ];
    const done = data(await keys.member.call('POST', '/api/projects/batch', { operations }));
    expect(done.map(({ status }: { status: number }) => status)).toEqual([201, 201]);
    const { id } = data(await keys.member.call('GET', '/api/projects?name=One'))[0];
    expect((await keys.member.call('DELETE', `/api/projects/${id}`)).status).toBe(204);
    expect(data(await keys.member.call('GET', '/api/projects?deleted=only'))).toMatchObject([{ id }]);
    data(await keys.member.call('POST', `/api/projects/${id}/restore`, {}));
    expect((await foreign.call('POST', `/api/projects/${id}/restore`, {})).status).toBe(404);
    expect((await foreign.call('POST', '/api/projects', { name: 'One' })).status).toBe(201);
    const refused = await foreign.call('POST', '/api/tickets', { title: 'x', project: id });
    expect([refused.status, Object.keys(refused.body.error.details)]).toEqual([422, ['project']]);
    const linked = data(await keys.member.call('POST', '/api/tickets', { title: 'linked', project: id }), 201).id;
    const read = data(await keys.member.call('GET', `/api/tickets/${linked}?include=project`));
    expect(read.project).toMatchObject({ id, name: 'One' });
    const group = data(await keys.member.call('GET', `/api/projects/${id}?include=tickets`));
    expect(group.tickets.data).toMatchObject([{ id: linked }]);
  });

  test('users in its records appear as to a signed-out caller: without their address', async () => {
    for (const path of [`/api/tickets/${theirs}`, `/api/tickets/${theirs}?include=author`]) {
      const { status, body } = await keys.owner.call('GET', path);
      expect(status).toBe(200);
      expect(JSON.stringify(body)).not.toContain('@');
    }
    const assigned = await keys.member.call('POST', '/api/tickets', { title: 'a', assignee: member!.id });
    expect(assigned.status).toBe(201);
    for (const assignee of [acme.id, NONE])
      expect((await keys.member.call('POST', '/api/tickets', { title: 'a', assignee })).status).toBe(422);
  });

  test('the header X-Organisation cannot lead a key to another organisation', async () => {
    for (const named of [acme.id, acme.slug])
      expect((await keys.member.call('GET', '/api/tickets', undefined, { 'x-organisation': named })).status).toBe(200);
    for (const named of [bolt.id, bolt.slug, NONE, 'unknown', 'No Slug']) {
      const headers = { 'x-organisation': named };
      expect((await keys.owner.call('GET', '/api/tickets', undefined, headers)).status, named).toBe(404);
      expect((await keys.owner.call('POST', '/api/tickets', { title: 'x' }, headers)).status, named).toBe(404);
      expect((await keys.owner.call('GET', `/api/tickets/${theirs}`, undefined, headers)).status, named).toBe(404);
    }
  });

  test('scopes limit a key before its role does', async () => {
    const reader = await key(owner!, acme.id, { scopes: ['tickets:read'], as: 'org:owner' });
    expect((await reader.call('GET', '/api/tickets')).status).toBe(200);
    expect((await reader.call('POST', '/api/tickets', { title: 'x' })).status).toBe(403);
    expect((await reader.call('GET', '/api/projects')).status).toBe(403);
    expect((await reader.call('GET', '/api/organisations')).status).toBe(403);
  });
});

describe('routes', () => {
  test('a key that belongs to no user has no profile, and the message names the route of the organisation', async () => {
    const { status, body } = await keys.owner.call('GET', '/api/auth/me');
    expect([status, body.error.code]).toEqual([403, 'FORBIDDEN']);
    expect(body.error.message).toBe(
      'This API key belongs to an organisation and not to a user; GET /api/organisations returns the organisation',
    );
    expect(data(await keys.member.call('GET', '/api/organisations'))).toMatchObject([{ id: acme.id, name: 'Acme' }]);
  });

  test('everything outside of the organisation is refused', async () => {
    const calls: [string, string, unknown?][] = [
      ['GET', '/api/memos'],
      ['POST', '/api/memos', { text: 'x' }],
      ['GET', '/api/users'],
      ['GET', `/api/users/${owner!.id}`],
      ['GET', '/api/auth/sessions'],
      ['GET', '/api/auth/organisation'],
      ['POST', '/api/auth/api-keys', { name: 'x' }],
      ['POST', '/api/organisations', { name: 'x' }],
      ['DELETE', `/api/organisations/${acme.id}`],
      ['POST', `/api/organisations/${acme.id}/invitations`, { email: 'x@example.com' }],
      ['POST', '/api/realtime/ticket'],
      ['GET', '/api/admin/audit'],
      ['GET', '/api/admin/api-keys'],
    ];
    for (const [method, path, body] of calls)
      expect((await keys.owner.call(method, path, body)).status, `${method} ${path}`).toBe(403);
    expect((await keys.owner.call('GET', '/api/tickets/admins')).status).toBe(403);
    expect(events.findLast(({ name }) => name === 'access_refused')?.payload).toMatchObject({
      ...{ userId: undefined, organisation: acme.id, via: 'api-key', credential: keys.owner.id },
    });
  });

  test('a route that accepts such keys sees the organisation as its caller', async () => {
    const { user, auth } = data(await keys.admin.call('GET', '/api/tickets/caller'));
    expect(user).toEqual({ id: acme.id });
    expect(auth).toEqual({
      ...{ via: 'api-key', scopes: ['*'], id: keys.admin.id, organisation: acme.id, organisationRole: 'admin' },
    });
  });

  test('a key reads members, and manages them up to its role', async () => {
    const path = `/api/organisations/${acme.slug}/members`;
    const list = data(await keys.member.call('GET', path));
    expect(list).toHaveLength(2);
    expect(JSON.stringify(list)).not.toContain('@');
    expect(data(await keys.member.call('GET', '/api/memberships'))).toHaveLength(2);
    const joined = await person('Nele');
    const { id } = await api.addMember(acme.id, joined.id, 'member');
    const own = list.find(({ role }: { role: string }) => role === 'owner').id;
    const change = (of: Key, membership: string, role: string) => of.call('PATCH', `${path}/${membership}`, { role });
    expect((await change(keys.member, id, 'admin')).status).toBe(403);
    expect((await change(keys.admin, id, 'owner')).status).toBe(403);
    expect((await change(keys.admin, own, 'member')).status).toBe(403);
    expect(data(await change(keys.admin, id, 'admin'))).toMatchObject({ role: 'admin' });
    expect((await change(foreign, id, 'member')).status).toBe(404);
    expect((await keys.owner.call('DELETE', `${path}/${own}`)).status).toBe(409);
    expect((await keys.member.call('DELETE', `${path}/${id}`)).status).toBe(403);
    expect((await keys.admin.call('DELETE', `${path}/${id}`)).status).toBe(204);
    expect((await keys.owner.call('POST', `/api/organisations/${acme.id}/leave`)).status).toBe(404);
    for (const of of [bolt.id, NONE])
      expect((await keys.owner.call('GET', `/api/organisations/${of}/members`)).status).toBe(404);
  });

  test('a key changes its organisation and lists its invitations only as a manager', async () => {
    const path = `/api/organisations/${acme.id}`;
    expect((await keys.member.call('PATCH', path, { name: 'Renamed' })).status).toBe(403);
    expect(data(await keys.admin.call('PATCH', path, { name: 'Acme' }))).toMatchObject({ name: 'Acme' });
    expect((await keys.owner.call('PATCH', `/api/organisations/${bolt.id}`, { name: 'x' })).status).toBe(404);
    await owner!.call('POST', `${path}/invitations`, { email: 'guest@example.com' });
    expect((await keys.member.call('GET', `${path}/invitations`)).status).toBe(403);
    expect(data(await keys.admin.call('GET', `${path}/invitations`))).toMatchObject([{ email: 'guest@example.com' }]);
    expect((await keys.owner.call('GET', `/api/organisations/${bolt.id}/invitations`)).status).toBe(404);
  });

  test('a repeated request is replayed to the same key only', async () => {
    const create = ({ call }: Key) =>
      call('POST', '/api/tickets', { title: 'once' }, { 'idempotency-key': 'the-same-key' });
    const first = data(await create(keys.member), 201);
    expect(data(await create(keys.member), 201).id).toBe(first.id);
    expect(data(await create(keys.admin), 201).id).not.toBe(first.id);
    expect(data(await create(foreign), 201)).toMatchObject({ organisation: bolt.id });
  });
});

describe('files', () => {
  const upload = (path: string, { token }: Key, headers: Record<string, string> = {}, body = 'hello') =>
    fetch(`${url}/api/files/${path}?field=ticket.scan`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, ...headers },
      body,
    });

  test('a key uploads a file, another key of the organisation uses it, and no other does', async () => {
    const headers = { 'content-type': 'text/plain', 'content-disposition': 'attachment; filename="a.txt"' };
    const sent = await upload('uploads', keys.member, headers);
    expect(sent.status).toBe(201);
    const { id } = ((await sent.json()) as { data: { id: string } }).data;
    for (const other of [foreign, owner!])
      expect((await other.call('POST', '/api/tickets', { title: 'x', scan: id, organisation: bolt.id })).status).toBe(
        422,
      );
    const made = data(await keys.admin.call('POST', '/api/tickets', { title: 'scanned', scan: id }), 201);
    const file = new URL(made.scan.url, url);
    const read = async (target: URL, of?: Key) =>
      (await fetch(target, of && { headers: { authorization: `Bearer ${of.token}` } })).status;
    expect([await read(file, keys.member), await read(file)]).toEqual([200, 200]);
    file.search = '';
    expect([await read(file, keys.member), await read(file, foreign)]).toEqual([404, 404]);
    expect((await upload('uploads', keys.member, headers, '')).status).toBeLessThan(500);
  });

  test('a resumable upload belongs to the organisation', async () => {
    const metadata = `filename ${btoa('b.txt')},filetype ${btoa('text/plain')}`;
    const started = await upload(
      'resumable',
      keys.member,
      { 'tus-resumable': '1.0.0', 'upload-length': '5', 'upload-metadata': metadata },
      '',
    );
    expect(started.status).toBe(201);
    const location = new URL(started.headers.get('location')!, url);
    const append = (of: Key) =>
      fetch(location, {
        method: 'PATCH',
        headers: {
          ...{ authorization: `Bearer ${of.token}`, 'tus-resumable': '1.0.0', 'upload-offset': '0' },
          'content-type': 'application/offset+octet-stream',
        },
        body: 'hello',
      });
    expect((await append(foreign)).status).toBe(404);
    expect((await append(keys.member)).status).toBe(204);
  });
});

describe('streams', () => {
  test('a stream carries the records of the organisation as its role sees them, beside streams of other roles', async () => {
    const [low, high, other] = [
      await ready(url, 'subscribe=ticket&subscribe=membership&subscribe=organisation', { token: keys.member.token }),
      await ready(url, 'subscribe=ticket', { token: keys.owner.token, headers: { 'x-organisation': acme.slug } }),
      await ready(url, 'subscribe=ticket', { token: foreign.token }),
    ];
    const { id } = data(await keys.owner.call('POST', '/api/tickets', { title: 'streamed', price: 7 }), 201);
    const hidden = data(await foreign.call('POST', '/api/tickets', { title: 'hidden' }), 201).id;
    const joined = await person('Jo');
    await api.addMember(acme.id, joined.id);
    const about = (given: string) => (one: { data: { id?: string } | undefined }) => one.data?.id === given;
    expect((await high.wait(about(id))).data.data).toMatchObject({ title: 'streamed', price: 7 });
    expect((await low.wait(about(id))).data.data).not.toHaveProperty('price');
    await other.wait(about(hidden));
    await low.named('membership.created');
    // This stream ends with a check of all callers, which the streams of the organisation survive.
    const ending = await key(owner!, acme.id);
    const checked = await ready(url, 'subscribe=ticket', { token: ending.token });
    await owner!.call('DELETE', `/api/organisations/${acme.id}/api-keys/${ending.id}`);
    await checked.ended;
    const last = data(await keys.member.call('POST', '/api/tickets', { title: 'last' }), 201).id;
    for (const stream of [low, high]) {
      await stream.wait(about(last));
      expect(JSON.stringify(stream.received)).not.toContain('hidden');
      expect(stream.received.some(({ event }) => event === 'end')).toBe(false);
    }
    expect(JSON.stringify(other.received)).not.toContain('streamed');
  });

  test('a stream ends with its key, and with its organisation', async () => {
    const team = await api.create({ name: 'Short', slug: 'short' }, owner!.id);
    const [first, second] = [await key(owner!, team.id), await key(owner!, team.id)];
    const [one, two] = [
      await ready(url, 'subscribe=ticket', { token: first.token }),
      await ready(url, 'subscribe=ticket', { token: second.token }),
    ];
    await owner!.call('DELETE', `/api/organisations/${team.id}/api-keys/${first.id}`);
    await one.ended;
    expect(two.received.some(({ event }) => event === 'end')).toBe(false);
    await api.delete(team.id);
    await two.ended;
    expect((await listen(url, 'subscribe=ticket', { token: second.token })).status).toBe(401);
  });

  test('a key cannot follow other records', async () => {
    expect((await listen(url, 'subscribe=memo', { token: keys.owner.token })).status).toBe(403);
    expect((await listen(url, 'subscribe=user', { token: keys.owner.token })).status).toBe(403);
    expect((await listen(url, `subscribe=ticket/${elsewhere}`, { token: keys.owner.token })).status).toBe(404);
    const headers = { 'x-organisation': bolt.slug };
    expect((await listen(url, 'subscribe=ticket', { token: keys.owner.token, headers })).status).toBe(404);
  });
});

describe('traces', () => {
  test('the audit trail names the key and the organisation, and no user', async () => {
    const { id } = data(await keys.admin.call('POST', '/api/projects', { name: 'audited' }), 201);
    const path = `/api/organisations/${acme.id}`;
    await keys.admin.call('PATCH', path, { name: 'Acme & Co' });
    const shared = { user: null, via: 'api-key', credential: keys.admin.id, details: { organisation: acme.id } };
    const entries = async (record: string, action: string) =>
      (await root!.call('GET', `/api/admin/audit?record=${record}&action=${action}`)).body.data;
    await vi.waitFor(async () => {
      const rows = await query(
        'select user_id, via, credential_id, details from audit_entries where record_id = any($1)',
        [[id, acme.id]],
      );
      expect(rows.filter(({ credential_id }) => credential_id === keys.admin.id)).toHaveLength(2);
      for (const { user_id, via, credential_id, details } of rows)
        if (credential_id === keys.admin.id)
          expect({ user: user_id, via, credential: credential_id, details }).toEqual(shared);
    });
    expect((await entries(id, 'created')).length).toBeLessThanOrEqual(1);
    expect(await query('select 1 from outbox where user_id = $1', [acme.id])).toEqual([]);
  });

  test('a job that a key enqueues acts as the organisation', async () => {
    const { id } = data(await keys.member.call('POST', '/api/tickets/look', {}));
    const job = await vi.waitUntil(
      async () => {
        const found = await app.jobs.get(id);
        return found?.finishedAt == null ? undefined : found;
      },
      { timeout: 60_000, interval: 20 },
    );
    expect(job).toMatchObject({ status: 'succeeded', user: null, organisation: acme.id });
    const { caller, titles: seen } = job.result as { caller: string; titles: string[] };
    expect([caller, seen.includes('elsewhere')]).toEqual([acme.id, false]);
    expect(seen.length).toBeGreaterThan(0);
    const [created] = await query('select id from projects where name = $1', [`by a job ${acme.id}`]);
    await vi.waitFor(async () =>
      expect(await query('select user_id, via, details from audit_entries where record_id = $1', [created.id])).toEqual(
        [{ user_id: null, via: 'api-key', details: { organisation: acme.id } }],
      ),
    );
  });

  test('code that acts for the organisation reaches only its records', async () => {
    const { createOrganisationViewer } = await import('../../../../src/extension/index.ts');
    const user = createOrganisationViewer(acme.id, 'member');
    const { data: list } = await service('ticket').list({ limit: 100 }, { as: 'user', user });
    expect(new Set(list.map(({ organisation }) => organisation))).toEqual(new Set([acme.id]));
    const removed = createOrganisationViewer(acme.id, 'removed');
    expect((await service('ticket').list({}, { as: 'user', user: removed })).data).toEqual([]);
    await expect(service('ticket').create({ title: 'x' }, { as: 'user', user: removed })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });
});
