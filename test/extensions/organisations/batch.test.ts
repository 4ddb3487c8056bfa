import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Person } from '../../support/app.ts';
import { runCommand } from '../../support/processes/in-process.ts';
import { startOrganisationApp } from './setup.ts';

const { person, organisation, addMember, within, app } = await startOrganisationApp();
let [ann, ben, cleo] = [] as unknown as [Person, Person, Person];
let [acme, bolt] = [] as unknown as [{ id: string; slug: string }, { id: string; slug: string }];
const UNKNOWN = 'f'.repeat(24);
const folder = mkdtempSync(join(tmpdir(), 'belfry-tenants-'));
afterAll(() => rmSync(folder, { recursive: true }));

beforeAll(async () => {
  [ann, ben, cleo] = [await person('ann'), await person('ben'), await person('cleo')];
  [acme, bolt] = [await organisation(ann, 'acme'), await organisation(ben, 'bolt')];
  // Cleo is a member of both.
  await addMember(acme, cleo);
  await addMember(bolt, cleo, 'admin');
});

type Call = (method: string, path: string, body?: unknown) => ReturnType<Person['call']>;

const batch = (call: Call, path: string, operations: readonly object[], mode = 'atomic') =>
  call('POST', `/api/${path}/batch`, { mode, operations });
const create = (data: object) => ({ op: 'create', data });
const upsert = (by: string, data: object) => ({ op: 'upsert', by, data });

async function createOne(call: Call, path: string, data: object) {
  const { status, body } = await call('POST', `/api/${path}`, data);
  expect(status).toBe(201);
  return body.data as Record<string, string>;
}

describe('a batch', () => {
  test.each(['atomic', 'perItem'])('creates records in the organisation of the caller (%s)', async (mode) => {
    const own = await batch(ann.call, 'tickets', [create({ title: 'a' }), create({ title: 'b' })], mode);
    expect(own.body.data.map(({ data }: { data: object }) => data)).toMatchObject([
      { organisation: acme.id },
      { organisation: acme.id },
    ]);
    const chosen = await batch(within(cleo, bolt.slug), 'tickets', [create({ title: 'a' })], mode);
    expect(chosen.body.data[0]).toMatchObject({ status: 201, data: { organisation: bolt.id } });
  });

  test('refuses what the single routes refuse, with the same message', async () => {
    const hidden = await createOne(ben.call, 'projects', { name: 'hidden' });
    const { id } = await createOne(ann.call, 'tickets', { title: 'own' });
    const foreign = await createOne(ben.call, 'tickets', { title: 'foreign' });
    const cases: [Call, string, object, { status: number; details?: object }][] = [
      [cleo.call, 'tickets', create({ title: 'c' }), { status: 422 }],
      [
        ann.call,
        'tickets',
        create({ title: 'x', organisation: bolt.id }),
        { status: 422, details: { organisation: 'No such organisation' } },
      ],
      [
        ann.call,
        'tickets',
        create({ title: 'x', project: hidden.id }),
        { status: 422, details: { project: 'No such project' } },
      ],
      [within(cleo, acme.id), 'invoices', create({ number: '1' }), { status: 403 }],
      [
        ann.call,
        'tickets',
        { op: 'update', id, data: { organisation: bolt.id } },
        { status: 422, details: { organisation: 'Cannot be changed after creation' } },
      ],
      [
        ann.call,
        'tickets',
        { op: 'update', id, data: { project: hidden.id } },
        { status: 422, details: { project: 'No such project' } },
      ],
      [ann.call, 'tickets', { op: 'update', id: foreign.id, data: { title: 'x' } }, { status: 404 }],
      [ann.call, 'tickets', { op: 'delete', id: foreign.id }, { status: 404 }],
    ];
    for (const [call, path, operation, { status, details }] of cases) {
      const { op, id, data } = operation as { op: string; id?: string; data?: object };
      const single = await call(
        { create: 'POST', update: 'PATCH', delete: 'DELETE' }[op]!,
        id === undefined ? `/api/${path}` : `/api/${path}/${id}`,
        data,
      );
      expect(single.status, JSON.stringify(operation)).toBe(status);
      if (details !== undefined) expect(single.body.error.details).toEqual(details);
      const { code, message, details: own } = single.body.error;
      const each = await batch(call, path, [operation], 'perItem');
      expect(each.body.data).toEqual([{ status, error: { code, message, ...(own && { details: own }) } }]);
      const all = await batch(call, path, [operation]);
      expect(all).toMatchObject({ status, body: { error: { code, message } } });
      if (own !== undefined)
        expect(all.body.error.details).toEqual(
          Object.fromEntries(Object.entries(own).map(([name, text]) => [`operations.0.${name}`, text])),
        );
    }
  });

  test('keeps unique values unique within the organisation only', async () => {
    const operations = [create({ title: 'u', code: 'U1' })];
    for (const { call } of [ann, ben]) expect((await batch(call, 'tickets', operations)).status).toBe(200);
    const again = await batch(ann.call, 'tickets', operations);
    expect(again).toMatchObject({
      status: 409,
      body: { error: { details: { 'operations.0.code': 'Is already taken' } } },
    });
  });
});

describe('an upsert by a field that is unique within organisations', () => {
  test('never finds the record of another organisation', async () => {
    const one = await batch(ann.call, 'projects', [upsert('name', { name: 'shared' })]);
    const other = await batch(ben.call, 'projects', [upsert('name', { name: 'shared' })]);
    expect([one, other].map(({ body }) => body.data[0].status)).toEqual([201, 201]);
    const [ofAcme, ofBolt] = [one.body.data[0].data, other.body.data[0].data];
    expect([ofAcme.organisation, ofBolt.organisation]).toEqual([acme.id, bolt.id]);
    const again = await batch(ann.call, 'projects', [upsert('name', { name: 'shared', organisation: acme.id })]);
    expect(again.body.data[0]).toMatchObject({ status: 200, data: { id: ofAcme.id } });
    // A member of both gets the record of the organisation that the request chooses.
    const chosen = await batch(within(cleo, bolt.id), 'projects', [upsert('name', { name: 'shared' })]);
    expect(chosen.body.data[0]).toMatchObject({ status: 200, data: { id: ofBolt.id } });
    const named = await batch(cleo.call, 'projects', [upsert('name', { name: 'shared', organisation: acme.id })]);
    expect(named.body.data[0]).toMatchObject({ status: 200, data: { id: ofAcme.id } });
  });

  test('has the same error whether another organisation has the value or not', async () => {
    await createOne(ann.call, 'projects', { name: 'secret' });
    for (const target of [acme.id, UNKNOWN]) {
      for (const name of ['secret', 'unused']) {
        const { status, body } = await batch(ben.call, 'projects', [upsert('name', { name, organisation: target })]);
        expect(status).toBe(422);
        expect(body.error.details).toEqual({ 'operations.0.organisation': 'No such organisation' });
      }
    }
    // The organisation must be known even if only one of the caller's organisations has the value.
    for (const name of ['secret', 'unused']) {
      const { status, body } = await batch(cleo.call, 'projects', [upsert('name', { name })]);
      expect(status).toBe(422);
      expect(body.error.details['operations.0.organisation']).toContain('X-Organisation');
    }
  });

  test('makes one record of many requests at the same time', async () => {
    const requests = Array.from({ length: 20 }, (_, i) =>
      batch((i % 2 === 0 ? ann : ben).call, 'projects', [upsert('name', { name: 'raced' })]),
    );
    const ids = (await Promise.all(requests)).map(({ body }) => body.data[0].data.id);
    expect(new Set(ids).size).toBe(2);
  });
});

describe('services and imports', () => {
  test('createMany, updateMany and upsert of a user stay inside the organisations of the user', async () => {
    const tickets = app.service('ticket');
    const as = (who: Person) => ({ user: { id: who.id, roles: ['user'] } as never });
    const [made] = await tickets.createMany([{ title: 'many' }], as(ann));
    expect(made).toMatchObject({ organisation: acme.id });
    await tickets.createMany([{ title: 'many' }], as(ben));
    expect(await tickets.updateMany({ title: 'many' }, { state: 'closed' }, as(ben))).toBe(1);
    expect(await tickets.read(made!.id as string)).toMatchObject({ state: 'open' });
    await expect(tickets.createMany([{ title: 'x', organisation: bolt.id }], as(ann))).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { '0.organisation': 'No such organisation' },
    });
    await expect(tickets.updateMany({ title: 'many' }, { organisation: acme.id }, as(ben))).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    });
    const projects = app.service('project');
    await expect(projects.upsert('name', { name: 'system' })).rejects.toMatchObject({
      details: { organisation: 'Is required' },
    });
    const one = await projects.upsert('name', { name: 'system', organisation: acme.id });
    const other = await projects.upsert('name', { name: 'system', organisation: bolt.id });
    expect(other.id).not.toBe(one.id);
    expect((await projects.upsert('name', { name: 'system', organisation: acme.id })).id).toBe(one.id);
  });

  test('an import places records in the organisation of each row, or of the user', async () => {
    const file = join(folder, 'projects.csv');
    writeFileSync(file, `name,organisation\nimported,${acme.id}\nimported,${bolt.id}\nnowhere,\n`);
    const words = ['import', 'project', file, '--upsert-by', 'name', '--rejects', join(folder, 'rejects.csv')];
    const first = await runCommand(words, app);
    expect(first.output).toContain('3 rows: 2 imported, 1 rejected');
    await runCommand(words, app);
    expect(await app.service('project').count({ name: 'imported' })).toBe(2);
    const own = join(folder, 'own.csv');
    writeFileSync(own, 'name\nimported\nnew\n');
    await runCommand(['import', 'project', own, '--upsert-by', 'name', '--user', ben.id], app);
    const { data } = await app.service('project').list({ name: { in: ['imported', 'new'] }, sort: 'name' });
    expect(data.map(({ name, organisation: owner }) => [name, owner]).sort()).toEqual(
      [
        ['imported', acme.id],
        ['imported', bolt.id],
        ['new', bolt.id],
      ].sort(),
    );
  });
});
