import { expect, test } from 'vitest';
import { z } from 'zod';
import { ApiError, defineExtension, defineResource, defineUser, f, softDelete } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';
import { announcementOf, atMidnight } from './announcement.ts';

const ORIGIN = 'https://app.example.com';
const OPEN = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;

const post = defineResource('post', {
  fields: { title: f.string().required() },
  policies: OPEN,
  routes: (route) => [
    route.get(
      '/:id/summary',
      {
        policy: 'public',
        deprecated: {
          since: '2026-11-01',
          sunset: '2027-06-01',
          use: 'GET /api/posts/:id/abstract',
          link: 'https://docs.example.com/changes?from=summary#why',
        },
      },
      ({ doc }) => ({ summary: doc.title }),
    ),
    route.get('/:id/abstract', { policy: 'public' }, ({ doc }) => ({ abstract: doc.title })),
    route.get(
      '/fails',
      { policy: 'public', query: z.strictObject({}), deprecated: { since: '2025-01-01T12:00:00+02:00' } },
      () => {
        throw new ApiError('CONFLICT');
      },
    ),
    route.get('/breaks', { policy: 'public', deprecated: { since: '2025-01-01' } }, () => {
      throw new Error('a fault of the project');
    }),
    route.get('/private', { deprecated: { since: '2025-01-01' } }, () => ({})),
    route.get(
      '/limited',
      { policy: 'public', rateLimit: { limit: 1, windowMs: 60_000 }, deprecated: { since: '2025-01-01' } },
      () => ({}),
    ),
    route.get(
      '/linked',
      {
        policy: 'public',
        middleware: [
          (_req, res, next) => {
            res.appendHeader('Link', '</style.css>; rel="preload"');
            next();
          },
        ],
        deprecated: { since: '2025-01-01', use: 'https://api.example.com/v2/linked' },
      },
      () => ({}),
    ),
    route.post('/once', { policy: 'authenticated', deprecated: { since: '2025-01-01' } }, () => ({ done: true })),
    route.get(
      '/:id/parts/:part',
      { policy: 'public', deprecated: { since: '2025-01-01', use: 'GET /api/posts/:id' } },
      () => ({}),
    ),
    route.get(
      '/by-slug/:slug',
      { policy: 'public', deprecated: { since: '2025-01-01', use: 'GET /api/posts/:id' } },
      () => ({}),
    ),
  ],
});
/** Some actions are deprecated, with replacements of their own. */
const comment = defineResource('comment', {
  fields: { text: f.string() },
  policies: OPEN,
  deprecated: {
    update: { since: '2026-01-01', use: 'GET /api/posts/:id' },
    delete: { since: '2026-02-01', sunset: '2026-03-01' },
  },
  routes: (route) => [route.get('/count', { policy: 'public' }, () => ({ count: 0 }))],
});
/** All routes are deprecated. One of them has a deprecation of its own. */
const memo = defineResource('memo', {
  fields: { text: f.string() },
  policies: OPEN,
  softDelete: true,
  deprecated: { since: '2026-05-01', use: 'GET /api/posts' },
  routes: (route) => [
    route.get('/count', { policy: 'public' }, () => ({ count: 0 })),
    route.get('/own', { policy: 'public', deprecated: { since: '2024-01-01' } }, () => ({})),
  ],
});
const clock = defineExtension({
  name: 'clock',
  setup: () => ({
    routes: [
      { method: 'GET', path: '/clock', policy: 'public', deprecated: { since: '2026-01-01' }, handler: () => ({}) },
    ],
    pages: [
      { method: 'GET', path: '/clock', policy: 'public', deprecated: { since: '2026-01-02' }, handler: () => ({}) },
    ],
  }),
});
const { call, app, person } = await startTestApp(
  {
    resources: [defineUser(), post, comment, memo],
    extensions: [softDelete(), clock],
    settings: { rateLimit: { enabled: true, global: false, auth: false } },
  },
  { env: () => ({ CORS_ORIGINS: ORIGIN, LOG_LEVEL: 'silent' }) },
);
const { id } = await app.service(post).create({ title: 'Hello' });

test('a deprecated route works, also after its sunset, and announces dates, pages and its replacement', async () => {
  const response = await call('GET', `/api/posts/${id}/summary`);
  expect(response.status).toBe(200);
  expect(response.body).toEqual({ data: { summary: 'Hello' } });
  expect(announcementOf(response)).toEqual({
    deprecation: atMidnight('2026-11-01'),
    sunset: 'Tue, 01 Jun 2027 00:00:00 GMT',
    links: [
      '<https://docs.example.com/changes?from=summary#why>; rel="deprecation"',
      '<https://docs.example.com/changes?from=summary#why>; rel="sunset"',
      `</api/posts/${id}/abstract>; rel="successor-version"`,
    ],
  });
  const { id: doomed } = await app.service(comment).create({ text: 'x' });
  const afterSunset = await call('DELETE', `/api/comments/${doomed}`);
  expect(afterSunset.status).toBe(204);
  expect(announcementOf(afterSunset)).toEqual({
    deprecation: atMidnight('2026-02-01'),
    sunset: 'Sun, 01 Mar 2026 00:00:00 GMT',
    links: [],
  });
});

test('every response of a deprecated route announces the deprecation: to HEAD, without a body, and every error', async () => {
  const missing = `/api/posts/${'0'.repeat(24)}/summary`;
  const tag = (await call('GET', `/api/posts/${id}/summary`)).headers.get('etag')!;
  await call('GET', '/api/posts/limited');
  const cases = [
    ['HEAD', `/api/posts/${id}/summary`, 200],
    ['GET', missing, 404],
    ['GET', '/api/posts/fails', 409],
    ['GET', '/api/posts/fails?a=1', 400],
    ['GET', '/api/posts/breaks', 500],
    ['GET', '/api/posts/private', 401],
    ['GET', '/api/posts/limited', 429],
  ] as const;
  for (const [method, path, status] of cases) {
    const response = await call(method, path);
    expect([path, response.status]).toEqual([path, status]);
    expect([path, response.headers.get('deprecation')]).toEqual([path, expect.stringMatching(/^@\d+$/)]);
  }
  const unchanged = await call('GET', `/api/posts/${id}/summary`, undefined, { 'if-none-match': tag });
  expect(unchanged.status).toBe(304);
  expect(unchanged.headers.get('deprecation')).toBe(atMidnight('2026-11-01'));
});

test('a date with a time counts in its own time zone', async () => {
  const { headers } = await call('GET', '/api/posts/fails');
  expect(headers.get('deprecation')).toBe(`@${Date.parse('2025-01-01T10:00:00Z') / 1000}`);
});

test('other routes and methods on the same path announce nothing', async () => {
  for (const [method, path] of [
    ['GET', `/api/posts/${id}/abstract`],
    ['GET', '/api/posts'],
    ['GET', '/api/comments'],
    ['GET', '/api/comments/count'],
    ['OPTIONS', `/api/posts/${id}/summary`],
    ['DELETE', `/api/posts/${id}/summary`],
    ['GET', '/api/nothing'],
  ] as const)
    expect([path, announcementOf(await call(method, path))]).toEqual([path, undefined]);
});

test('a deprecated action covers all of its routes, and the link to its replacement has the ids of the request', async () => {
  const { id: one } = await app.service(comment).create({ text: 'x' });
  for (const method of ['PATCH', 'PUT'])
    expect(announcementOf(await call(method, `/api/comments/${one}`, { text: 'y' }))).toEqual({
      deprecation: atMidnight('2026-01-01'),
      sunset: undefined,
      links: [`</api/posts/${one}>; rel="successor-version"`],
    });
});

test('a deprecated resource covers its CRUD routes, its custom routes and restore, unless a route has its own deprecation', async () => {
  const { body } = await call('POST', '/api/memos', { text: 'x' });
  const item = `/api/memos/${body.data.id}`;
  const calls = [
    ['GET', '/api/memos'],
    ['GET', '/api/memos/count'],
    ['POST', '/api/memos'],
    ['GET', item],
    ['PATCH', item],
    ['PUT', item],
    ['DELETE', item],
    ['POST', `${item}/restore`],
  ] as const;
  for (const [method, path] of calls) {
    const response = await call(method, path, method === 'GET' || method === 'DELETE' ? undefined : {});
    expect([method, path, announcementOf(response)]).toEqual([
      method,
      path,
      {
        deprecation: atMidnight('2026-05-01'),
        sunset: undefined,
        links: ['</api/posts>; rel="successor-version"'],
      },
    ]);
  }
  expect(announcementOf(await call('GET', '/api/memos/own'))?.deprecation).toBe(atMidnight('2024-01-01'));
});

test('routes and pages of extensions can be deprecated', async () => {
  expect(announcementOf(await call('GET', '/api/clock'))?.deprecation).toBe(atMidnight('2026-01-01'));
  expect(announcementOf(await call('GET', '/clock'))?.deprecation).toBe(atMidnight('2026-01-02'));
});

test('a replacement whose path the request does not determine is not linked, and ids are encoded in a link', async () => {
  expect(announcementOf(await call('GET', '/api/posts/by-slug/x'))?.links).toEqual([]);
  const { body } = await call('GET', `/api/posts/${encodeURIComponent('<">')}/parts/1`);
  expect(body.error.code).toBe('NOT_FOUND');
  const { links } = announcementOf(await call('GET', `/api/posts/${encodeURIComponent('<">\n')}/parts/1`))!;
  expect(links).toEqual(['</api/posts/%3C%22%3E%0A>; rel="successor-version"']);
});

test('links of middleware stay beside those of the deprecation', async () => {
  expect(announcementOf(await call('GET', '/api/posts/linked'))?.links).toEqual([
    '<https://api.example.com/v2/linked>; rel="successor-version"',
    '</style.css>; rel="preload"',
  ]);
});

test('a response that is repeated for an Idempotency-Key announces the deprecation once', async () => {
  const ann = await person('Ann');
  const send = () => ann.call('POST', '/api/posts/once', {}, { 'idempotency-key': 'k1' });
  const [first, again] = [await send(), await send()];
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(announcementOf(again)).toEqual(announcementOf(first));
});

test('a browser may read the headers of a deprecation', async () => {
  const { headers } = await call('GET', '/api/posts', undefined, { origin: ORIGIN });
  const exposed = headers.get('access-control-expose-headers')!.split(',');
  expect(exposed).toEqual(expect.arrayContaining(['Deprecation', 'Sunset', 'Link', 'ETag']));
});

test('an app that declares nothing deprecated exposes no further headers, sends none and has no metric', async () => {
  const plain = await startTestApp(
    { resources: [defineUser(), defineResource('post', { fields: { title: f.string() }, policies: OPEN })] },
    { env: () => ({ CORS_ORIGINS: ORIGIN, METRICS_TOKEN: 'scrape' }) },
  );
  const response = await plain.call('GET', '/api/posts?sort=-createdAt', undefined, { origin: ORIGIN });
  expect(response.headers.get('access-control-expose-headers')).not.toMatch(/Deprecation|Sunset|Link/);
  expect(announcementOf(response)).toBeUndefined();
  const metrics = await fetch(`${plain.url}/metrics`, { headers: { authorization: 'Bearer scrape' } });
  expect(await metrics.text()).not.toContain('belfry_deprecated');
  const document = JSON.stringify((await plain.call('GET', '/api/openapi.json')).body);
  expect(document).not.toMatch(/deprecat|sunset/i);
});
