import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { ApiError, defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const away = () => Object.assign(new Error('terminating connection'), { code: '57P01' });
let scopeDoes: string | undefined;

const team = defineResource('team', {
  fields: { name: f.string().filterable(), hiddenNote: f.string() },
  policies: { list: 'public', read: 'public', create: 'public' },
});
const note = defineResource('note', {
  fields: {
    title: f.string(),
    grade: f.string().visibleTo(({ req }) => req!.headers.accept === 'never' || JSON.parse('{')),
    refused: f.string().visibleTo(() => {
      throw new ApiError('FORBIDDEN', 'Not so');
    }),
  },
  policies: {
    list: 'public',
    create: 'public',
    read: [
      'admin',
      async ({ doc, service, user }) => {
        if (doc.title === 'throws') throw new Error('a rule that fails');
        if (doc.title === 'away') throw away();
        if (doc.title === 'throws an ApiError') throw new ApiError('CONFLICT', 'Come back tomorrow');
        if (doc.title === 'makes an invalid query') await service('team').list({ hiddenNote: 'x' }, { user });
        return true;
      },
    ],
    update: [
      'admin',
      ({ doc }) => {
        if (doc.title === 'throws on update') throw new Error('a rule that fails');
        return true;
      },
    ],
  },
});
const link = defineResource('link', {
  fields: { note: f.ref('note').populate(), scoped: f.ref('scoped').populate() },
  policies: { list: 'public', read: 'public', create: 'public' },
});
const scoped = defineResource('scoped', {
  fields: { name: f.string() },
  policies: { list: 'public', read: 'public', create: 'public' },
  async scope({ user, service }) {
    if (scopeDoes === 'throws') throw new Error('a scope that fails');
    if (scopeDoes === 'needs an unavailable service') throw away();
    if (scopeDoes === 'throws an ApiError') throw new ApiError('CONFLICT', 'Come back tomorrow');
    if (scopeDoes === 'makes an invalid query') await service('team').list({ hiddenNote: 'x' }, { user });
    if (scopeDoes === 'reads many records') await service('team').list({ limit: 1000 }, { user });
    return undefined;
  },
});
const shop = defineResource('shop', {
  fields: { name: f.string() },
  policies: { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' },
  hooks: {
    async beforeCreate(values, { service, user }) {
      if (values.name === 'makes an invalid query') await service('team').list({ hiddenNote: 'x' }, { user });
      if (values.name === 'creates wrongly') await service('team').create({ name: 5 }, { user });
    },
    async beforeUpdate(_changes, _record, { service }) {
      await service('team').list({ nope: 'x' }, { as: 'user' });
    },
    async beforeDelete(_record, { service }) {
      await service('team').list({ nope: 'x' }, { as: 'user' });
    },
  },
  routes: (route) => [
    route.get(
      '/closed',
      {
        policy: () => {
          throw new Error('a rule that fails');
        },
      },
      () => 'open',
    ),
  ],
});

// Spied on before the app starts, because its log uses the write function that it finds at the start.
let lines: string[] = [];
const written = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
  lines.push(String(chunk));
  return true;
});
afterAll(() => written.mockRestore());
const { app, call, person } = await startTestApp(
  { resources: [defineUser(), team, note, link, scoped, shop] },
  { env: () => ({ LOG_LEVEL: 'error' }) },
);
const ada = await person('Ada');
beforeEach(() => {
  scopeDoes = undefined;
  lines = [];
});
const logged = () => lines.map((line) => JSON.parse(line));
const made = async (name: 'note' | 'scoped' | 'link' | 'shop', values: object) =>
  (await (app.service(name) as ReturnType<typeof app.service<'note'>>).create(values as never)).id;

describe('a visibleTo function that throws', () => {
  test('hides only its field, and the log names the resource and the field', async () => {
    const id = await made('note', { title: 'A', grade: 'B', refused: 'C' });
    const { status, body } = await ada.call('GET', `/api/notes/${id}`);
    expect([status, Object.keys(body.data).sort()]).toEqual([200, ['createdAt', 'id', 'title', 'updatedAt']]);
    const mine = logged().filter(({ rule }) => rule === 'visibleTo');
    expect(mine.map(({ resource, field }) => `${resource}.${field}`)).toEqual(['note.grade', 'note.refused']);
    expect((await ada.call('GET', '/api/notes')).status).toBe(200);
  });
});

describe('a policy function that throws', () => {
  test('hides its record from reads, and the log names the rule', async () => {
    const id = await made('note', { title: 'throws' });
    expect((await ada.call('GET', `/api/notes/${id}`)).status).toBe(404);
    const [line] = logged().filter(({ rule }) => rule === 'policies.read');
    expect(line).toMatchObject({ resource: 'note', record: id, err: { message: 'a rule that fails' } });
  });

  test("hides its record if a service refuses the function's own query, since that query is not the client's", async () => {
    const id = await made('note', { title: 'makes an invalid query' });
    expect((await ada.call('GET', `/api/notes/${id}`)).status).toBe(404);
  });

  test('leaves the id where another record refers to its record', async () => {
    const noted = await made('note', { title: 'throws' });
    const id = await made('link', { note: noted });
    expect((await ada.call('GET', `/api/links/${id}`)).body.data.note).toBe(noted);
    const open = await made('note', { title: 'A' });
    const other = await made('link', { note: open });
    expect((await ada.call('GET', `/api/links/${other}`)).body.data.note.title).toBe('A');
  });

  test('refuses an update and a custom route with 403', async () => {
    const id = await made('note', { title: 'throws on update' });
    expect((await ada.call('PATCH', `/api/notes/${id}`, { title: 'B' })).status).toBe(403);
    expect((await ada.call('GET', '/api/shops/closed')).status).toBe(403);
    expect((await call('GET', '/api/shops/closed')).status).toBe(401);
  });

  test('responds 503 while the database is down, and with its own ApiError if it throws one', async () => {
    const deletedNote = await made('note', { title: 'away' });
    expect((await ada.call('GET', `/api/notes/${deletedNote}`)).status).toBe(503);
    const refused = await ada.call('GET', `/api/notes/${await made('note', { title: 'throws an ApiError' })}`);
    expect([refused.status, refused.body.error.message]).toEqual([409, 'Come back tomorrow']);
  });
});

describe('a scope that throws', () => {
  test('hides every record of its resource, and the log names the resource', async () => {
    const id = await made('scoped', { name: 'A' });
    const linked = await made('link', { scoped: id });
    expect((await ada.call('GET', `/api/links/${linked}`)).body.data.scoped.name).toBe('A');
    scopeDoes = 'throws';
    expect((await ada.call('GET', '/api/scopeds')).body).toMatchObject({ data: [], meta: { total: 0 } });
    expect((await ada.call('GET', `/api/scopeds/${id}`)).status).toBe(404);
    expect((await ada.call('GET', `/api/links/${linked}`)).body.data.scoped).toBe(id);
    const [line] = logged();
    expect(line).toMatchObject({ resource: 'scoped', rule: 'scope', err: { message: 'a scope that fails' } });
    expect(line.requestId).toEqual(expect.any(String));
  });

  test.each([
    ['needs an unavailable service', 503],
    ['throws an ApiError', 409],
    ['makes an invalid query', 500],
    ['reads many records', 200],
  ])('determines the response by its error: a scope that %s responds %i', async (does, status) => {
    scopeDoes = does;
    const response = await ada.call('GET', '/api/scopeds');
    expect(response.status).toBe(status);
    if (status !== 500) return;
    expect(response.body.error).toMatchObject({ code: 'INTERNAL', message: 'Something went wrong' });
    expect(JSON.stringify(logged())).toContain('scope of \\"scoped\\" called a service');
  });
});

describe('an invalid service call in a hook is an error of the project, whatever the privilege of the call', () => {
  test.each([
    ['POST', 'makes an invalid query', 'beforeCreate'],
    ['POST', 'creates wrongly', 'beforeCreate'],
    ['PATCH', 'A', 'beforeUpdate'],
    ['DELETE', 'A', 'beforeDelete'],
  ])('%s (%s) responds 500, and the log names hooks.%s', async (method, name, hook) => {
    const id = await made('shop', { name: 'A' });
    const body = method === 'DELETE' ? undefined : { name };
    const response = await ada.call(method, method === 'POST' ? '/api/shops' : `/api/shops/${id}`, body);
    expect([response.status, response.body.error.details]).toEqual([500, undefined]);
    expect(JSON.stringify(logged())).toContain(`hooks.${hook} of \\"shop\\" called a service`);
  });
});
