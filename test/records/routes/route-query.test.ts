import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import type { StandardSchema } from '../../../src/platform/helpers/standard-schema.ts';
import { startTestApp } from '../../support/app.ts';

const libraries: Record<string, StandardSchema> = {
  zod: z.object({
    from: z.string().pipe(z.iso.date('Must be a date')),
    least: z.coerce.number().max(9, 'Too high').optional(),
    tags: z.array(z.string().max(3, 'Too long')).optional(),
  }),
  valibot: v.objectAsync({
    from: v.pipe(v.string(), v.isoDate('Must be a date')),
    least: v.optional(v.pipe(v.string(), v.transform(Number), v.maxValue(9, 'Too high'))),
    tags: v.optional(v.array(v.pipe(v.string(), v.maxLength(3, 'Too long')))),
  }),
  arktype: type({
    from: type('string').narrow(
      (text, ctx) => /^\d{4}-\d\d-\d\d$/.test(text) || ctx.reject({ message: 'Must be a date' }),
    ),
    'least?': type('string.numeric.parse').narrow((n, ctx) => n <= 9 || ctx.reject({ message: 'Too high' })),
    'tags?': type('string')
      .narrow((text, ctx) => text.length <= 3 || ctx.reject({ message: 'Too long' }))
      .array(),
  }),
};

const thing = defineResource('thing', {
  fields: { owner: f.ref('user').owner() },
  routes: (route) => [
    ...Object.keys(libraries).map((name) =>
      route.get(`/${name}`, { policy: 'public', query: libraries[name]! }, ({ query }) => query),
    ),
    route.get(
      '/strict',
      { policy: 'public', query: z.strictObject({ a: z.string().optional() }) },
      ({ query }) => query,
    ),
    route.get('/raw', { policy: 'public' }, ({ query }) => query),
    route.get(
      '/whole',
      { policy: 'public', query: z.object({ a: z.string().optional() }).refine(({ a }) => a, 'Say a') },
      ({ query }) => query,
    ),
    route.post(
      '/signed',
      { policy: 'authenticated', query: z.object({ n: z.string() }), input: z.object({ a: z.string() }) },
      ({ query, input }) => ({ ...query, ...input }),
    ),
  ],
});
const { call, person } = await startTestApp({ resources: [defineUser(), thing] });
const refused = async (path: string) => {
  const { status, body } = await call('GET', `/api/things/${path}`);
  return [status, body.error.code, body.error.message];
};

describe.each(Object.keys(libraries))('the query of a route by %s', (name) => {
  test('the handler receives the output of the schema', async () => {
    const { body } = await call('GET', `/api/things/${name}?from=2030-01-02&least=7&tags=a&tags=b`);
    expect(body.data).toEqual({ from: '2030-01-02', least: 7, tags: ['a', 'b'] });
  });

  test.each([
    ['', 'The query parameter "from" is required'],
    ['?least=1', 'The query parameter "from" is required'],
    ['?from=today', 'The query parameter "from": Must be a date'],
    ['?from=2030-01-02&from=2030-01-03', 'The query parameter "from" must be given once'],
    ['?from=2030-01-02&least=10', 'The query parameter "least": Too high'],
    ['?from=2030-01-02&tags=abc&tags=abcd', 'The query parameter "tags.1": Too long'],
  ])('%s is refused with 400, and the error names the parameter', async (query, message) => {
    expect(await refused(`${name}${query}`)).toEqual([400, 'BAD_REQUEST', message]);
  });
});

test('a parameter unknown to a strict schema is named in the error, truncated if it is long', async () => {
  expect(await refused('strict?b=1')).toEqual([400, 'BAD_REQUEST', 'Unknown query parameter "b"']);
  expect((await refused(`strict?${'b'.repeat(5000)}=1`))[2]).toBe(`Unknown query parameter "${'b'.repeat(100)}…"`);
  expect((await refused('strict?__proto__=1'))[2]).toBe('Unknown query parameter "__proto__"');
});

test('an issue of the query as a whole names no parameter', async () => {
  expect(await refused('whole')).toEqual([400, 'BAD_REQUEST', 'The query string is invalid: Say a']);
});

test('without a schema the handler receives the query as sent', async () => {
  expect((await call('GET', '/api/things/raw?a=1&b=2&b=3')).body.data).toEqual({ a: '1', b: ['2', '3'] });
});

test('authorization precedes the validation of the query, and the query is validated before the body', async () => {
  expect((await call('POST', '/api/things/signed')).status).toBe(401);
  const ann = await person('Ann');
  expect((await ann.call('POST', '/api/things/signed', '{"a":')).status).toBe(400);
  const wrong = await ann.call('POST', '/api/things/signed', {});
  expect([wrong.status, wrong.body.error.message]).toEqual([400, 'The query parameter "n" is required']);
  expect((await ann.call('POST', '/api/things/signed?n=1', {})).body.error.details).toEqual({ a: 'Is required' });
  expect((await ann.call('POST', '/api/things/signed?n=1', { a: 'x' })).body.data).toEqual({ n: '1', a: 'x' });
});
