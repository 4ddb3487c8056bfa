// Random requests generated from the document: valid, nearly valid, hostile.
import fc from 'fast-check';
import { anyUrl } from '../../support/any-text.ts';
import type { Contract, Json, Operation } from './contract.ts';

/** A request as it is sent. */
export interface RandomRequest {
  path: string;
  body: string | undefined;
  headers: Record<string, string>;
}

const DEPTH = 3;

const HOSTILE = fc.constantFrom<unknown>(
  ...[
    null,
    true,
    '',
    ' ',
    'x',
    '\u0000',
    '\ud800',
    '💚',
    "'",
    '"',
    '\\',
    '%',
    '{a,b}',
    '$1; drop table things',
    '../..',
  ],
  ...[0, -0, 1.5, 1e300, -1e300, 2 ** 53, '1e400', 'NaN', '2026-02-30', 'infinity', 'x'.repeat(3000), '__proto__'],
  ...[[], {}, [null], [[]], { constructor: 1 }, { $ref: '#' }, ['a', 1, null], Array(60).fill(0)],
);
const anything = fc.oneof(HOSTILE, fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<unknown>);

/** Caches the generators, because creating one from a pattern takes milliseconds. */
const texts = new Map<string, fc.Arbitrary<string>>();

function text({ minLength = 0, maxLength = 30, format, pattern }: Json): fc.Arbitrary<string> {
  const key = JSON.stringify([minLength, maxLength, format, pattern]);
  const made = texts.get(key) ?? makeText({ minLength, maxLength, format, pattern });
  texts.set(key, made);
  return made;
}

function makeText({ minLength, maxLength, format, pattern }: Json): fc.Arbitrary<string> {
  if (format === 'date-time') {
    const [min, max] = [new Date('0001-01-01'), new Date('9999-12-31')];
    return fc.date({ min, max, noInvalidDate: true }).map((date) => date.toISOString());
  }
  if (format === 'date') return fc.constantFrom('2026-01-31', '2000-02-29', '9999-12-31');
  // The format allows unusual addresses that the service refuses.
  if (format === 'email') return fc.stringMatching(/^[a-z0-9]{1,9}@[a-z0-9]{1,9}\.com$/);
  if (format === 'uri') return anyUrl;
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern)).map((one) => one.slice(0, maxLength));
  const most = Math.min(maxLength, minLength + 20);
  return fc.oneof(
    fc.string({ minLength, maxLength: most, unit: 'grapheme-ascii' }),
    // Lengths count code points, and a grapheme may have several.
    fc.string({ minLength, maxLength: most, unit: 'grapheme' }).filter((one) => [...one].length <= maxLength),
  );
}

function array(
  { items = {}, minItems = 0, maxItems = 5, uniqueItems }: Json,
  inner: (one: Json) => fc.Arbitrary<unknown>,
) {
  const bounds = { minLength: minItems, maxLength: Math.min(maxItems, minItems + 4) };
  return uniqueItems ? fc.uniqueArray(inner(items), bounds) : fc.array(inner(items), bounds);
}

function integer({ minimum = -1000, maximum = minimum + 1_000_000 }: Json): fc.Arbitrary<number> {
  return fc.integer({ min: Math.max(minimum, -1e9), max: Math.min(maximum, 1e9) });
}

/** Values that are valid according to a schema of the document. */
export function valid(contract: Contract, part: Json, depth = DEPTH): fc.Arbitrary<unknown> {
  const schema = contract.resolve(part);
  const inner = (one: Json) => valid(contract, one, depth - 1);
  if (schema.allOf !== undefined) return inner(Object.assign({}, ...schema.allOf.map(contract.resolve)));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map(inner));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const types = [schema.type].flat();
  if (types.length > 1) return fc.oneof(...types.map((type) => inner({ ...schema, type })));
  switch (types[0]) {
    case 'string':
      return text(schema);
    case 'integer':
      return integer(schema);
    case 'number':
      return fc.double({ min: schema.minimum ?? -1e6, max: schema.maximum ?? 1e6, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return depth <= 0 ? fc.constant([]) : array(schema, inner);
    case 'object':
      return object(schema, inner);
    default:
      return anything;
  }
}

function object({ properties = {}, required = [] }: Json, inner: (one: Json) => fc.Arbitrary<unknown>) {
  const optional = Object.keys(properties).filter((name) => !required.includes(name));
  const all = fc.constant(optional);
  // Only a few at a time, because with all of them one is nearly always refused.
  const few = fc.subarray(optional, { maxLength: Math.min(3, optional.length) });
  return fc.oneof({ weight: 1, arbitrary: all }, { weight: 4, arbitrary: few }).chain((chosen) => {
    const members = [...required, ...chosen].map((name: string) => [name, inner(properties[name] ?? {})] as const);
    return fc.record(Object.fromEntries(members));
  });
}

/** Nearly valid values: one member of an object is corrupted, missing, or additional. */
export function spoilt(contract: Contract, schema: Json): fc.Arbitrary<unknown> {
  const names = [
    ...Object.keys(contract.resolve(schema).properties ?? {}),
    'id',
    'hidden',
    'author',
    'nope',
    '__proto__',
  ];
  return fc
    .tuple(valid(contract, schema), fc.constantFrom(...names), fc.option(anything, { nil: undefined }))
    .map(([value, name, bad]) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return bad;
      const { [name]: _left, ...otherMembers } = value as Json;
      return bad === undefined
        ? otherMembers
        : Object.defineProperty(otherMembers, name, { value: bad, enumerable: true });
    });
}

function bodies(contract: Contract, operation: Operation): fc.Arbitrary<string | undefined> {
  const { requestBody } = operation.spec;
  // fetch allows no body with GET.
  if (operation.method === 'GET') return fc.constant(undefined);
  if (requestBody === undefined) return fc.constantFrom(undefined, undefined, '{}', '[');
  const { schema } = requestBody.content['application/json'];
  const json = (value: fc.Arbitrary<unknown>) => value.map((one) => JSON.stringify(one));
  return fc.oneof(
    { weight: 5, arbitrary: json(valid(contract, schema)) },
    { weight: 4, arbitrary: json(spoilt(contract, schema)) },
    { weight: 1, arbitrary: json(anything) },
    { weight: 1, arbitrary: fc.constantFrom(undefined, '', '{', '"', 'null', '[]', '{"a":1,"a":2}', '['.repeat(5000)) },
  );
}

const encoded = (value: unknown) => encodeURIComponent(String(value).toWellFormed());

/** A parameter with a value that is valid according to the document, as it appears in a URL. */
export function validParameter(contract: Contract, { name, schema }: Json): fc.Arbitrary<string> {
  const text = (value: unknown) => (Array.isArray(value) ? value.map(encoded).join(',') : encoded(value));
  return valid(contract, schema).map((value) => `${name}=${text(value)}`);
}

/** One query parameter, as it appears in a URL. */
function queryParameter(contract: Contract, parameter: Json): fc.Arbitrary<string> {
  const wrong = HOSTILE.map((value) => encoded(typeof value === 'object' ? JSON.stringify(value) : value));
  return fc.oneof(
    { weight: 4, arbitrary: validParameter(contract, parameter) },
    { weight: 1, arbitrary: wrong.map((value) => `${parameter.name}=${value}`) },
  );
}

function queries(contract: Contract, parameters: readonly Json[]): fc.Arbitrary<string> {
  const odd = fc.constantFrom(
    'nope=1',
    'hidden=x',
    'title[like]=x',
    'title[eq]',
    '__proto__=1',
    '&&',
    'page=1&page=2',
    '%zz',
  );
  const one = parameters.length === 0 ? odd : fc.oneof(...parameters.map((each) => queryParameter(contract, each)));
  const some = fc.array(fc.oneof({ weight: 9, arbitrary: one }, { weight: 1, arbitrary: odd }), { maxLength: 3 });
  return some.map((list) => list.join('&'));
}

function headers(parameters: readonly Json[]): fc.Arbitrary<Record<string, string>> {
  const values = fc.constantFrom('*', '"x"', 'W/"x"', '"', 'a-key', '"k"', 'x'.repeat(300), '"a", "b"');
  const members = parameters.map(({ name }) => [name, values] as const);
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.record(Object.fromEntries(members), { requiredKeys: [] }) },
  );
}

/**
 * Generates requests for an operation.
 *
 * @param ids values for the record id in the path; the first one is used most of the time
 */
export function requestsOf(
  contract: Contract,
  operation: Operation,
  ids: readonly string[],
): fc.Arbitrary<RandomRequest> {
  const parameters = ((operation.spec.parameters ?? []) as Json[]).map(contract.resolve);
  const of = (place: string) => parameters.filter((one) => one.in === place);
  const segment = fc.oneof(
    { weight: 6, arbitrary: fc.constant(ids[0]!) },
    { weight: 2, arbitrary: fc.constantFrom(...ids, 'a', '0'.repeat(24)) },
    { weight: 1, arbitrary: HOSTILE.map((value) => encoded(value) || 'x') },
    { weight: 1, arbitrary: fc.constantFrom('%zz', '%00', '%2e%2e', '..%2f..') },
  );
  const places = operation.path.split(/\{\w+\}/);
  return fc
    .record({
      segments: fc.tuple(...places.slice(1).map(() => segment)),
      query: queries(contract, of('query')),
      body: bodies(contract, operation),
      headers: headers(of('header')),
    })
    .map(({ segments, query, body, headers: sent }) => {
      const path = places.reduce((before, part, i) => before + segments[i - 1] + part);
      return { path: query === '' ? path : `${path}?${query}`, body, headers: sent };
    });
}
