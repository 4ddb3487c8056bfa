import { expect, test, vi } from 'vitest';
import { adminConsole, defineResource, defineUser, f, softDelete } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';

const hooks = vi.fn();
const team = defineResource('team', { fields: { name: f.string().required().unique() } });
const task = defineResource('task', {
  fields: {
    title: f.string().required().max(20),
    code: f.string().unique(),
    points: f.integer().min(0),
    rank: f.integer().hidden(),
    pin: f.string().writeOnly(),
    status: f.string().readOnly(),
    team: f.ref('team', { onDelete: 'cascade' }),
    author: f.ref('user').owner(),
  },
  policies: { create: 'none', update: 'none', delete: 'none' },
  softDelete: true,
});
const plain = defineResource('plain', { fields: { text: f.string().required() }, timestamps: false });
const strict = defineResource('strict', {
  fields: { text: f.string().required() },
  hooks: {
    beforeUpdate(changes, _record, { as, user }) {
      hooks(as, user);
      return changes;
    },
    beforeDelete(record) {
      if (record.text === 'kept') throw new Error('a failing hook');
    },
  },
});
const { app, call, person } = await startTestApp({
  resources: [defineUser(), team, task, plain, strict],
  extensions: [softDelete(), adminConsole()],
});
const API = '/console/api/records';
const tasks = app.service('task');
const ifMatch = (version: string) => ({ 'if-match': `"${version}"` });
const versionOf = async (path: string) => (await call('GET', `${API}/${path}`)).body.meta.version;

test('a record is created as the system, with fields that clients cannot set', async () => {
  const body = { title: 'New', rank: 3, pin: '1234', status: 'set' };
  const created = await call('POST', `${API}/task`, body);
  expect(created.status).toBe(201);
  expect(created.body.data).toMatchObject({
    title: 'New',
    rank: 3,
    pin: { $secret: true, isSet: true },
    status: 'set',
  });
  expect(created.body.meta.version).toEqual(expect.any(String));
  expect(await tasks.read(created.body.data.id)).toMatchObject({ title: 'New' });
});

test.each([
  [{ title: 'x'.repeat(21), points: -1 }, ['points', 'title']],
  [{}, ['title']],
  [{ title: 'A', unknown: 1 }, ['unknown']],
  [{ title: 'A', team: '5f0000000000000000000000' }, ['team']],
  ['"text"', []],
  ['[]', []],
  ['null', []],
])('the invalid record %j is refused with a message for each field', async (body, fields) => {
  const { status, body: refused } = await call('POST', `${API}/task`, body);
  expect([status, refused.error.code]).toEqual([422, 'VALIDATION_ERROR']);
  if (fields.length > 0) expect(Object.keys(refused.error.details).toSorted()).toEqual(fields);
});

test('an update and a deletion need the version that was seen, and fail if the record has another one', async () => {
  const { id } = await tasks.create({ title: 'One' });
  const path = `${API}/task/${id}`;
  const version = await versionOf(`task/${id}`);
  expect((await call('PATCH', path, { title: 'Two' })).body.error.code).toBe('BAD_REQUEST');
  const changed = await call('PATCH', path, { title: 'Two' }, ifMatch(version));
  expect(changed.body.data.title).toBe('Two');
  expect((await call('PATCH', path, { title: 'Three' }, ifMatch(version))).status).toBe(412);
  expect((await call('PATCH', path, { title: 'Three' }, ifMatch(changed.body.meta.version))).status).toBe(200);
  expect((await call('PATCH', path, { title: 'Four' }, { 'if-match': 'nonsense' })).status).toBe(400);
  expect((await call('DELETE', path, undefined, ifMatch(version))).status).toBe(412);
  const unseen = await call('DELETE', path);
  expect([unseen.status, unseen.body.error.message]).toEqual([400, expect.stringContaining('If-Match')]);
  expect((await tasks.read(id)).title).toBe('Three');
});

test('of concurrent updates of one version, one succeeds', async () => {
  const { id } = await tasks.create({ title: 'Race' });
  const version = await versionOf(`task/${id}`);
  const results = await Promise.all(
    Array.from({ length: 6 }, (_, i) => call('PATCH', `${API}/task/${id}`, { points: i }, ifMatch(version))),
  );
  expect(results.map(({ status }) => status).toSorted()).toEqual([200, 412, 412, 412, 412, 412]);
});

test('records without timestamps have versions, too', async () => {
  const { id } = await app.service('plain').create({ text: 'a' });
  const version = await versionOf(`plain/${id}`);
  expect((await call('PATCH', `${API}/plain/${id}`, { text: 'b' }, ifMatch(version))).status).toBe(200);
  expect((await call('PATCH', `${API}/plain/${id}`, { text: 'c' }, ifMatch(version))).status).toBe(412);
});

test('hooks run for writes of the console, as for those of the system', async () => {
  const { id } = await app.service('strict').create({ text: 'a' });
  await call('PATCH', `${API}/strict/${id}`, { text: 'b' }, { 'if-match': '*' });
  expect(hooks).toHaveBeenCalledWith('system', undefined);
});

test('a deletion is undone by a restore, also of the records that it deleted with it', async () => {
  const { id } = await app.service('team').create({ name: 'Red' });
  const member = await tasks.create({ title: 'Red task', team: id });
  expect((await call('DELETE', `${API}/team/${id}`, undefined, { 'if-match': '*' })).status).toBe(204);
  expect((await call('GET', `${API}/task/${member.id}`)).body.meta.deleted).toBe(true);
  expect((await call('POST', `${API}/team/${id}/restore`)).status).toBe(404);
  const { id: again } = await tasks.create({ title: 'Again' });
  await call('DELETE', `${API}/task/${again}`, undefined, { 'if-match': '*' });
  const restored = await call('POST', `${API}/task/${again}/restore`);
  expect([restored.status, restored.body.meta.deleted]).toEqual([200, false]);
  expect((await call('POST', `${API}/task/${again}/restore`)).status).toBe(404);
});

test('the console sets no passwords: a new user has none until they set their own', async () => {
  const created = await call('POST', `${API}/user`, {
    name: 'Zoe',
    email: 'zoe@example.com',
  });
  expect(created.status).toBe(201);
  expect(created.body.data).toMatchObject({ roles: ['user'], password: { isSet: false } });
  const { id } = created.body.data;
  const password = 'correct horse battery';
  const given = { name: 'Max', email: 'max@example.com', password };
  expect(Object.keys((await call('POST', `${API}/user`, given)).body.error.details)).toEqual(['password']);
  const changed = await call('PATCH', `${API}/user/${id}`, { password }, { 'if-match': '*' });
  expect([changed.status, Object.keys(changed.body.error.details)]).toEqual([422, ['password']]);
  const bulk = await call('POST', `${API}/user/bulk`, { ids: [id], action: 'update', values: { password } });
  expect(bulk.status).toBe(422);
  expect((await call('POST', '/api/auth/login', { email: 'zoe@example.com', password })).status).toBe(401);
  expect((await call('POST', `${API}/user`, { name: 'Zoe', email: 'zoe@example.com' })).status).toBe(409);
});

test('a user who is disabled or loses a role in the console loses their access at once', async () => {
  const boss = await person('Boss', ['user', 'admin']);
  expect((await boss.call('GET', '/api/users')).status).toBe(200);
  const account = `/console/api/accounts/users/${boss.id}`;
  // The data browser shows what decides about an account, and the Accounts tab changes it.
  for (const values of [{ roles: ['user'] }, { status: 'disabled' }, { email: 'other@example.com' }]) {
    const { status, body } = await call('PATCH', `${API}/user/${boss.id}`, values, { 'if-match': '*' });
    expect([status, Object.keys(body.error.details)]).toEqual([422, Object.keys(values)]);
  }
  const roles = { from: ['user', 'admin'], to: ['user'] };
  // The last administrator keeps the role.
  await person('Other', ['user', 'admin']);
  expect((await call('POST', `${account}/roles`, roles)).status).toBe(200);
  expect((await boss.call('GET', '/api/users')).status).toBe(403);
  expect((await call('POST', `${account}/disable`)).status).toBe(200);
  expect((await boss.call('GET', '/api/auth/me')).status).toBe(401);
});

test('a bulk action changes each record or reports why it cannot', async () => {
  const many = await tasks.createMany(Array.from({ length: 250 }, (_, i) => ({ title: `Bulk ${i}` })));
  const ids = many.map(({ id }) => id);
  const unknown = '5f0000000000000000000000';
  const bulk = (body: object) => call('POST', `${API}/task/bulk`, body);
  const updated = await bulk({ ids: [...ids, unknown], action: 'update', values: { points: 5 } });
  expect(updated.body.data.slice(0, -1)).toEqual(ids.map((id) => ({ id })));
  expect(updated.body.data.at(-1)).toMatchObject({ id: unknown, error: { code: 'NOT_FOUND' } });
  expect(await tasks.count({ points: 5 })).toBe(250);
  const refused = await bulk({ ids: ids.slice(0, 2), action: 'update', values: { points: -1 } });
  expect(refused.body.data[1].error).toMatchObject({
    code: 'VALIDATION_ERROR',
    details: { points: expect.any(String) },
  });
  const clash = await bulk({ ids: ids.slice(0, 2), action: 'update', values: { code: 'same' } });
  expect(clash.body.data.map(({ error }: { error?: { code: string } }) => error?.code)).toEqual([
    undefined,
    'CONFLICT',
  ]);
  expect((await bulk({ ids, action: 'delete' })).body.data).toEqual(ids.map((id) => ({ id })));
  expect(await tasks.count({ title: { in: many.map(({ title }) => title) } })).toBe(0);
  await tasks.create({ title: 'Taker', code: 'same' });
  const restored = await bulk({ ids: [...ids, unknown], action: 'restore' });
  expect(restored.body.data[0]).toMatchObject({ id: ids[0], error: { code: 'CONFLICT' } });
  expect(restored.body.data.slice(1, -1)).toEqual(ids.slice(1).map((id) => ({ id })));
  expect(restored.body.data.at(-1).error.code).toBe('NOT_FOUND');
});

test('a record whose hook fails is reported, and the others are deleted', async () => {
  const service = app.service('strict');
  const [kept, gone] = [await service.create({ text: 'kept' }), await service.create({ text: 'gone' })];
  const { body } = await call('POST', `${API}/strict/bulk`, { ids: [kept.id, gone.id], action: 'delete' });
  expect(body.data).toMatchObject([{ error: { code: 'INTERNAL' } }, { id: gone.id }]);
  expect(body.data[1].error).toBeUndefined();
});

test.each([
  { ids: [], action: 'delete' },
  { ids: ['__proto__'], action: 'delete' },
  { ids: ['5f0000000000000000000000', '5f0000000000000000000000'], action: 'delete' },
  { ids: ['5f0000000000000000000000'], action: 'drop' },
  { ids: ['5f0000000000000000000000'], action: 'update' },
  { ids: ['5f0000000000000000000000'], action: 'delete', values: {} },
])('the bulk action %j is refused', async (body) => {
  expect((await call('POST', `${API}/task/bulk`, body)).status).toBe(422);
});

test('writes do not accept a viewer', async () => {
  const { id } = await tasks.create({ title: 'Mine' });
  const read = await call('GET', `${API}/task/${id}?as=visitor`);
  expect(read.body.data).toBeNull();
  for (const [method, path] of [
    ['PATCH', `${API}/task/${id}?as=visitor`],
    ['DELETE', `${API}/task/${id}?as=visitor`],
    ['POST', `${API}/task?as=visitor`],
  ] as const) {
    const { status } = await call(method, path, method === 'DELETE' ? undefined : { title: 'x' }, { 'if-match': '*' });
    expect([method, status]).toEqual([method, 400]);
  }
});
