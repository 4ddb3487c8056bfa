import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const middleware: string[] = [];
const post = defineResource('post', {
  path: '/blog/articles',
  fields: {
    title: f.string().required(),
    secret: f.string().hidden(),
    draft: f.string().visibleTo('admin'),
    status: f.string(),
    author: f.ref('user').owner(),
  },
  policies: { list: 'public', read: 'owner', create: 'authenticated' },
  scope: ({ user }) => (user?.name === 'Blind' ? { status: 'published' } : undefined),
  routes: (route) => [
    route.get('/hello', { policy: 'public' }, () => 'hello'),
    route.get('/default', ({ user }) => user?.name),
    route.get('/nothing', { policy: 'public' }, () => undefined),
    route.get('/null', { policy: 'public' }, () => null),
    route.get('/false', { policy: 'public' }, async () => false),
    ...[204, 205, 304].map((status) => route.get(`/empty-${status}`, { policy: 'public', status }, () => ({ a: 1 }))),
    route.post('/empty-205', { policy: 'public', status: 205 }, () => undefined),
    route.get('/admins', { policy: 'admin' }, () => 1),
    route.get('/query', { policy: 'public' }, ({ query }) => query),
    route.post(
      '/made',
      { policy: 'public', status: 202, input: z.strictObject({ n: z.number().int() }) },
      ({ input }) => input,
    ),
    route.post('/bodyless', { policy: 'public' }, ({ input, body }) => ({ input, body })),
    route.post('/system', { policy: 'public' }, ({ service }) =>
      service('post').create({ title: 'by code', secret: 's3cret' }),
    ),
    route.get('/:id/copies', { policy: 'public' }, ({ doc }) => ({
      read: doc.secret === 's3cret' && doc.draft === 'd',
      copies: [
        { ...doc },
        Object.assign({}, doc),
        Object.fromEntries(Object.entries(doc)),
        structuredClone(doc),
        JSON.parse(JSON.stringify(doc)),
        new Map([['doc', doc]]).get('doc'),
      ],
    })),
    route.post('/as-caller', { policy: 'public' }, ({ service, user }) =>
      service('post').create({ title: 'x' }, { user }),
    ),
    route.post('/:id/publish', { policy: 'owner' }, ({ doc, service }) =>
      service('post').update(doc.id, { status: 'published' }),
    ),
    route.put(
      '/:id/asked',
      { policy: ({ doc, action }) => action === 'custom' && doc.title === 'open' },
      ({ params }) => params,
    ),
    route.delete('/:id/parts/:part', { policy: 'public' }, ({ params, doc }) => [doc.title, params.part]),
    route.patch(
      '/middle',
      {
        policy: 'authenticated',
        middleware: [
          (req, res, next) => {
            middleware.push(req.method);
            res.setHeader('x-middle', 'yes');
            next();
          },
        ],
      },
      ({ res }) => res.getHeader('x-middle'),
    ),
    route.get('/written', { policy: 'public' }, ({ res }) => {
      res.status(418).end('{"tea":true}');
    }),
    route.get('/late', { policy: 'public' }, ({ res }) => {
      res.write('{"data":');
      throw new Error('too late');
    }),
    route.get('/people', { policy: 'public' }, async ({ service }) => (await service('user').list()).data),
  ],
});
const silent = defineResource('silent', {
  fields: { a: f.string() },
  crud: false,
  routes: (route) => [route.get('/', { policy: 'public' }, () => 'list of mine')],
});
const partialCrud = defineResource('ProductCategory', {
  fields: { a: f.string() },
  crud: ['list', 'create'],
  timestamps: false,
  collection: 'cats',
  policies: { list: 'public', create: 'public' },
});

const { app, call, person, url } = await startTestApp({ resources: [defineUser(), post, silent, partialCrud] });
const [ann, bob, blind] = [await person('Ann'), await person('Bob'), await person('Blind')];
const path = '/api/blog/articles';
const { id } = (await ann.call('POST', path, { title: 'open' })).body.data;

test('a value responds 200 with data, undefined responds 204, and a declared status is used', async () => {
  expect(await call('GET', `${path}/hello`)).toMatchObject({ status: 200, body: { data: 'hello' } });
  expect(await call('GET', `${path}/nothing`)).toMatchObject({ status: 204, body: undefined });
  expect(await call('GET', `${path}/null`)).toMatchObject({ status: 200, body: { data: null } });
  expect(await call('GET', `${path}/false`)).toMatchObject({ status: 200, body: { data: false } });
  expect(await call('POST', `${path}/made`, { n: 1 })).toMatchObject({ status: 202, body: { data: { n: 1 } } });
  expect(await call('GET', `${path}/written`)).toMatchObject({ status: 418, body: { tea: true } });
});

/** Sends requests on one connection, and returns the raw responses. Leftover body bytes would end up in the next response. */
async function answersOf(requests: string[]): Promise<string[]> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const lines = requests.map((line, i) => {
    const end = i === requests.length - 1 ? 'Connection: close\r\n' : '';
    return `${line} HTTP/1.1\r\nHost: ${hostname}\r\n${end}Content-Length: 0\r\n\r\n`;
  });
  socket.end(lines.join(''));
  return (await text(socket)).split(/(?=HTTP\/1\.1 )/);
}

test.each([204, 205, 304])(
  'a status without a body is sent without one, whatever the handler returns: %i',
  async (status) => {
    const [first, second] = await answersOf([`GET ${path}/empty-${status}`, `GET ${path}/hello`]);
    expect(first).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(first).not.toMatch(/^(content-type|etag|transfer-encoding):/im);
    // RFC 9110 §8.6, §15.3.6: 205 needs a length of 0, 204 has none, and 304 would state the length of the 200 response.
    expect(/^content-length: .*$/im.exec(first!)?.[0].toLowerCase()).toBe(
      status === 205 ? 'content-length: 0' : undefined,
    );
    expect(first!.split('\r\n\r\n')[1]).toBe('');
    expect(second).toMatch(/^HTTP\/1.1 200 /);
  },
);

test('undefined responds 204, or the declared status if that has no body either', async () => {
  expect(await call('POST', `${path}/empty-205`)).toMatchObject({ status: 205, body: undefined });
});

test('a route without a policy requires sign-in, and roles are evaluated as in other policies', async () => {
  expect((await call('GET', `${path}/default`)).status).toBe(401);
  expect((await ann.call('GET', `${path}/default`)).body.data).toBe('Ann');
  expect((await call('GET', `${path}/admins`)).status).toBe(401);
  expect((await ann.call('GET', `${path}/admins`)).status).toBe(403);
});

test('the input schema validates the body, with a message per field', async () => {
  const { status, body } = await call('POST', `${path}/made`, { n: 1.5, m: 1, __proto__x: 1 });
  expect([status, Object.keys(body.error.details).sort()]).toEqual([422, ['__proto__x', 'm', 'n']]);
  expect(body.error.details.m).toBe('Unknown field');
  expect((await call('POST', `${path}/made`)).status).toBe(422);
  expect((await call('POST', `${path}/made`, 'null')).status).toBe(422);
  expect((await call('POST', `${path}/made`, '{')).status).toBe(400);
});

test('a route with :id loads the record within the scope and applies the policy: 401, 403, 404', async () => {
  const publish = `${path}/${id}/publish`;
  expect((await call('POST', publish)).status).toBe(401);
  expect((await bob.call('POST', publish)).status).toBe(404);
  expect((await blind.call('POST', publish)).status).toBe(404);
  expect((await ann.call('POST', `${path}/zzz/publish`)).status).toBe(404);
  expect((await ann.call('POST', publish)).body.data).toMatchObject({ id, status: 'published' });
  expect((await call('DELETE', `${path}/${id}/parts/7`)).body.data).toEqual(['open', '7']);
});

test('a policy function of a route is called with the record, and never without one', async () => {
  expect((await ann.call('PUT', `${path}/${id}/asked`)).body.data).toEqual({ id });
  for (const bad of ['zzz', '%00', '0123456789abcdef01234567']) {
    expect((await ann.call('PUT', `${path}/${bad}/asked`)).status).toBe(404);
    expect((await call('PUT', `${path}/${bad}/asked`)).status).toBe(401);
  }
});

test('records in a response contain only fields visible to the caller, and code can still act as the system', async () => {
  const { body } = await call('POST', `${path}/system`);
  expect(body.data).toMatchObject({ title: 'by code' });
  expect(body.data).not.toHaveProperty('secret');
  const people = (await call('GET', `${path}/people`)).body.data;
  expect(people).toHaveLength(3);
  for (const one of people) expect(Object.keys(one).sort()).toEqual(['createdAt', 'id', 'name', 'updatedAt']);
});

test('copies of a record drop fields that are not visible to every viewer', async () => {
  const { id } = await app.service('post').create({ title: 'copied', secret: 's3cret', draft: 'd' });
  const { data } = (await call('GET', `${path}/${id}/copies`)).body;
  expect(data.read).toBe(true);
  const names = ['createdAt', 'id', 'title', 'updatedAt'];
  expect(data.copies.map((copy: object) => Object.keys(copy).sort())).toEqual(Array(6).fill(names));
});

test('a service called with the user of a visitor acts as a visitor, not as the system', async () => {
  expect((await call('POST', `${path}/as-caller`)).status).toBe(401);
  expect((await ann.call('POST', `${path}/as-caller`)).body.data.author).toBe(ann.id);
});

test('middleware runs before the handler', async () => {
  expect((await ann.call('PATCH', `${path}/middle`)).body.data).toBe('yes');
  expect(middleware).toEqual(['PATCH']);
});

test('a handler that fails in the middle of its response aborts only that response', async () => {
  await expect(call('GET', `${path}/late`)).rejects.toThrow();
  expect((await call('GET', `${path}/hello`)).status).toBe(200);
});

test('a route receives a flat query, with a repeated parameter as a list', async () => {
  expect((await call('GET', `${path}/query?a=1&a=2&__proto__=3`)).body.data).toEqual(
    JSON.parse('{"a":["1","2"],"__proto__":"3"}'),
  );
});

test('crud false leaves only custom routes, and a list of actions only those actions', async () => {
  expect((await call('GET', '/api/silents')).body.data).toBe('list of mine');
  expect((await call('POST', '/api/silents', {})).status).toBe(405);
  expect((await call('GET', '/api/silents/0123456789abcdef01234567')).status).toBe(404);
  expect((await call('POST', '/api/product-categories', { a: 'x' })).status).toBe(201);
  expect((await call('GET', '/api/product-categories/0123456789abcdef01234567')).status).toBe(404);
});

test('a resource without timestamps returns none, and is listed in the order of its ids', async () => {
  await call('POST', '/api/product-categories', { a: 'y' });
  const { body } = await call('GET', '/api/product-categories');
  expect(body.data.map((record: { a: string }) => record.a)).toEqual(['x', 'y']);
  expect(Object.keys(body.data[0]).sort()).toEqual(['a', 'id']);
  expect((await call('GET', '/api/product-categories?sort=createdAt')).status).toBe(400);
  const made = await app.service('product-category').create({ a: 'z' });
  expect((await app.service('product-category').update(made.id, { a: 'zz' })).a).toBe('zz');
});
