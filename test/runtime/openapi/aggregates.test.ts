// The document describes aggregates as the server computes them.
import { expect, test } from 'vitest';
import { defineResource, defineUser, f, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { type Json, readContract } from './contract.ts';
import { faultsOf } from './validators.ts';

const workItem = defineResource('work-item', {
  fields: {
    status: f.enum(['open', 'closed']).filterable().aggregatable(),
    done: f.boolean().aggregatable(),
    hours: f.number().aggregatable(),
    price: f.decimal().aggregatable().visibleTo('admin'),
    dueAt: f.date().aggregatable().deprecated({ since: '2026-11-01' }),
    count: f.integer().filterable(),
    note: f.text().searchable(),
  },
  policies: { list: 'public' },
  aggregates: { timestamps: ['createdAt'] },
  softDelete: true,
});
const survey = defineResource('survey', {
  fields: { team: f.string().aggregatable(), salary: f.integer().aggregatable() },
  policies: { list: 'public' },
  aggregates: { minGroupSize: 5 },
});
const closed = defineResource('closed', { fields: { name: f.string() }, policies: { list: 'public' } });
const { app, call, url, person } = await startTestApp({
  resources: [defineUser(), workItem, survey, closed],
  extensions: [softDelete()],
});
const contract = await readContract(url);
const { call: asAdmin } = await person('Ada', ['admin']);
await app.service(workItem).create({ status: 'open', done: true, hours: 1.5, price: '0.1', dueAt: '2026-11-24' });
await app.service(workItem).create({});

const parametersOf = (id: string) =>
  new Map<string, Json>(contract.operations.get(id)!.spec.parameters.map((one: Json) => [one.name, one]));

test('the document is valid and contains an operation for each resource that opens aggregates', async () => {
  expect(await faultsOf(contract.document)).toEqual([]);
  const ids = [...contract.operations.keys()].filter((id) => id.startsWith('aggregate'));
  expect(ids).toEqual(['aggregateWorkItems', 'aggregateSurveys']);
  expect(contract.operations.get('aggregateWorkItems')!.path).toBe('/api/work-items/aggregate');
});

test('the parameters list the allowed values', () => {
  const parameters = parametersOf('aggregateWorkItems');
  expect(parameters.get('sum')!.schema.items.enum).toEqual(['hours', 'price']);
  expect(parameters.get('min')!.schema.items.enum).toEqual(['hours', 'price', 'dueAt', 'createdAt']);
  expect(parameters.get('group')!.schema.items.enum).toContain('month(createdAt)');
  expect([...parameters.keys()]).toEqual(
    expect.arrayContaining(['status', 'status[in]', 'count[gte]', 'q', 'deleted']),
  );
  expect(parameters.get('count')!.schema).toEqual({ type: 'boolean', const: true });
  expect([...parameters.keys()]).not.toContain('page');
  expect([...parametersOf('aggregateSurveys').keys()]).not.toContain('max');
});

test.each([
  '',
  'group=status&count=true',
  'group=status,done,month(createdAt)&sum=hours,price&avg=hours,price&countDistinct=dueAt&sort=-sum(hours)',
  'group=hour(dueAt),price&min=createdAt,dueAt,hours&max=price',
])('the response to ?%s is as documented', async (query) => {
  for (const as of [call, asAdmin]) {
    const response = await as('GET', `/api/work-items/aggregate?${query}`);
    expect(response.status).toBe(200);
    contract.check('aggregateWorkItems', response);
  }
});

test('errors and a minimum group size are documented', async () => {
  const refused = await call('GET', '/api/work-items/aggregate?group=note');
  expect(refused.status).toBe(400);
  contract.check('aggregateWorkItems', refused);
  contract.check('aggregateSurveys', await call('GET', '/api/surveys/aggregate?countDistinct=team&sum=salary'));
});

test('a query that names a deprecated field is announced', async () => {
  const deprecationOf = async (query: string) =>
    (await call('GET', `/api/work-items/aggregate?${query}`)).headers.get('deprecation');
  expect(await deprecationOf('group=status')).toBeNull();
  expect(await deprecationOf('group=month(dueAt)')).toMatch(/^@\d+$/);
  expect(await deprecationOf('max=hours,dueAt')).toMatch(/^@\d+$/);
});
