// References of the records of a batch, and the routes next to the batch route.
import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { newId } from '../../../src/platform/helpers/ids.ts';
import { findAssembly } from '../../../src/runtime/create-app.ts';
import { startTestApp } from '../../support/app.ts';
import { countStatements } from '../../support/database/sent-statements.ts';

const policies = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
const organisation = defineResource('organisation', { fields: { name: f.string() }, policies });
const member = defineResource('member', {
  fields: { name: f.string().filterable(), organisation: f.ref('organisation', { onDelete: 'cascade' }).filterable() },
  policies,
});
const node = defineResource('node', {
  fields: { points: f.integer().aggregatable().filterable(), parent: f.ref('node', { onDelete: 'setNull' }) },
  policies,
  routes: (route) => [route.get('/top', { policy: 'public' }, () => ({ top: true }))],
});
const { app, call } = await startTestApp({ resources: [defineUser(), organisation, member, node] });
const organisations = app.service(organisation);
const members = app.service(member);
const batch = (path: string, operations: readonly object[], mode = 'atomic') =>
  call('POST', `/api/${path}/batch`, { mode, operations });
const create = (data: object) => ({ op: 'create', data });
const UNKNOWN = 'f'.repeat(24);

test('all missing references of a batch are reported together, each at its operation, and nothing is stored', async () => {
  const { id } = await organisations.create({ name: 'a' });
  const names = [id, UNKNOWN, id, UNKNOWN];
  const operations = names.map((one) => create({ name: 'missing', organisation: one }));
  const { status, body } = await batch('members', operations);
  expect(status).toBe(422);
  expect(body.error.details).toEqual({
    'operations.1.organisation': 'No such organisation',
    'operations.3.organisation': 'No such organisation',
  });
  const each = await batch('members', operations, 'perItem');
  expect(each.body.data.map((one: { status: number }) => one.status)).toEqual([201, 422, 201, 422]);
  await expect(members.createMany([{ name: 'x', organisation: UNKNOWN }])).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    details: { '0.organisation': 'No such organisation' },
  });
});

test('references are checked with one statement, however many operations the batch has', async () => {
  const ids = await Promise.all(Array.from({ length: 5 }, async () => (await organisations.create({})).id));
  const sent = countStatements();
  const counts: number[] = [];
  for (const length of [2, 200]) {
    const operations = Array.from({ length }, (_, i) => create({ organisation: ids[i % ids.length] }));
    sent.count();
    expect((await batch('members', operations)).status).toBe(200);
    counts.push(sent.count());
  }
  expect(counts[1]).toBe(counts[0]);
});

test('deletions of a batch and deleteMany delete the records that refer to the deleted ones', async () => {
  const made = await organisations.createMany([{ name: 'gone' }, { name: 'gone' }, { name: 'gone' }]);
  await members.createMany(made.map(({ id }) => ({ name: 'dependent', organisation: id })));
  expect((await batch('organisations', [{ op: 'delete', id: made[0]!.id }])).status).toBe(200);
  expect(await members.count({ name: 'dependent' } as never)).toBe(2);
  expect(await organisations.deleteMany({ id: { in: made.map(({ id }) => id) } } as never)).toBe(2);
  expect(await members.count({ name: 'dependent' } as never)).toBe(0);
});

test('an import of a tree with its ids may refer to earlier rows, and not to later ones', async () => {
  const nodes = findAssembly(app)!.bulk.resource('node');
  const [root, child, leaf, late] = [newId(), newId(), newId(), newId()];
  const rows = [
    { id: root, values: { points: 1 } },
    { id: child, values: { points: 1, parent: root } },
    { id: leaf, values: { points: 1, parent: child } },
    { values: { points: 1, parent: late } },
    { id: late, values: { points: 1 } },
  ];
  const errors = await nodes.write(rows, {});
  expect(errors.map((error) => error?.details)).toEqual([
    undefined,
    undefined,
    undefined,
    { parent: 'No such node' },
    undefined,
  ]);
  expect(await app.service(node).read(leaf)).toMatchObject({ parent: child });
});

test('the routes for batches, aggregates, single records and custom routes exist next to each other', async () => {
  const made = await batch('nodes', [create({ points: 41 }), create({ points: 41 })]);
  expect(made.status).toBe(200);
  const aggregate = await call('GET', '/api/nodes/aggregate?count&points=41');
  expect(aggregate).toMatchObject({ status: 200, body: { data: [{ count: 2 }] } });
  expect((await call('GET', '/api/nodes/top')).body.data).toEqual({ top: true });
  expect((await call('GET', `/api/nodes/${made.body.data[0].data.id}`)).status).toBe(200);
  expect((await call('GET', '/api/nodes/batch')).status).toBe(404);
});
