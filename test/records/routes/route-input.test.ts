import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineResource } from '../../../src/index.ts';
import type { StandardSchema } from '../../../src/platform/helpers/standard-schema.ts';
import { startTestApp } from '../../support/app.ts';

const libraries: Record<string, StandardSchema> = {
  zod: z.object({
    name: z.string().transform((text) => text.trim()),
    lines: z.array(z.object({ n: z.number().max(9, 'Too high') })),
    free: z.string().refine(async (text) => text === 'free', 'Taken'),
  }),
  valibot: v.objectAsync({
    name: v.pipe(v.string(), v.trim()),
    lines: v.array(v.object({ n: v.pipe(v.number(), v.maxValue(9, 'Too high')) })),
    free: v.pipeAsync(
      v.string(),
      v.checkAsync(async (text) => text === 'free', 'Taken'),
    ),
  }),
  arktype: type({
    name: type('string').pipe((text) => text.trim()),
    lines: type({ n: type('number').narrow((n, ctx) => n <= 9 || ctx.reject({ message: 'Too high' })) }).array(),
    free: type('string').narrow((text, ctx) => text === 'free' || ctx.reject({ message: 'Taken' })),
  }),
};
const whole: Record<string, StandardSchema> = {
  zod: z.object({ a: z.number() }).refine(({ a }) => a > 0, 'Not positive'),
  valibot: v.pipe(
    v.object({ a: v.number() }),
    v.check(({ a }) => a > 0, 'Not positive'),
  ),
  arktype: type({ a: 'number' }).narrow(({ a }, ctx) => a > 0 || ctx.reject({ message: 'Not positive' })),
};

const chosen: Record<string, StandardSchema> = {
  zod: z.object({ a: z.string('Say it'), b: z.string().default('x') }),
  valibot: v.object({
    a: v.optional(v.pipe(v.string(), v.minLength(1, 'Say it')), ''),
    b: v.optional(v.string(), 'x'),
  }),
  arktype: type({
    'a?': 'string',
    b: "string = 'x'",
  }).narrow(({ a }, ctx) => a !== undefined || ctx.reject({ message: 'Say it', path: ['a'] })),
};

const thing = defineResource('thing', {
  fields: {},
  routes: (route) =>
    Object.keys(libraries)
      .flatMap((name) => [
        route.post(`/${name}`, { policy: 'public', input: libraries[name]! }, ({ input }) => input),
        route.post(`/${name}/chosen`, { policy: 'public', input: chosen[name]! }, ({ input }) => input),
        route.post(`/${name}/whole`, { policy: 'public', input: whole[name]! }, ({ input }) => input),
      ])
      .concat(
        route.post('/none', { policy: 'public', body: 'raw' }, ({ input, body, req }) => [
          typeof input,
          typeof body,
          typeof req.body,
        ]),
      ),
});
const { call } = await startTestApp({ resources: [thing] });

describe.each(Object.keys(libraries))('the input of a route by %s', (name) => {
  const post = (body: unknown, path = '') => call('POST', `/api/things/${name}${path}`, body);

  test('the handler receives the output of the schema', async () => {
    const { status, body } = await post({ name: ' Ann ', lines: [{ n: 1 }], free: 'free' });
    expect([status, body.data]).toEqual([200, { name: 'Ann', lines: [{ n: 1 }], free: 'free' }]);
  });

  test('the paths of issues become the keys of the details', async () => {
    const { status, body } = await post({ name: 'Ann', lines: [{ n: 1 }, { n: 10 }], free: 'x' });
    expect([status, body.error.code, body.error.details]).toEqual([
      422,
      'VALIDATION_ERROR',
      { 'lines.1.n': 'Too high', free: 'Taken' },
    ]);
  });

  test('a custom message is kept, even for a missing value', async () => {
    expect((await post({}, '/chosen')).body.error.details).toEqual({ a: 'Say it' });
  });

  test('an issue of the body as a whole is reported as "body"', async () => {
    const { status, body } = await post({ a: -1 }, '/whole');
    expect([status, body.error.details]).toEqual([422, { body: 'Not positive' }]);
  });

  test('missing values have the same message as in records, at any depth', async () => {
    const missing = await post({ lines: [{}], free: 'free' });
    expect(missing.body.error.details).toEqual({ name: 'Is required', 'lines.0.n': 'Is required' });
    expect((await post(undefined)).body.error.details).toMatchObject({ name: 'Is required', lines: 'Is required' });
    // The library's own message is used for a value that is present and invalid.
    expect((await post({ name: 1, lines: [], free: 'free' })).body.error.details.name).toMatch(/string/);
  });

  test.each([undefined, [], 'x', 1, null])('a body that is not an object is refused: %j', async (body) => {
    const { status, body: response } = await post(body === undefined ? body : JSON.stringify(body));
    expect([status, response.error.code]).toEqual([422, 'VALIDATION_ERROR']);
  });
});

test.each([
  ['none', undefined, {}],
  ['JSON', '{"a":1}', {}],
  ['malformed JSON', '{"a":', {}],
  ['text', 'a=1', { 'content-type': 'application/x-www-form-urlencoded' }],
  ['more than the size limit', `"${'x'.repeat(2 ** 21)}"`, {}],
])('a route with body: "raw" does not read its body: %s', async (_what, body, headers) => {
  const response = await call('POST', '/api/things/none', body, headers);
  expect([response.status, response.body.data]).toEqual([200, ['undefined', 'undefined', 'undefined']]);
  // The next request on the connection is not parsed as the rest of the body.
  expect((await call('POST', '/api/things/none')).status).toBe(200);
});
