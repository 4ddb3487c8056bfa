// A restore brings back what the cascade of the same deletion deleted.
import { expect, test } from 'vitest';
import { defineResource, defineUser, f, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
const post = defineResource('post', {
  fields: { title: f.string(), pinned: f.ref('comment', { onDelete: 'setNull' }), author: f.ref('user').owner() },
  policies: { ...open, create: 'authenticated', delete: 'owner | admin' },
  softDelete: true,
});
const comment = defineResource('comment', {
  fields: {
    slug: f.string().unique(),
    post: f.ref('post', { onDelete: 'cascade' }),
    parent: f.ref('comment', { onDelete: 'cascade' }),
    writer: f.ref('writer', { onDelete: 'cascade' }),
    topic: f.ref('topic', { onDelete: 'restrict' }),
    badge: f.ref('badge', { onDelete: 'setNull' }),
    badges: f.refs('badge'),
  },
  policies: open,
  softDelete: true,
  audit: false,
});
const view = defineResource('view', { fields: { post: f.ref('post', { onDelete: 'cascade' }) }, policies: open });
const [writer, topic, badge] = ['writer', 'topic', 'badge'].map((name) =>
  defineResource(name, { fields: { name: f.string() }, policies: open }),
);
const { app, call, person } = await startTestApp({
  resources: [defineUser({ roles: ['user', 'admin'] }), post, comment, view, writer!, topic!, badge!],
  extensions: [softDelete()],
});
const ada = await person('Ada');
const posts = app.service(post);
const comments = app.service(comment);
const events: string[] = [];
for (const name of ['post', 'comment'] as const)
  app.on(`${name}.restored`, ({ record, user }) => void events.push(`${record.id} ${user?.id ?? ''}`));

const createPost = async () => (await ada.call('POST', '/api/posts', { title: 'x' })).body.data.id as string;
const createComment = async (values: object) => (await call('POST', '/api/comments', values)).body.data.id as string;
const createOther = async (path: string) => (await call('POST', `/api/${path}`, {})).body.data.id as string;
const restore = (id: string, client = ada.call) => client('POST', `/api/posts/${id}/restore`);
const commentIds = async (ids: string[]) =>
  (await comments.list({ id: { in: ids }, sort: 'id', limit: 100 } as never)).data.map(({ id }) => id);

test('a restored record comes back with the records that its deletion deleted, through levels and cycles, with their events', async () => {
  const id = await createPost();
  const first = await createComment({ post: id });
  const second = await createComment({ parent: first });
  await comments.update(first, { parent: second } as never);
  const viewId = (await call('POST', '/api/views', { post: id })).body.data.id;
  expect((await ada.call('DELETE', `/api/posts/${id}`)).status).toBe(204);
  expect(await commentIds([first, second])).toEqual([]);
  events.length = 0;
  expect((await restore(id)).status).toBe(200);
  expect(events.toSorted()).toEqual([id, first, second].map((one) => `${one} ${ada.id}`).toSorted());
  expect(events[0]).toBe(`${id} ${ada.id}`);
  expect((await comments.list({ id: { in: [first, second] }, sort: 'id' } as never)).data).toMatchObject([
    { id: first, post: id, parent: second },
    { id: second, parent: first },
  ]);
  expect((await call('GET', `/api/views/${viewId}`)).status).toBe(404);
});

test('records that were deleted before, or by a request of their own, stay deleted', async () => {
  const id = await createPost();
  const [earlier, kept] = [await createComment({ post: id }), await createComment({ post: id })];
  await call('DELETE', `/api/comments/${earlier}`);
  await ada.call('DELETE', `/api/posts/${id}`);
  expect((await restore(id)).status).toBe(200);
  expect(await commentIds([earlier, kept])).toEqual([kept]);
});

test('a record that has been restored and deleted again comes back with the last deletion only', async () => {
  const id = await createPost();
  const [first, second] = [await createComment({ post: id }), await createComment({ post: id })];
  await ada.call('DELETE', `/api/posts/${id}`);
  await restore(id);
  await call('DELETE', `/api/comments/${first}`);
  await ada.call('DELETE', `/api/posts/${id}`);
  await restore(id);
  expect(await commentIds([first, second])).toEqual([second]);
});

test('of the records deleted with it, those that another deletion would have deleted since stay deleted, and references are cleared', async () => {
  const id = await createPost();
  const writerId = await createOther('writers');
  const [badgeId, otherBadge] = [await createOther('badges'), await createOther('badges')];
  const gone = await createComment({ post: id, writer: writerId });
  const reply = await createComment({ post: id, parent: gone });
  const marked = await createComment({ post: id, badge: badgeId, badges: [badgeId, otherBadge] });
  await ada.call('DELETE', `/api/posts/${id}`);
  await call('DELETE', `/api/writers/${writerId}`);
  await call('DELETE', `/api/badges/${badgeId}`);
  expect((await restore(id)).status).toBe(200);
  expect(await commentIds([gone, reply, marked])).toEqual([marked]);
  const stored = await comments.read(marked);
  expect([stored.badge, stored.badges]).toEqual([undefined, [otherBadge]]);
});

test('a taken unique value or a missing restricting reference of a record deleted with it refuses the restore, and nothing is restored', async () => {
  const topicId = await createOther('topics');
  for (const [values, obstruct] of [
    [{ slug: 'taken' }, () => createComment({ slug: 'taken' })],
    [{ topic: topicId }, () => call('DELETE', `/api/topics/${topicId}`)],
  ] as const) {
    const id = await createPost();
    const other = await createComment({ post: id, ...values });
    await ada.call('DELETE', `/api/posts/${id}`);
    await obstruct();
    events.length = 0;
    const { status, body } = await restore(id);
    expect([status, body.error.code, body.error.details]).toEqual([409, 'CONFLICT', undefined]);
    expect(body.error.message).toContain('Records that were deleted with this record cannot be restored');
    expect((await call('GET', `/api/posts/${id}`)).status).toBe(404);
    expect(await commentIds([other])).toEqual([]);
    expect(events).toEqual([]);
    // Code that catches the error in its own transaction must not commit a part of the restore.
    const caught = app.transaction(async (tx) => {
      await tx
        .service('post')
        .restore(id)
        .catch(() => undefined);
      await tx.service('topic').create({});
    });
    await caught.catch(() => undefined);
    expect((await call('GET', `/api/posts/${id}`)).status).toBe(404);
  }
});

test('concurrent restores of one record restore each record once', async () => {
  const id = await createPost();
  const other = await createComment({ post: id });
  await ada.call('DELETE', `/api/posts/${id}`);
  events.length = 0;
  const statuses = (await Promise.all(Array.from({ length: 6 }, () => restore(id)))).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([200, 404, 404, 404, 404, 404]);
  expect(events.map((event) => event.split(' ')[0])).toEqual([id, other]);
});

test('a viewer who may not restore the record restores nothing', async () => {
  const bob = await person('Bob');
  const id = await createPost();
  const other = await createComment({ post: id });
  await ada.call('DELETE', `/api/posts/${id}`);
  expect((await restore(id, bob.call)).status).toBe(403);
  expect(await commentIds([other])).toEqual([]);
  expect(await posts.restore(id)).toMatchObject({ id });
  expect(await commentIds([other])).toEqual([other]);
});
