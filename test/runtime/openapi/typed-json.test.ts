// The document contains the JSON Schema of json fields with a schema, if the schema's library can express it.
import { type } from 'arktype';
import * as v from 'valibot';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { readContract } from './contract.ts';
import { faultsOf } from './validators.ts';

interface Tree {
  name: string;
  children: Tree[];
}
const tree: z.ZodType<Tree> = z.object({
  name: z.string(),
  get children() {
    return z.array(tree);
  },
});
const page = defineResource('page', {
  fields: {
    settings: f
      .json(z.strictObject({ theme: z.enum(['dark', 'light']), size: z.number().default(1) }))
      .describe('Its look'),
    needed: f.json(z.object({ a: z.number() })).required(),
    converted: f.json(
      z
        .object({ text: z.string() })
        .transform(({ text }) => [text])
        .pipe(z.array(z.string())),
    ),
    tree: f.json(tree),
    ark: f.json(type({ size: 'number > 0' })),
    other: f.json(v.object({ size: v.number() })),
    list: f.array(f.json(z.object({ a: z.number() }))),
    inside: f.object({ deep: f.json(z.object({ a: z.number() })).required() }),
    free: f.json(),
  },
  policies: { list: 'public', read: 'public', create: 'public', update: 'public' },
});
const { call, url } = await startTestApp({ resources: [defineUser(), page] });
const contract = await readContract(url);
const { schemas } = contract.document.components;

test('the document is valid', async () => expect(await faultsOf(contract.document)).toEqual([]));

test('bodies have the input of the schema, responses its output', () => {
  const input = schemas.PageCreate.properties;
  const output = schemas.Page.properties;
  expect(input.settings).toEqual({
    description: 'Its look',
    anyOf: [
      {
        type: 'object',
        properties: { theme: { type: 'string', enum: ['dark', 'light'] }, size: { type: 'number', default: 1 } },
        required: ['theme'],
        additionalProperties: false,
      },
      { type: 'null' },
    ],
  });
  expect(output.settings).toMatchObject({ description: 'Its look', type: 'object', required: ['theme', 'size'] });
  expect(input.needed).toMatchObject({ type: 'object', required: ['a'] });
  expect(input.converted.anyOf[0]).toMatchObject({ type: 'object' });
  expect(output.converted).toMatchObject({ type: 'array', items: { type: 'string' } });
  expect(input.ark.anyOf[0]).toMatchObject({ type: 'object', properties: { size: { exclusiveMinimum: 0 } } });
  expect(input.list.anyOf[0].items).toMatchObject({ type: 'object', required: ['a'] });
  expect(input.inside.anyOf[0].properties.deep).toMatchObject({ type: 'object', required: ['a'] });
});

test('schemas that cannot be expressed, and json fields without one, allow any JSON', () => {
  expect([schemas.PageCreate.properties.other, schemas.Page.properties.other]).toEqual([{}, {}]);
  expect([schemas.PageCreate.properties.free, schemas.Page.properties.free]).toEqual([{}, {}]);
});

test('a recursive schema becomes a component of its own', () => {
  const ref = schemas.PageCreate.properties.tree.anyOf[0].$ref as string;
  expect(ref).toMatch(/^#\/components\/schemas\/PageTree/);
  expect(schemas[ref.split('/').at(-1)!].properties.name).toEqual({ type: 'string' });
});

test('records are as documented', async () => {
  const leaf = { name: 'leaf', children: [] };
  const response = await call('POST', '/api/pages', {
    settings: { theme: 'dark' },
    needed: { a: 1 },
    converted: { text: 'x' },
    tree: { name: 'root', children: [leaf] },
    ark: { size: 1 },
    other: { size: 1 },
    list: [{ a: 1 }],
    inside: { deep: { a: 1 } },
    free: [null],
  });
  expect(response.status).toBe(201);
  contract.check('createPage', response);
  contract.check('updatePage', await call('PATCH', `/api/pages/${response.body.data.id}`, { tree: null }));
});
