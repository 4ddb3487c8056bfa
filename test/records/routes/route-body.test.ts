import express from 'express';
import { expect, test } from 'vitest';
import { createApp, defineResource, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const tell = ({ input, body, req }: { input: unknown; body: unknown; req: { body?: unknown } }) => ({
  input: input === undefined ? 'undefined' : input,
  same: input === req.body && input === body,
});
let runs = 0;
const hook = defineResource('hook', {
  fields: { name: f.string() },
  routes: (route) => [
    route.post('/any', { policy: 'public' }, tell),
    route.put('/any', { policy: 'public' }, tell),
    route.patch('/any', { policy: 'public' }, tell),
    route.delete('/any', { policy: 'public' }, tell),
    route.get('/any', { policy: 'public' }, tell),
    route.post('/raw', { policy: 'public', body: 'raw' }, async ({ req, input }) => {
      let text = '';
      for await (const chunk of req) text += chunk;
      return { text, input: typeof input };
    }),
    route.post('/stream', { policy: 'public' }, async ({ req, input }) => {
      let text = '';
      for await (const chunk of req) text += chunk;
      return { text, input: typeof input };
    }),
    route.post('/signed', { policy: 'public', middleware: [express.raw({ type: '*/*' })] }, ({ input }) =>
      Buffer.isBuffer(input) ? input.toString() : typeof input,
    ),
    route.post('/parsed', { policy: 'public', middleware: [express.json()] }, tell),
    route.post('/once', { policy: 'public' }, () => ++runs),
  ],
});
const { call, env } = await startTestApp({ resources: [hook], settings: { http: { bodyLimit: 1000 } } });
const send = (method: string, path: string, body?: string, type = 'application/json') =>
  call(method, `/api/hooks${path}`, body, body === undefined ? {} : { 'content-type': type });

test.each(['POST', 'PUT', 'PATCH'])(
  'a route without input receives the JSON body unchanged as input and as req.body: %s',
  async (method) => {
    for (const value of [{ a: [1, { b: null }] }, [1], 'text', 0, false, null]) {
      const { status, body } = await send(method, '/any', JSON.stringify(value));
      expect([status, body.data]).toEqual([200, { input: value, same: true }]);
    }
    const patched = await send(method, '/any', '{"a":1}', 'application/merge-patch+json; charset=utf-8');
    expect(patched.body.data.input).toEqual({ a: 1 });
  },
);

test('with no body or an empty one, input is undefined', async () => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'GET']) {
    expect((await send(method, '/any')).body.data).toEqual({ input: 'undefined', same: true });
  }
  expect((await send('POST', '/any', '')).body.data).toEqual({ input: 'undefined', same: true });
});

test('the body of a DELETE is not read', async () => {
  expect((await send('DELETE', '/any', '{"a":1}')).body.data).toEqual({ input: 'undefined', same: true });
});

test('the usual body limits apply: malformed, too large, nested too deep, not UTF-8', async () => {
  expect((await send('POST', '/any', '{not json')).body.error.code).toBe('INVALID_JSON');
  expect((await send('POST', '/any', JSON.stringify('x'.repeat(1000)))).body.error.code).toBe('PAYLOAD_TOO_LARGE');
  const deep = '['.repeat(400) + ']'.repeat(400);
  expect((await send('POST', '/any', deep)).body.error.code).toBe('VALIDATION_ERROR');
  const latin = await send('POST', '/any', '{}', 'application/json; charset=latin1');
  expect(latin.body.error.code).toBe('UNSUPPORTED_MEDIA_TYPE');
});

test('a body that is not JSON stays a stream for the handler, and body: "raw" leaves JSON unread too', async () => {
  const stream = await send('POST', '/stream', 'a=1', 'text/plain');
  expect(stream.body.data).toEqual({ text: 'a=1', input: 'undefined' });
  expect((await send('POST', '/any', 'a=1', 'text/plain')).body.data.input).toBe('undefined');
  const raw = await send('POST', '/raw', '{"a": 1}');
  expect(raw.body.data).toEqual({ text: '{"a": 1}', input: 'undefined' });
});

test('a body that middleware has read becomes input, whatever its type', async () => {
  expect((await send('POST', '/signed', '{"a": 1}')).body.data).toBe('{"a": 1}');
  expect((await send('POST', '/parsed', '{"a":1}')).body.data).toEqual({ input: { a: 1 }, same: true });
});

test('an Idempotency-Key repeated with another body is refused', async () => {
  const once = (body: string) => call('POST', '/api/hooks/once', body, { 'idempotency-key': 'body-1' });
  expect((await once('{"a":1,"b":2}')).body.data).toBe(1);
  expect((await once('{"b":2,"a":1}')).body.data).toBe(1);
  expect((await once('{"a":2}')).body.error.code).toBe('IDEMPOTENCY_KEY_REUSED');
  expect(runs).toBe(1);
});

test('the OpenAPI document has an optional JSON body for such a route, and none if the body is raw', async () => {
  const { paths } = (await call('GET', '/api/openapi.json')).body;
  const any = { required: false, content: { 'application/json': { schema: {} } } };
  expect(paths['/api/hooks/any'].post.requestBody).toEqual(any);
  for (const operation of [paths['/api/hooks/any'].get, paths['/api/hooks/any'].delete, paths['/api/hooks/raw'].post]) {
    expect(operation).not.toHaveProperty('requestBody');
  }
});

test('the option body accepts only "raw" and streamed bodies, and not together with input', () => {
  const withBody = (options: object) => () =>
    createApp(
      { resources: [defineResource('one', { fields: {}, routes: (route) => [route.post('/x', options, () => 1)] })] },
      env,
    );
  expect(withBody({ body: 'json' })).toThrow(
    "body: must be 'raw', { kind: 'binary' } or { kind: 'multipart' }, or left out",
  );
  const input = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } };
  expect(withBody({ body: 'raw', input })).toThrow("body: 'raw' means that the body is not read");
});
