import { expect, test } from 'vitest';
import { adminConsole, audit, defineResource, defineUser, f, softDelete } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';
import { otherAddress } from '../../../support/other-address.ts';

const project = defineResource('project', {
  fields: { name: f.string().required().searchable(), lead: f.ref('user'), sponsor: f.ref('user').writeOnly() },
  relations: { work: f.reverse('task', 'project') },
  policies: { list: 'public', read: 'public' },
});
const task = defineResource('task', {
  description: 'Something to do',
  fields: {
    title: f.string().required().max(200).searchable().filterable().sortable(),
    state: f.enum(['open', 'done']).default('open').filterable(),
    points: f.integer().min(0).max(10),
    notes: f.text(),
    tags: f.array(f.string()),
    place: f.object({ street: f.string().required(), number: f.integer() }),
    due: f.date(),
    project: f.ref('project').index(),
    reviewers: f.refs('user').label('Who reviews it'),
    rank: f.integer().hidden(),
    pin: f.string().writeOnly(),
    account: f.string().encrypted(),
    budget: f.decimal().visibleTo('owner | admin'),
    author: f.ref('user').owner(),
  },
  policies: { list: 'public', read: 'public', create: 'authenticated', reference: 'admin' },
  softDelete: true,
  audit: true,
});
const options = { resources: [defineUser(), project, task], extensions: [softDelete(), audit(), adminConsole()] };
const { app, url, call, person } = await startTestApp(options);
const API = '/console/api';
const tasks = app.service('task');
const ada = await person('Ada');
const lunar = await app.service('project').create({ name: 'Lunar', lead: ada.id });
const first = await tasks.create({
  title: 'First',
  points: 3,
  project: lunar.id,
  reviewers: [ada.id],
  rank: 7,
  pin: 'door word',
  account: 'vault word',
  budget: '10.5',
  author: ada.id,
  notes: 'n'.repeat(5000),
});
const second = await tasks.create({ title: 'Second', state: 'done', points: 8 });
const gone = await tasks.create({ title: 'Gone' });
await tasks.delete(gone.id);

const get = (path: string, headers?: Record<string, string>) => call('GET', API + path, undefined, headers);
const titles = async (query: string) =>
  (await get(`/records/task?${query}`)).body.data.map(({ title }: { title: string }) => title);

test('the app describes its features, its resources and the operators of each field', async () => {
  const { status, headers, body } = await get('/app');
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(body.data).toMatchObject({
    mode: 'development',
    user: null,
    features: { softDelete: true, audit: true, realtime: false, files: false, organisations: false },
  });
  expect(body.data.tabs.slice(0, 2)).toEqual([
    { id: 'overview', label: 'Overview', path: '/console/overview' },
    { id: 'data', label: 'Data', path: '/console/data' },
  ]);
  const found = body.data.resources.find(({ name }: { name: string }) => name === 'task');
  expect(found).toMatchObject({
    path: '/tasks',
    label: 'Task',
    plural: 'Tasks',
    description: 'Something to do',
    timestamps: true,
    softDelete: true,
    audit: true,
    ownerField: 'author',
    labelField: 'title',
    hasScope: false,
    searchable: true,
    policies: { list: 'public', create: 'authenticated', update: 'owner | admin', reference: 'admin' },
  });
  const field = (name: string) => found.fields.find((one: { name: string }) => one.name === name);
  expect(field('state').label).toBe('State');
  expect(field('reviewers').label).toBe('Who reviews it');
  expect(field('state')).toMatchObject({ type: 'enum', values: ['open', 'done'], default: 'open', sortable: true });
  expect(field('points')).toMatchObject({ min: 0, max: 10, clientOperators: [] });
  expect(field('points').operators).toContain('gte');
  expect(field('pin')).toMatchObject({ writeOnly: true, operators: ['exists'], sortable: false });
  expect(field('account')).toMatchObject({ encrypted: true, operators: ['exists'], sortable: false });
  expect(field('place').shape.map(({ name }: { name: string }) => name)).toEqual(['street', 'number']);
  expect(field('reviewers')).toMatchObject({ type: 'refs', target: 'user', inner: { type: 'ref' } });
  expect(field('budget').visibleTo).toBe('owner | admin');
  const user = body.data.resources.find(({ name }: { name: string }) => name === 'user');
  expect(user.relations).toContainEqual({ name: 'projects', resource: 'project', field: 'lead' });
  expect(user.relations).toContainEqual({ name: 'tasks (author)', resource: 'task', field: 'author' });
});

test('a list has every stored field, no secrets, cut texts and the labels of references', async () => {
  const { body } = await get('/records/task?sort=title');
  expect(body.meta).toMatchObject({ total: 2, limit: 50 });
  expect(body.meta.labels).toEqual({
    project: { [lunar.id]: 'Lunar' },
    user: { [ada.id]: 'Ada' },
  });
  expect(body.data[0]).toMatchObject({
    id: first.id,
    rank: 7,
    budget: '10.5',
    notes: { $cut: true, text: 'n'.repeat(2000), length: 5000 },
    pin: { $secret: true, isSet: true },
    account: { $secret: true, isSet: true },
  });
  expect(body.data[1]).toMatchObject({ pin: { $secret: true, isSet: false } });
  expect(JSON.stringify(body)).not.toMatch(/door word|vault word/);
});

test('lists filter by every comparable field, search, sort, page and contain deleted records on request', async () => {
  expect(await titles('points[gte]=5')).toEqual(['Second']);
  expect(await titles('rank=7')).toEqual(['First']);
  expect(await titles('project.name=Lunar')).toEqual(['First']);
  expect(await titles('account[exists]=true')).toEqual(['First']);
  expect(await titles('q=seco')).toEqual(['Second']);
  expect(await titles('sort=-points')).toEqual(['Second', 'First']);
  expect(await titles('deleted=only')).toEqual(['Gone']);
  expect(await titles('deleted=with&sort=title')).toEqual(['First', 'Gone', 'Second']);
  const page = await get('/records/task?limit=1&sort=title&count=capped');
  expect(page.body.meta.next).toEqual(expect.any(String));
  expect(await titles(`limit=1&sort=title&after=${page.body.meta.next}`)).toEqual(['Second']);
});

test.each([
  ['pin=1234', 'write-only'],
  ['pin[gte]=1', 'write-only'],
  ['sort=pin', 'write-only'],
  ['sort=pin&sort=title', 'write-only'],
  ['sort=project.sponsor.name', 'write-only'],
  ['project.sponsor=5f0000000000000000000000', 'write-only'],
  ['project.sponsor[exists]=true', 'write-only'],
  ['project.sponsor.name=Ada', 'write-only'],
  ['project.work.pin=1234', 'write-only'],
  ['limit=101', '"limit"'],
  ['fields=title', '"fields"'],
  ['account=DE89', 'account'],
  ['__proto__=1', '__proto__'],
  ['constructor.name=1', 'constructor'],
  ['password=1', 'password'],
])('the list query %s is refused', async (query, message) => {
  const { status, body } = await get(`/records/task?${query}`);
  expect([status, body.error.code]).toEqual([400, 'BAD_REQUEST']);
  expect(body.error.message).toContain(message);
});

test('a record comes with its version, its labels and the number of records that refer to it', async () => {
  const { body } = await get(`/records/task/${first.id}`);
  expect(body.data.notes).toHaveLength(5000);
  expect(body.meta).toMatchObject({ deleted: false, canRead: true, version: expect.stringMatching(/^\w+-console$/) });
  const found = await get(`/records/project/${lunar.id}`);
  expect(found.body.meta.relations).toEqual([{ name: 'work', resource: 'task', field: 'project', count: 1 }]);
  const user = await get(`/records/user/${ada.id}`);
  expect(user.body.data).toMatchObject({ email: ada.email, password: { $secret: true, isSet: true } });
  expect(user.body.meta.relations).toContainEqual({
    name: 'tasks (reviewers)',
    resource: 'task',
    field: 'reviewers',
    count: 1,
  });
});

test('a deleted record can be read', async () => {
  const { body } = await get(`/records/task/${gone.id}`);
  expect(body.meta.deleted).toBe(true);
  expect(body.data.deletedAt).toEqual(expect.any(String));
});

test.each([
  '/records/nothing',
  '/records/__proto__',
  '/records/constructor',
  '/records/task/nothing',
  '/records/task/5f0000000000000000000000',
  '/records/project/__proto__',
  '/references/__proto__',
])('%s is not found', async (path) => {
  expect((await get(path)).status).toBe(404);
});

test('a picker finds records by id and by text, newest first', async () => {
  const find = async (query: string) => (await get(`/references/task?${query}`)).body.data;
  expect(await find('')).toEqual([
    { id: second.id, label: 'Second' },
    { id: first.id, label: 'First' },
  ]);
  expect(await find('q=fIRs')).toEqual([{ id: first.id, label: 'First' }]);
  expect(await find(`q=${first.id}`)).toEqual([{ id: first.id, label: 'First' }]);
  expect(await find('q=%25')).toEqual([]);
  expect(await find('limit=1')).toHaveLength(1);
  expect((await get('/references/task?limit=51')).status).toBe(400);
  expect((await get(`/references/user?q=${ada.id}`)).body.data).toEqual([
    { id: ada.id, label: 'Ada', email: ada.email },
  ]);
});

test('pages of other sites cannot read the data', async () => {
  expect((await get('/records/task', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' })).status).toBe(
    403,
  );
  expect((await get('/app', { origin: 'https://evil.example.com' })).status).toBe(403);
});

test.runIf(otherAddress)('other machines cannot read or change the data', async () => {
  const at = `http://${otherAddress}:${new URL(url).port}${API}`;
  for (const [method, path] of [
    ['GET', '/app'],
    ['GET', '/records/task'],
    ['DELETE', `/records/task/${first.id}`],
    ['POST', '/records/task/bulk'],
    ['GET', '/changes'],
  ] as const)
    expect((await fetch(at + path, { method })).status).toBe(403);
  expect(await tasks.count({ id: first.id })).toBe(1);
});
