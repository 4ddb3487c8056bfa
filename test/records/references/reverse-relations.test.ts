import { expect, test } from 'vitest';
import { createApp, defineResource, defineUser, f, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
const post = defineResource('post', {
  fields: { title: f.string() },
  policies: open,
  relations: {
    comments: f.reverse('comment', 'post', { limit: 3 }),
    tasks: f.reverse('task', 'post'),
    secrets: f.reverse('secret', 'post'),
    marks: f.reverse('mark', 'posts'),
  },
});
const comment = defineResource('comment', {
  fields: {
    post: f.ref('post', { onDelete: 'cascade' }),
    author: f.ref('user'),
    text: f.string(),
    internal: f.string().visibleTo('admin'),
    state: f.enum(['shown', 'hidden']).default('shown'),
  },
  policies: open,
  softDelete: true,
  scope: ({ user }) => (user?.roles?.includes('admin') ? undefined : { state: 'shown' }),
  relations: { replies: f.reverse('reply', 'comment') },
});
const reply = defineResource('reply', { fields: { comment: f.ref('comment').index() }, policies: open });
const task = defineResource('task', {
  fields: { post: f.ref('post').index(), owner: f.ref('user').owner() },
  policies: { ...open, list: 'owner | admin', create: 'authenticated' },
});
const secret = defineResource('secret', {
  fields: { post: f.ref('post').index().visibleTo('owner'), owner: f.ref('user').owner() },
  policies: { ...open, create: 'authenticated' },
});
const mark = defineResource('mark', { fields: { posts: f.refs('post') }, policies: open });
const resources = [defineUser({ roles: ['user', 'admin'] }), post, comment, reply, task, secret, mark];
const { app, call, person } = await startTestApp({ resources, extensions: [softDelete()] });

async function create(client: typeof call, path: string, body: object): Promise<string> {
  return (await client('POST', `/api/${path}`, body)).body.data.id;
}

test('an include returns the newest related records, and says whether more follow', async () => {
  const [first, second] = [await create(call, 'posts', {}), await create(call, 'posts', {})];
  const ids: string[] = [];
  for (let i = 0; i < 4; i++) ids.unshift(await create(call, 'comments', { post: first, text: `${i}`, internal: 'x' }));
  const list = (await call('GET', '/api/posts?include=comments,commentsCount&sort=createdAt')).body.data;
  const [ofFirst, ofSecond] = [first, second].map((id) => list.find((one: { id: string }) => one.id === id));
  expect(ofFirst.comments.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 3));
  expect(ofFirst.comments.meta).toEqual({ limit: 3, more: true });
  expect(ofFirst.comments.data[0]).not.toHaveProperty('internal');
  expect(ofFirst.commentsCount).toBe(4);
  expect(ofSecond).toMatchObject({ comments: { data: [], meta: { limit: 3, more: false } }, commentsCount: 0 });
});

test('hidden and deleted records are neither returned nor counted', async () => {
  const id = await create(call, 'posts', {});
  await create(call, 'comments', { post: id, state: 'hidden' });
  await call('DELETE', `/api/comments/${await create(call, 'comments', { post: id })}`);
  const path = `/api/posts/${id}?include=comments,commentsCount&fields=title`;
  expect((await call('GET', path)).body.data).toEqual({
    id,
    comments: { data: [], meta: { limit: 3, more: false } },
    commentsCount: 0,
  });
  const admin = await person('Admin', ['user', 'admin']);
  expect((await admin.call('GET', path)).body.data.commentsCount).toBe(1);
});

test('an include returns only what a list would: nothing without access, and own records under an owner policy', async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const id = await create(call, 'posts', {});
  const own = await create(ada.call, 'tasks', { post: id });
  await create(bob.call, 'tasks', { post: id });
  const path = `/api/posts/${id}?include=tasks,tasksCount`;
  expect((await call('GET', path)).body.data).not.toHaveProperty('tasks');
  expect((await call('GET', path)).body.data).not.toHaveProperty('tasksCount');
  expect((await ada.call('GET', path)).body.data).toMatchObject({ tasks: { data: [{ id: own }] }, tasksCount: 1 });
});

test('a reference that a viewer does not see is not revealed by its reverse relation', async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const id = await create(call, 'posts', {});
  const own = await create(ada.call, 'secrets', { post: id });
  const path = `/api/posts/${id}?include=secrets,secretsCount`;
  expect((await ada.call('GET', path)).body.data).toMatchObject({ secrets: { data: [{ id: own }] }, secretsCount: 1 });
  expect((await bob.call('GET', path)).body.data).toMatchObject({ secrets: { data: [] }, secretsCount: 0 });
});

test('includes continue from related records, and from lists of references', async () => {
  const ada = await person('Ada');
  const id = await create(call, 'posts', {});
  const commentId = await create(call, 'comments', { post: id, author: ada.id });
  const replyId = await create(call, 'replies', { comment: commentId });
  const markId = await create(call, 'marks', { posts: [id] });
  const path = `/api/posts/${id}?include=comments.author,comments.replies,comments.repliesCount,marks`;
  expect((await call('GET', path)).body.data).toMatchObject({
    comments: {
      data: [{ author: { id: ada.id, name: 'Ada' }, replies: { data: [{ id: replyId }] }, repliesCount: 1 }],
    },
    marks: { data: [{ id: markId }] },
  });
  const back = await call('GET', `/api/posts/${id}?include=comments.post`);
  expect(back.body.error.message).toContain('Cannot include "comments.post"');
  const beyond = await call('GET', `/api/posts/${id}?include=commentsCount.author`);
  expect(beyond.body.error.message).toContain('Cannot include "commentsCount.author"');
});

test('errors of includes and filters name the relations that a client can follow', async () => {
  const include = await call('GET', '/api/posts?include=comment');
  expect(include.body.error.message).toMatch(
    /^Cannot include "comment"; references and relations: .*comments, commentsCount/,
  );
  const filter = await call('GET', '/api/posts?comments=x');
  expect(filter.body.error.message).toMatch(/; relations, as in \w+\[exists\]: .*comments/);
});

test('a reverse relation is never accepted in a body', async () => {
  const { status, body } = await call('POST', '/api/posts', { comments: [], commentsCount: 1 });
  expect([status, body.error.details]).toEqual([422, { comments: 'Unknown field', commentsCount: 'Unknown field' }]);
});

test('a list that does not fit into the response says that more follow', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push(await create(call, 'posts', {}));
  const text = 'x'.repeat(900_000);
  for (const post of ids) for (let i = 0; i < 3; i++) await app.service('comment').create({ post, text });
  const { data } = (await call('GET', '/api/posts?include=comments&limit=3')).body;
  const lengths = data.map(({ comments }: { comments: { data: unknown[] } }) => comments.data.length);
  expect(lengths.reduce((sum: number, one: number) => sum + one, 0)).toBeLessThan(9);
  for (const { comments } of data) expect(comments.meta.more).toBe(comments.data.length < 3);
});

test('the OpenAPI document describes relations and the paths of include', async () => {
  const { components, paths } = (await call('GET', '/api/openapi.json')).body;
  expect(components.schemas.Post.properties).toMatchObject({
    comments: {
      properties: {
        data: { maxItems: 3, items: { $ref: '#/components/schemas/Comment' } },
        meta: { required: ['limit', 'more'] },
      },
    },
    commentsCount: { type: 'integer', maximum: 10_000 },
  });
  expect(components.schemas.Post.required).toEqual(['id', 'createdAt', 'updatedAt']);
  const include = paths['/api/posts'].get.parameters.find(({ name }: { name: string }) => name === 'include');
  expect(include.schema.items.enum).toEqual(
    expect.arrayContaining([
      'comments',
      'commentsCount',
      'comments.author',
      'comments.replies',
      'comments.repliesCount',
    ]),
  );
  expect(include.schema.items.enum).not.toContain('comments.post');
});

test('a malformed relation is a configuration error', () => {
  const wrong = defineResource('thing', {
    fields: { wordsCount: f.integer(), word: f.ref('word', { onDelete: 'sometimes' as 'keep' }) },
    relations: { words: f.reverse('word', 'thing', { limit: 1000 }) },
  });
  const word = defineResource('word', {
    fields: {
      thing: f.ref('thing', { onDelete: 'setNull' }).required(),
      list: f.array(f.ref('thing', { exists: true })),
      nested: f.object({ thing: f.ref('thing', { onDelete: 'cascade' }) }),
      many: f.refs('thing').min(1),
    },
  });
  const start = () => createApp({ resources: [defineUser(), wrong, word] }, { NODE_ENV: 'test' });
  for (const text of [
    'limit must be a whole number from 1 to 100',
    'its number of records is called "wordsCount", but a field has this name',
    'onDelete can be restrict, cascade, setNull or keep',
    "onDelete: 'setNull' would clear a required field",
    'use f.refs("thing")',
    'move it to a field of the resource',
    "fewer references than min(1); remove min(), or use onDelete: 'restrict'",
  ])
    expect(start).toThrow(text);
});
