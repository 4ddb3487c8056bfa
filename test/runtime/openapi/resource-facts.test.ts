import { expect, test } from 'vitest';
import { createApp, defineResource, defineUser, f, organisations, softDelete, tenant } from '../../../src/index.ts';
import { findAssembly } from '../../../src/runtime/create-app.ts';

const ENVIRONMENT = { DATABASE_URL: 'postgres://none', REDIS_URL: 'redis://none', NODE_ENV: 'test' };

const tag = defineResource('product-tag', {
  fields: {
    organisation: tenant(),
    name: f.string().required().unique().filterable(['eq', 'in']).sortable(),
    note: f.string().visibleTo('admin').filterable(),
    code: f.string().hidden(),
    weight: f.number().aggregatable(),
    parent: f.ref('product-tag').populate().index(),
    secretParent: f.ref('product-tag').hidden(),
  },
  relations: { parts: f.reverse('product-tag', 'parent') },
  aggregates: { minGroupSize: 5, timestamps: ['createdAt'] },
  softDelete: true,
  routes: (route) => [
    route.post('/:id/merge', { hidden: false }, () => undefined),
    route.get('/', { hidden: true }, () => undefined),
  ],
});
const internal = defineResource('internal', { fields: { a: f.string() }, crud: false });
const log = defineResource('log-line', { fields: { text: f.string().required() }, crud: ['list'], timestamps: false });

const app = createApp(
  { resources: [defineUser(), tag, internal, log], extensions: [organisations(), softDelete()] },
  ENVIRONMENT,
);
const document = findAssembly(app)!.createOpenApiDocument();
const facts = new Map((document['x-resources'] as { name: string }[]).map((one) => [one.name, one]));

test('the OpenAPI document says what clients can do with a resource, without hidden fields and routes', () => {
  expect(facts.get('product-tag')).toEqual({
    name: 'product-tag',
    path: '/product-tags',
    schemas: { record: 'ProductTag', create: 'ProductTagCreate', update: 'ProductTagUpdate' },
    actions: ['list', 'read', 'create', 'update', 'delete', 'restore', 'batch', 'aggregate'],
    always: ['id', 'organisation', 'name', 'createdAt', 'updatedAt'],
    filters: {
      organisation: ['eq', 'ne', 'in', 'nin', 'exists'],
      name: ['eq', 'in'],
      note: ['eq', 'ne', 'in', 'nin', 'exists'],
    },
    sort: ['name', 'createdAt', 'updatedAt'],
    search: false,
    references: { organisation: 'organisation', parent: 'product-tag' },
    relations: { parts: 'product-tag' },
    populated: ['parent'],
    unique: ['name'],
    files: [],
    aggregates: { group: ['weight'], buckets: ['createdAt'], numbers: ['weight'], ordered: [] },
    routes: ['POST /:id/merge'],
  });
});

test('a resource without routes is not in the document, and one with few has only these', () => {
  expect(facts.has('internal')).toBe(false);
  expect(facts.get('log-line')).toMatchObject({
    schemas: { record: 'LogLine' },
    actions: ['list'],
    always: ['id', 'text'],
  });
  const { schemas } = document.components as { schemas: object };
  expect(Object.keys(schemas)).not.toContain('LogLineCreate');
});
