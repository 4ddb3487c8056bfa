import { expect, test } from 'vitest';
import { apiKeys, defineResource, defineUser, f, realtime } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { listen, ready } from './listen.ts';

const post = defineResource('blog-post', {
  fields: { title: f.string(), status: f.enum(['draft', 'published']).default('draft').filterable() },
  policies: { list: 'public', read: 'public' },
});
const article = defineResource('article', {
  path: '/shop/articles',
  fields: { title: f.string() },
  policies: { list: 'public', read: 'public' },
});
const secret = defineResource('secret', {
  fields: { title: f.string() },
  policies: { list: 'admin', read: 'admin' },
});
const note = defineResource('note', {
  fields: { title: f.string() },
  policies: { list: 'authenticated', read: 'authenticated' },
});
const inner = defineResource('inner', { fields: { name: f.string() }, crud: false });

const { app, url, call, person } = await startTestApp(
  {
    resources: [defineUser({ roles: ['user', 'admin'] }), post, article, secret, note, inner],
    extensions: [realtime(), apiKeys()],
  },
  { roles: ['web', 'relay'] },
);
const ada = await person('Ada');

test('a leading slash addresses a resource by its path, also one with further slashes, and events echo the subscription', async () => {
  const first = await app.service(article).create({ title: 'one' });
  const texts = ['/blog-posts?status=published', '/shop/articles', `/shop/articles/${first.id}`];
  const stream = await ready(url, texts.map((text) => `subscribe=${encodeURIComponent(text)}`).join('&'));
  await app.service(post).create({ title: 'a draft' });
  await app.service(post).create({ title: 'published', status: 'published' });
  await app.service(article).update(first.id, { title: 'two' });
  await app.service(article).create({ title: 'last' });
  await stream.wait(({ data }) => data.data?.title === 'last');
  // The creation from before may still be sent, if the relay handles it after the stream was opened.
  const changes = stream.changes().filter(({ data }) => data.data.title !== 'one');
  expect(changes.map(({ event, data }) => [event, data.subscription, data.data.title])).toEqual([
    ['blog-post.created', texts[0], 'published'],
    ['article.updated', texts[1], 'two'],
    ['article.updated', texts[2], 'two'],
    ['article.created', texts[1], 'last'],
  ]);
});

test.each([
  '/blog-post',
  '/posts',
  '/',
  '//',
  '/blog-posts/',
  '/blog-posts//',
  '/shop',
  '/inners',
  '/api/blog-posts',
  '/__proto__',
])('the path %s, which belongs to no resource or record, is refused', async (path) => {
  const { status, body } = await listen(url, `subscribe=${encodeURIComponent(path)}`);
  expect([400, 404]).toContain(status);
  expect(body.error.details).toHaveProperty(['subscribe.0']);
  if (status === 400) expect(body.error.message).toContain('paths: /users, /blog-posts, /shop/articles');
});

test('a path has the errors of the name: 404 for an unknown record, 401 and 403 without access, 400 for an unknown filter', async () => {
  const statuses = async (text: string, token?: string) =>
    (await listen(url, `subscribe=${encodeURIComponent(text)}`, { token })).status;
  expect(await statuses('/blog-posts/65f0c0ffee0000000000beef')).toBe(404);
  expect(await statuses('/notes')).toBe(401);
  expect(await statuses('/secrets', ada.token)).toBe(403);
  expect(await statuses('/blog-posts?title=x')).toBe(400);
  const { data } = (
    await ada.call('POST', '/api/auth/api-keys', { name: 'k', scopes: ['realtime:read', 'notes:read'] })
  ).body;
  expect(await statuses('/blog-posts', data.key)).toBe(403);
  expect((await ready(url, 'subscribe=/notes', { token: data.key })).status).toBe(200);
});

test('a refusal names the subscriptions that were refused for this reason, so that a client can keep the others', async () => {
  const texts = ['/blog-posts', '/secrets', '/notes', '/secrets?', '/blog-posts?title=x'];
  const query = texts.map((text) => `subscribe=${encodeURIComponent(text)}`).join('&');
  const refusal = await listen(url, query, { token: ada.token });
  expect([refusal.status, Object.keys(refusal.body.error.details)]).toEqual([403, ['subscribe.1', 'subscribe.3']]);
  const signedOut = await listen(url, query);
  expect([signedOut.status, Object.keys(signedOut.body.error.details)]).toEqual([
    401,
    ['subscribe.1', 'subscribe.2', 'subscribe.3'],
  ]);
});

test('the filters of a subscription by path may be query parameters of their own', async () => {
  const stream = await ready(url, 'subscribe=/blog-posts&status=published');
  await app.service(post).create({ title: 'a draft' });
  await app.service(post).create({ title: 'visible', status: 'published' });
  expect((await stream.named('blog-post.created')).data).toMatchObject({
    subscription: '/blog-posts',
    data: { title: 'visible' },
  });
  expect((await call('GET', '/api/openapi.json')).body.paths['/api/realtime'].get.parameters[0].description).toContain(
    '/posts',
  );
});
