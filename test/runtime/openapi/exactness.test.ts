// If JSON Schema can express all rules of a field, the document is neither stricter nor laxer than the service.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { scaleRuns } from '../../support/vitest/fuzz-runs.ts';
import { spoilt, valid, validParameter } from './arbitrary.ts';
import { type Json, readContract } from './contract.ts';

const plain = {
  text: f.text().required().min(1).max(20),
  count: f.integer().min(-5).max(1000).filterable().sortable(),
  price: f.number().min(0.5).max(99.5).default(1).filterable(),
  live: f.boolean().filterable(),
  kind: f.enum(['a', 'b', 'c']).required().default('a').filterable().sortable(),
  code: f.id().filterable(),
  other: f.ref('plain').filterable(),
  numbers: f.array(f.integer().max(10)).min(1).max(3).filterable(),
  nested: f
    .array(f.object({ a: f.text().required().max(3), b: f.number().default(0), c: f.array(f.boolean()) }))
    .max(2),
  place: f.object({
    city: f.text().required().min(1),
    deep: f.object({ n: f.integer(), m: f.text().required().default('m') }),
  }),
  sealed: f.text().max(50).encrypted(),
};
const lenient = {
  at: f.date().filterable().sortable(),
  mail: f.email().filterable(),
  data: f.json().filterable(),
  name: f.string().max(30).filterable().searchable(),
};
const OPEN = { create: 'authenticated', update: 'authenticated' };
const resources = [
  defineUser(),
  defineResource('plain', { fields: plain, policies: OPEN }),
  defineResource('lenient', { fields: lenient, policies: OPEN }),
];
const { url, person } = await startTestApp({ resources });
const contract = await readContract(url);
const { schemas } = contract.document.components;
const ann = await person('Ann');
const made: Record<string, string> = {};
for (const [path, body] of [
  ['/api/plains', { text: 'x' }],
  ['/api/lenients', {}],
] as const) {
  made[path] = (await ann.call('POST', path, body)).body.data.id;
}

const RUNS = scaleRuns(25);
const cases = [
  ['PlainCreate', 'POST', '/api/plains'],
  ['PlainUpdate', 'PATCH', '/api/plains'],
  ['LenientCreate', 'POST', '/api/lenients'],
  ['LenientUpdate', 'PATCH', '/api/lenients'],
] as const;

/** NUL and lone surrogates are refused in every text; the schemas do not repeat that. */
const isStorable = (body: unknown) => !/\\u0000|\\ud[89a-f]/.test(JSON.stringify(body));

const send = (method: string, path: string, body: unknown) =>
  ann.call(method, method === 'PATCH' ? `${path}/${made[path]}` : path, JSON.stringify(body));

test.each(cases)('%s: values that the document allows are accepted', async (name, method, path) => {
  const property = fc.asyncProperty(valid(contract, schemas[name]), async (body) => {
    if (!isStorable(body)) return;
    const response = await send(method, path, body);
    expect(response.body.error?.details, JSON.stringify(body)).toBe(undefined);
    expect(response.status).toBeLessThan(300);
  });
  await fc.assert(property, { numRuns: RUNS });
});

// Dates, e-mail addresses and trimmed strings are accepted in more forms than the document lists.
test.each(cases.slice(0, 2))('%s: values that the document forbids are refused', async (name, method, path) => {
  const property = fc.asyncProperty(spoilt(contract, schemas[name]), async (value) => {
    const body = JSON.parse(JSON.stringify(value ?? null));
    if (!isStorable(body)) return;
    const taken = (await send(method, path, body)).status < 300;
    expect([taken, JSON.stringify(body)]).toEqual([contract.isValid(schemas[name], body), JSON.stringify(body)]);
  });
  await fc.assert(property, { numRuns: RUNS });
});

test.each(['listPlains', 'listLenients'])('%s: a query that the document allows succeeds', async (id) => {
  const operation = contract.operations.get(id)!;
  const all = (operation.spec.parameters as Json[]).map(contract.resolve).filter((one) => one.in === 'query');
  // Cursors come from an earlier list, and sorting by one field in both directions is refused, which no schema can express.
  const parameters = all.filter(({ name }) => name !== 'after' && name !== 'sort');
  // A filter in two spellings is refused too.
  const plain = (name: string) => name.replace(/\[eq\]$/, '');
  const some = fc
    .subarray(parameters, { minLength: 1, maxLength: 3 })
    .map((chosen) =>
      chosen.filter(({ name }, i) => !chosen.slice(0, i).some((one) => plain(one.name) === plain(name))),
    );
  const query = some.chain((chosen) => fc.tuple(...chosen.map((one) => validParameter(contract, one))));
  const property = fc.asyncProperty(query, async (given) => {
    const response = await ann.call('GET', `${operation.path}?${given.join('&')}`);
    expect([given, response.body.error?.message]).toEqual([given, undefined]);
  });
  await fc.assert(property, { numRuns: RUNS });
  for (const sort of all.find(({ name }) => name === 'sort')!.schema.items.enum) {
    expect((await ann.call('GET', `${operation.path}?sort=${sort}`)).status).toBe(200);
  }
});
