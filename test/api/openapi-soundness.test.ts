import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareDocuments } from '../../scripts/api/openapi/documents.ts';
import { type Json, sortKeys } from '../../scripts/api/openapi/json.ts';
import { app } from '../../src/app/index.ts';
import { findAssembly } from '../../src/runtime/create-app.ts';

const ajv = new Ajv2020({ strict: false, validateFormats: false });
const number = fc.integer({ min: 0, max: 4 });
const bounds = (lower: string, upper: string) => fc.record({ [lower]: number, [upper]: number }, { requiredKeys: [] });

const scalar: fc.Arbitrary<Json> = fc.oneof(
  fc.record({ type: fc.constantFrom('string', 'null', 'boolean', ['string', 'null']) }),
  bounds('minLength', 'maxLength').map((limits) => ({ type: 'string', ...limits })),
  fc
    .tuple(fc.constantFrom('integer', 'number'), bounds('minimum', 'maximum'))
    .map(([type, limits]) => ({ type, ...limits })),
  fc.record({ enum: fc.uniqueArray(fc.constantFrom('', 'a', 'bb', 1, null), { minLength: 1 }) }),
  fc.record({ const: fc.constantFrom('a', 1, null) }),
  fc.constant({}),
);

/** Schemas whose objects refuse unknown properties, like those of requests, or ignore them, like clients. */
const schemas = (additionalProperties: boolean): fc.Arbitrary<Json> =>
  fc.letrec<{ schema: Json }>((tie) => ({
    schema: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      scalar,
      fc
        .tuple(fc.dictionary(fc.constantFrom('a', 'b'), tie('schema'), { maxKeys: 2 }), fc.subarray(['a', 'b']))
        .map(([properties, required]) => ({
          type: 'object',
          properties,
          required: required.filter((name) => name in properties),
          additionalProperties,
        })),
      fc
        .tuple(tie('schema'), bounds('minItems', 'maxItems'))
        .map(([items, limits]) => ({ type: 'array', items, ...limits })),
      fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    ),
  })).schema;

const value: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('', 'a', 'bb', 'ccc', 0, 1, 2.5, 4, null, true),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3 }),
  ),
})).value;

function documentWith(operation: Json): Json {
  const document = { paths: { '/api/posts': { post: { operationId: 'post', responses: {}, ...operation } } } };
  // Generated objects have no prototype, parsed ones do.
  return JSON.parse(JSON.stringify(document));
}
const asBody = (schema: Json) => ({ content: { 'application/json': { schema } } });
const requestOf = (schema: Json) => documentWith({ requestBody: asBody(schema) });
const responseOf = (schema: Json) => documentWith({ responses: { 200: asBody(schema) } });
const isCompatible = (before: Json, after: Json) => compareDocuments(before, after).every(({ breaking }) => !breaking);

/** Two schemas; the second is often a small change of the first. */
const pairs = (schema: fc.Arbitrary<Json>) =>
  fc
    .tuple(schema, schema, fc.array(value, { minLength: 30, maxLength: 30 }), fc.boolean())
    .map(([before, other, values, isUnion]) => [before, isUnion ? { anyOf: [before, other] } : other, values] as const);

test('after a compatible change of a request, every earlier value is still valid', () => {
  let compatible = 0;
  fc.assert(
    fc.property(pairs(schemas(false)), ([before, after, values]) => {
      if (!isCompatible(requestOf(before), requestOf(after))) return;
      compatible += 1;
      const [wasValid, isValid] = [ajv.compile(before), ajv.compile(after)];
      for (const each of values) if (wasValid(each)) expect(isValid(each), JSON.stringify(each)).toBe(true);
    }),
    { numRuns: 400 },
  );
  expect(compatible).toBeGreaterThan(100);
});

test('after a compatible change of a response, every value that the server sends was valid before', () => {
  let compatible = 0;
  fc.assert(
    fc.property(pairs(schemas(true)), ([after, before, values]) => {
      if (!isCompatible(responseOf(before), responseOf(after))) return;
      compatible += 1;
      const [wasValid, isValid] = [ajv.compile(before), ajv.compile(after)];
      for (const each of values) if (isValid(each)) expect(wasValid(each), JSON.stringify(each)).toBe(true);
    }),
    { numRuns: 400 },
  );
  expect(compatible).toBeGreaterThan(100);
});

test('a document has no changes compared with itself, in any order of keys', () => {
  fc.assert(
    fc.property(schemas(false), (schema) => {
      const documents = [requestOf(schema), responseOf(schema)];
      for (const document of documents) expect(compareDocuments(document, sortKeys(document) as Json)).toEqual([]);
    }),
    { numRuns: 200 },
  );
  const created = app({ NODE_ENV: 'test', DATABASE_URL: 'postgres://none/none', REDIS_URL: 'redis://none' });
  const document = findAssembly(created)!.createOpenApiDocument();
  expect(compareDocuments(document, sortKeys(document) as Json)).toEqual([]);
});

test('every difference of two documents is reported', () => {
  fc.assert(
    fc.property(schemas(false), schemas(false), (before, after) => {
      fc.pre(JSON.stringify(sortKeys(before)) !== JSON.stringify(sortKeys(after)));
      expect(compareDocuments(requestOf(before), requestOf(after))).not.toEqual([]);
    }),
    { numRuns: 200 },
  );
});
