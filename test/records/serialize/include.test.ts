import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public' } as const;
const country = defineResource('country', { fields: { name: f.string() }, policies: open });
const company = defineResource('company', {
  fields: { name: f.string(), country: f.ref('country'), hiddenBoss: f.ref('user').hidden(), boss: f.ref('user') },
  policies: open,
  // A company named Ghost is visible only to a user of the same name.
  scope: ({ user }) => (user?.name === 'Ghost' ? undefined : [{ name: { ne: 'Ghost' } }]),
});
const user = defineUser({
  fields: {
    company: f.ref('company'),
    payer: f.ref('company').visibleTo('owner | admin'),
    home: f.ref('country').populate(),
  },
});
const group = defineResource('group', { fields: { name: f.string() }, policies: { ...open, reference: 'admin' } });
const tag = defineResource('tag', {
  fields: { label: f.string(), group: f.ref('group'), note: f.string().visibleTo('admin') },
  policies: open,
});
const post = defineResource('post', {
  fields: {
    title: f.string().filterable(),
    author: f.ref('user').owner(),
    editor: f.ref('user'),
    parent: f.ref('post'),
    tags: f.array(f.ref('tag')),
    labels: f.array(f.ref('tag')).populate(),
    sealed: f.array(f.ref('tag')).encrypted(),
    words: f.array(f.string()),
    place: f.object({ tag: f.ref('tag') }),
    secret: f.ref('tag').hidden(),
    pin: f.ref('tag').writeOnly(),
    staff: f.ref('tag').visibleTo('admin'),
  },
  policies: { ...open, create: 'authenticated', update: 'authenticated' },
  routes: (route) => [route.get('/:id/custom', { policy: 'public' }, ({ doc }) => doc)],
});

const { app, call, person } = await startTestApp({ resources: [user, country, company, group, tag, post] });
const [ann, ghost, admin] = [await person('Ann'), await person('Ghost'), await person('Root', ['user', 'admin'])];
const make = async (name: 'country' | 'company' | 'group' | 'tag' | 'post', values: object) =>
  (await app.service(name).create(values as never)).id as string;
const land = await make('country', { name: 'Utopia' });
const firm = await make('company', { name: 'Firm', country: land, hiddenBoss: admin.id });
const shadow = await make('company', { name: 'Ghost', country: land });
await app.service('user').update(ann.id, { company: firm, payer: firm, home: land });
await app.service('user').update(ghost.id, { company: shadow });
const crowd = await make('group', { name: 'crowd' });
const tags: string[] = [];
for (const label of ['a', 'b', 'c']) tags.push(await make('tag', { label, group: crowd, note: 'for staff' }));
const deletedTag = await make('tag', { label: 'gone' });
await app.service('tag').delete(deletedTag);
const first = await make('post', {
  title: 'first',
  author: ann.id,
  editor: ann.id,
  tags: [tags[0], deletedTag, tags[1], tags[0]],
  labels: [tags[2]],
  sealed: [tags[2]],
  words: ['x'],
  place: { tag: tags[0] },
  secret: tags[0],
  pin: tags[0],
  staff: tags[0],
});
const second = await make('post', { title: 'second', author: ghost.id, parent: first, tags: [] });

const read = async (as: typeof call, id: string, query: string) => {
  const { status, body } = await as('GET', `/api/posts/${id}${query === '' ? '' : `?${query}`}`);
  expect([status, body.error]).toEqual([200, undefined]);
  return body.data;
};

test('a path expands a reference of a reference, on lists and reads', async () => {
  const query = 'include=author.company.country,parent.editor';
  const data = await read(call, first, query);
  expect(data.author).toMatchObject({
    id: ann.id,
    name: 'Ann',
    company: { name: 'Firm', country: { name: 'Utopia' } },
  });
  expect(data.editor).toBe(ann.id);
  const { body } = await call('GET', `/api/posts?${query}`);
  expect(body.data.find((one: { id: string }) => one.id === first)).toEqual(data);
  expect(body.data.find((one: { id: string }) => one.id === second).parent).toMatchObject({
    id: first,
    editor: { id: ann.id, company: firm },
  });
});

test('only the requested paths are expanded: a shorter path stops earlier, and other references stay ids', async () => {
  expect((await read(call, first, 'include=author')).author).toMatchObject({ company: firm, home: land });
  expect((await read(call, first, 'include=author.company')).author.company).toMatchObject({ country: land });
  expect((await read(call, first, 'include=author,author.company,author.company')).author.company.id).toBe(firm);
});

test('a record included through two fields is expanded in both, each with its own paths', async () => {
  const { author, editor } = await read(call, first, 'include=author.company,editor');
  expect(author.company).toMatchObject({ name: 'Firm' });
  expect(editor).toMatchObject({ name: 'Ann', company: firm });
});

test('references in an array are expanded item by item with their own references, and a missing record stays an id', async () => {
  const data = await read(admin.call, first, 'include=tags.group,sealed');
  const [a, b] = ['a', 'b'].map((label) =>
    expect.objectContaining({ label, group: expect.objectContaining({ name: 'crowd' }) }),
  );
  expect(data.tags).toEqual([a, deletedTag, b, a]);
  expect(data.sealed).toEqual([expect.objectContaining({ label: 'c', group: crowd })]);
  expect((await read(call, first, '')).tags).toEqual([tags[0], deletedTag, tags[1], tags[0]]);
  expect((await read(call, second, 'include=tags')).tags).toEqual([]);
});

test('populate() on an array of references expands it on reads, in custom responses and in payloads', async () => {
  const labels = [expect.objectContaining({ label: 'c' })];
  expect((await read(call, first, '')).labels).toEqual(labels);
  expect((await call('GET', `/api/posts/${first}/custom`)).body.data.labels).toEqual(labels);
  expect((await ann.call('PATCH', `/api/posts/${first}`, { title: 'first' })).body.data.labels).toEqual(labels);
  expect((await app.service('post').read(first)).labels).toEqual([tags[2]]);
});

test('an included reference is selected automatically, a populated one only if it is named', async () => {
  expect(await read(call, first, 'fields=title&include=author.company')).toEqual({
    id: first,
    title: 'first',
    author: expect.objectContaining({ company: expect.objectContaining({ name: 'Firm' }) }),
  });
  expect(await read(call, first, 'include=tags&fields=id')).toEqual({ id: first, tags: expect.any(Array) });
  expect(await read(call, first, 'fields=title')).toEqual({ id: first, title: 'first' });
  expect(Object.keys(await read(call, first, 'fields=labels'))).toEqual(['id', 'labels']);
});

test('every level follows the rules of its target for the viewer: scope, reference policy, visible fields', async () => {
  const company = async (as: typeof call) => (await read(as, second, 'include=author.company')).author.company;
  expect(await company(call)).toBe(shadow);
  expect(await company(admin.call)).toBe(shadow);
  expect(await company(ghost.call)).toMatchObject({ name: 'Ghost' });
  const group = async (as: typeof call) => (await read(as, first, 'include=tags.group')).tags[0].group;
  expect(await group(ann.call)).toBe(crowd);
  expect(await group(admin.call)).toMatchObject({ name: 'crowd' });
  expect((await read(call, first, 'include=tags')).tags[0]).not.toHaveProperty('note');
  expect((await read(admin.call, first, 'include=tags')).tags[0].note).toBe('for staff');
  for (const as of [call, admin.call]) {
    expect((await read(as, first, 'include=author.company')).author.company).not.toHaveProperty('hiddenBoss');
  }
});

test('a field that the viewer may not see is not expanded: the response is that of a query without it', async () => {
  const text = async (as: typeof call, query: string) => JSON.stringify(await read(as, first, query));
  for (const as of [call, ghost.call]) {
    expect(await text(as, 'include=author.payer')).toBe(await text(as, 'include=author'));
    expect(await text(as, 'include=author.payer.country')).toBe(await text(as, 'include=author'));
    expect(await text(as, 'include=staff')).toBe(await text(as, ''));
    expect(await text(as, 'fields=title&include=staff.group')).toBe(await text(as, 'fields=title'));
  }
  for (const as of [ann.call, admin.call]) {
    expect((await read(as, first, 'include=author.payer')).author.payer).toMatchObject({ name: 'Firm' });
  }
  expect((await read(admin.call, first, 'include=staff.group')).staff.group.name).toBe('crowd');
});

test.each<[string, string]>([
  ['nope', 'references: author, editor, parent, tags, labels, sealed, staff'],
  ['title', 'references: author'],
  ['words', 'references: author'],
  ['place', 'references: author'],
  ['place.tag', 'references: author'],
  ['secret', 'references: author'],
  ['pin', 'references: author'],
  ['author.nope', 'references of "author" that can be included: company, payer, home'],
  ['author.name', 'references of "author" that can be included: company, payer, home'],
  ['tags.group.nope', 'references of "tags.group" that can be included: none'],
  ['author.company.hiddenBoss', 'references of "author.company" that can be included: country'],
  ['parent.parent', 'references of "parent" that can be included: author, editor, tags, labels, sealed, staff'],
  ['author.company.boss', 'references of "author.company" that can be included: country'],
  ['parent.author.company.country', 'at most 3 references'],
  ['a.b.c.d.e.f', 'at most 3 references'],
  ['author.', 'references of "author"'],
  ['.author', 'references: author'],
  ['author..company', 'references of "author"'],
  ['', 'references: author'],
  ['author,', 'references: author'],
  ['author%20', 'references: author'],
  ['__proto__', 'references: author'],
  ['author.constructor', 'references of "author"'],
  ['author.company[id]', 'references of "author"'],
])('include=%s responds 400 and lists what is allowed', async (path, allowed) => {
  for (const at of ['/api/posts', `/api/posts/${first}`]) {
    const { status, body } = await call('GET', `${at}?include=${path}`);
    expect([status, body.error.code]).toEqual([400, 'BAD_REQUEST']);
    expect(body.error.message).toContain(allowed);
  }
});

test('an include of 21 paths is refused', async () => {
  const paths = Array.from({ length: 21 }, (_, i) => `author.x${i}`);
  expect((await call('GET', `/api/posts?include=${paths}`)).body.error.message).toContain('at most 20');
});

test('a page costs one query per field and level, whatever the number of records', async () => {
  for (let i = 0; i < 15; i++) {
    await make('post', { title: 'many', author: i % 2 === 0 ? ann.id : ghost.id, editor: ann.id, tags, parent: first });
  }
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  const tables = async (query: string) => {
    sent.mockClear();
    expect((await call('GET', `/api/posts?title=many&${query}`)).body.data).toHaveLength(15);
    const texts = sent.mock.calls.map(([statement]) => (statement as unknown as { text: string }).text);
    // Includes queries of the relay.
    return texts.flatMap((text) => /^select .*? from "(\w+)"/s.exec(text)?.[1] ?? []).sort();
  };
  expect(await tables('')).toEqual(['posts', 'posts']);
  expect(await tables('include=author')).toEqual(['posts', 'posts', 'users']);
  expect(await tables('include=author.company.country,editor,tags.group,parent.labels&count=none')).toEqual([
    'companies',
    'countries',
    'groups',
    'posts',
    'posts',
    'tags',
    'tags',
    'users',
    'users',
  ]);
  sent.mockRestore();
});

test('a response expands up to 10,000 array items, and the rest stay ids', async () => {
  const many = Array.from({ length: 6000 }, (_, i) => tags[i % 3]);
  for (let i = 0; i < 2; i++) await make('post', { title: 'huge', tags: many });
  const { data } = (await call('GET', '/api/posts?title=huge&include=tags&fields=title')).body;
  const kinds = data.flatMap((one: { tags: unknown[] }) => one.tags.map((item) => typeof item));
  expect(kinds.filter((kind: string) => kind === 'object')).toHaveLength(10_000);
  expect(kinds.filter((kind: string) => kind === 'string')).toHaveLength(2000);
});
