import { beforeAll, describe, expect, test } from 'vitest';
import type { Services } from '../../../../src/declare/service.ts';
import type { Person } from '../../../support/app.ts';
import { startOrganisationApp } from '../setup.ts';

const { call: anonymous, person, organisation, addMember, within, app, api } = await startOrganisationApp();
let [ann, ben, cleo] = [] as unknown as [Person, Person, Person];
let [acme, bolt] = [] as unknown as [{ id: string; slug: string }, { id: string; slug: string }];
const UNKNOWN = 'f'.repeat(24);

beforeAll(async () => {
  [ann, ben, cleo] = [await person('ann'), await person('ben'), await person('cleo')];
  [acme, bolt] = [await organisation(ann, 'acme'), await organisation(ben, 'bolt')];
  // Cleo is a member of both.
  await addMember(acme, cleo);
  await addMember(bolt, cleo, 'admin');
});

async function create({ call }: Pick<Person, 'call'>, path: string, body: object): Promise<Record<string, string>> {
  const answer = await call('POST', path, body);
  expect(answer.body.error).toBeUndefined();
  return answer.body.data;
}

describe('a new record', () => {
  test('belongs to the only organisation of its creator', async () => {
    expect(await create(ann, '/api/tickets', { title: 'a' })).toMatchObject({ organisation: acme.id });
  });

  test('belongs to the organisation that the header or the body names, and needs one of a member of several', async () => {
    const missing = await cleo.call('POST', '/api/tickets', { title: 'c' });
    expect(missing).toMatchObject({
      status: 422,
      body: { error: { details: { organisation: expect.stringContaining('X-Organisation') } } },
    });
    expect(await create(cleo, '/api/tickets', { title: 'c', organisation: bolt.id })).toMatchObject({
      organisation: bolt.id,
    });
    for (const name of [acme.id, acme.slug])
      expect(
        await create({ call: within(cleo, name) as Person['call'] }, '/api/tickets', { title: 'c' }),
      ).toMatchObject({
        organisation: acme.id,
      });
  });

  test('cannot be created in an organisation of others, with the same error as for an unknown one', async () => {
    const [foreign, unknown] = [
      await ann.call('POST', '/api/tickets', { title: 'x', organisation: bolt.id }),
      await ann.call('POST', '/api/tickets', { title: 'x', organisation: UNKNOWN }),
    ];
    expect(foreign.status).toBe(422);
    expect(foreign.body.error.details).toEqual({ organisation: 'No such organisation' });
    expect({ ...foreign.body.error, requestId: '' }).toEqual({ ...unknown.body.error, requestId: '' });
  });

  test('needs the role that the create policy names', async () => {
    expect((await within(cleo, acme.id)('POST', '/api/invoices', { number: '1' })).status).toBe(403);
    expect((await within(cleo, bolt.id)('POST', '/api/invoices', { number: '1' })).status).toBe(201);
  });

  test('of the system needs an organisation', async () => {
    await expect(app.service('ticket').create({ title: 'x' })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    await expect(app.service('ticket').create({ title: 'x', organisation: acme.id })).resolves.toMatchObject({
      title: 'x',
    });
  });
});

describe('a record of an organisation', () => {
  test('exists only for members: lists, reads, counts, changes and deletions of others do not find it', async () => {
    const { id } = await create(ann, '/api/tickets', { title: 'only-acme' });
    expect((await ben.call('GET', '/api/tickets?title=only-acme')).body).toMatchObject({
      data: [],
      meta: { total: 0 },
    });
    for (const [method, body] of [['GET'], ['PATCH', { title: 'x' }], ['DELETE']] as const)
      expect((await ben.call(method, `/api/tickets/${id}`, body)).status, method).toBe(404);
    expect((await ben.call('POST', `/api/tickets/${id}/close`)).status).toBe(404);
    expect((await anonymous('GET', '/api/tickets')).status).toBe(401);
    expect((await cleo.call('GET', `/api/tickets/${id}`)).status).toBe(200);
  });

  test('is deleted, and used in custom routes, only by the roles that the policy names, and by more powerful ones', async () => {
    const { id } = await create(ann, '/api/tickets', { title: 'roles' });
    expect((await cleo.call('DELETE', `/api/tickets/${id}`)).status).toBe(403);
    expect((await cleo.call('POST', `/api/tickets/${id}/close`)).status).toBe(403);
    expect((await ann.call('POST', `/api/tickets/${id}/close`)).body.data).toMatchObject({ state: 'closed' });
    expect((await ann.call('DELETE', `/api/tickets/${id}`)).status).toBe(204);
  });

  test('never moves to another organisation', async () => {
    const { id } = await create(cleo, '/api/tickets', { title: 'stays', organisation: bolt.id });
    const moved = await cleo.call('PATCH', `/api/tickets/${id}`, { organisation: acme.id });
    expect(moved.body.error.details).toEqual({ organisation: 'Cannot be changed after creation' });
    await expect(app.service('ticket').update(id!, { organisation: acme.id })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    });
  });

  test('has unique values within its organisation, and a conflict names only the value', async () => {
    await create(ann, '/api/projects', { name: 'Apollo' });
    expect(await create(ben, '/api/projects', { name: 'Apollo' })).toMatchObject({ organisation: bolt.id });
    const again = await ann.call('POST', '/api/projects', { name: 'Apollo' });
    expect(again).toMatchObject({ status: 409, body: { error: { details: { name: 'Is already taken' } } } });
    expect(Object.keys(again.body.error.details)).toEqual(['name']);
  });
});

describe('references', () => {
  test('stay inside the organisation, with the same error for a record of another one and for a missing one', async () => {
    const foreign = await create(ben, '/api/projects', { name: 'Foreign' });
    const own = await create(ann, '/api/projects', { name: 'Own' });
    for (const project of [foreign.id, UNKNOWN])
      expect((await ann.call('POST', '/api/tickets', { title: 'x', project })).body.error.details).toEqual({
        project: 'No such project',
      });
    const { id } = await create(ann, '/api/tickets', { title: 'x', project: own.id });
    expect((await ann.call('PATCH', `/api/tickets/${id}`, { project: foreign.id })).body.error.details).toEqual({
      project: 'No such project',
    });
    const other = await create(ben, '/api/tickets', { title: 'b' });
    const related = await ann.call('PATCH', `/api/tickets/${id}`, { related: [id, other.id, UNKNOWN] });
    expect(related.body.error.details).toEqual({ 'related.1': 'No such ticket', 'related.2': 'No such ticket' });
    await expect(app.service('ticket').update(id!, { project: foreign.id! })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    });
  });

  test('of a member of several organisations stay inside that of the record', async () => {
    const project = await create(cleo, '/api/projects', { name: 'Cleo', organisation: bolt.id });
    const crossed = await cleo.call('POST', '/api/tickets', { title: 'x', organisation: acme.id, project: project.id });
    expect(crossed.body.error.details).toEqual({ project: 'No such project' });
  });

  test('from records outside of organisations show nothing of a record that the viewer cannot reach', async () => {
    const { id } = await create(ann, '/api/tickets', { title: 'secret' });
    await create(ben, '/api/bookmarks', { ticket: id });
    const admin = await person('boss', ['admin']);
    const mine = await ben.call('GET', '/api/bookmarks?include=ticket');
    expect(mine.body.data.filter((one: Record<string, unknown>) => one.ticket !== id)).toEqual([]);
    expect((await ben.call('GET', '/api/bookmarks?ticket.title=secret')).body.meta.total).toBe(0);
    expect((await admin.call('GET', '/api/bookmarks?ticket.title=secret')).body.meta.total).toBe(0);
  });
});

describe('the current organisation', () => {
  test('narrows lists and reads to one organisation', async () => {
    const inBolt = await create(cleo, '/api/tickets', { title: 'narrow', organisation: bolt.id });
    await create(cleo, '/api/tickets', { title: 'narrow', organisation: acme.id });
    expect((await cleo.call('GET', '/api/tickets?title=narrow')).body.meta.total).toBe(2);
    const { body } = await within(cleo, bolt.slug)('GET', '/api/tickets?title=narrow');
    expect(body.data.map((one: { id: string }) => one.id)).toEqual([inBolt.id]);
    expect((await within(cleo, acme.slug)('GET', `/api/tickets/${inBolt.id}`)).status).toBe(404);
  });

  test('is 404 alike for unknown organisations, for those of others, and for names that no organisation can have', async () => {
    const answers = [];
    for (const name of [bolt.id, bolt.slug, UNKNOWN, 'no-such-team', 'BOLT', 'b\u00f6lt', '-', 'x'.repeat(500)])
      answers.push(await within(ann, name)('GET', '/api/tickets'));
    for (const { status, body } of answers) {
      expect(status).toBe(404);
      expect(body.error).toEqual({ ...answers[0]!.body.error, requestId: body.error.requestId });
    }
  });

  test('of a session is the default of its requests, and the header takes precedence', async () => {
    const chosen = await cleo.call('POST', '/api/auth/organisation', { organisation: bolt.slug });
    expect(chosen.body.data).toEqual({ organisation: bolt.id, role: 'admin' });
    expect((await cleo.call('GET', '/api/auth/organisation')).body.data).toEqual({
      organisation: bolt.id,
      role: 'admin',
    });
    expect(await create(cleo, '/api/tickets', { title: 'default' })).toMatchObject({ organisation: bolt.id });
    expect((await within(cleo, acme.id)('GET', '/api/tickets?title=default')).body.meta.total).toBe(0);
    for (const organisation of [UNKNOWN, 'no-such-team'])
      expect((await cleo.call('POST', '/api/auth/organisation', { organisation })).status).toBe(404);
    await cleo.call('POST', '/api/auth/organisation', { organisation: null });
    expect((await cleo.call('GET', '/api/auth/organisation')).body.data).toEqual({ organisation: null, role: null });
  });

  test('cannot be that of others, by any way to choose it', async () => {
    expect((await ann.call('POST', '/api/auth/organisation', { organisation: bolt.id })).status).toBe(404);
    expect((await within(ann, bolt.id)('POST', '/api/tickets', { title: 'x' })).status).toBe(404);
  });
});

describe('an API key', () => {
  test('that is created in an organisation reaches only that organisation', async () => {
    const key = await within(cleo, acme.id)('POST', '/api/auth/api-keys', { name: 'k', scopes: ['*'] });
    expect(key.body.data.organisation).toBe(acme.id);
    const script = { token: key.body.data.key as string };
    const call = (method: string, path: string, body?: unknown) =>
      anonymous(method, path, body, { authorization: `Bearer ${script.token}` });
    const inBolt = await create(cleo, '/api/tickets', { title: 'keyed', organisation: bolt.id });
    await create(cleo, '/api/tickets', { title: 'keyed', organisation: acme.id });
    expect((await call('GET', '/api/tickets?title=keyed')).body.meta.total).toBe(1);
    expect((await call('GET', `/api/tickets/${inBolt.id}`)).status).toBe(404);
    expect((await call('POST', '/api/tickets', { title: 'x' })).body.data.organisation).toBe(acme.id);
    expect((await call('POST', '/api/tickets', { title: 'x', organisation: bolt.id })).status).toBe(422);
    expect((await within(script, bolt.id)('GET', '/api/tickets')).status).toBe(404);
    expect((await call('GET', '/api/organisations')).body.data.map(({ id }: { id: string }) => id)).toEqual([acme.id]);
    expect(
      (await call('GET', '/api/memberships')).body.data.every(
        (one: { organisation: string }) => one.organisation === acme.id,
      ),
    ).toBe(true);
    expect((await call('GET', `/api/organisations/${bolt.id}/members`)).status).toBe(404);
    expect((await call('GET', '/api/webhooks')).status).toBe(403);
  });

  test('that names its organisation by a slug keeps its id, because slugs can change hands', async () => {
    const key = await within(cleo, acme.slug)('POST', '/api/auth/api-keys', { name: 'k', scopes: ['*'] });
    expect([key.status, key.body.data.organisation]).toEqual([201, acme.id]);
  });
});

test('a removed member reaches nothing from the next request on', async () => {
  const dan = await person('dan');
  const membership = await addMember(acme, dan);
  const { id } = await create(dan, '/api/tickets', { title: 'mine' });
  const inside = within(dan, acme.id);
  expect((await inside('GET', '/api/tickets')).status).toBe(200);
  await api.removeMember(acme.id, membership);
  expect((await inside('GET', '/api/tickets')).body).not.toMatchObject({ data: [expect.anything()] });
  expect((await dan.call('GET', `/api/tickets/${id}`)).status).toBe(404);
  expect((await dan.call('POST', '/api/tickets', { title: 'x' })).status).toBe(422);
  expect((await inside('POST', '/api/tickets', { title: 'x' })).status).toBe(404);
});

test('a request that names an organisation keeps the roles, the e-mail address and all other fields of its user', async () => {
  const admin = await person('admin-within', ['user', 'admin']);
  const named = await organisation(admin);
  const call = within(admin, named.slug);
  const me = async (one: typeof admin.call) => (await one('GET', '/api/auth/me')).body.data;
  expect(await me(call)).toEqual(await me(admin.call));
  expect(await me(call)).toMatchObject({ roles: ['user', 'admin'], email: expect.stringContaining('@') });
  expect((await call('GET', '/api/admin/audit')).status).toBe(200);
});

describe('a record never moves to another organisation', () => {
  const services = app.service as unknown as Services;
  const IMMUTABLE = { code: 'VALIDATION_ERROR', details: { organisation: 'Cannot be changed after creation' } };
  const SERVICES = ['project', 'ticket', 'invoice', 'membership'] as const;

  async function createRecord(resource: (typeof SERVICES)[number]): Promise<string> {
    if (resource === 'membership')
      return (await services('membership').first({ user: ann.id, organisation: acme.id }))!.id;
    const text = `moved ${Math.random()}`;
    const values = { project: { name: text }, ticket: { title: text }, invoice: { number: text } }[resource];
    return (await services(resource).create({ organisation: acme.id, ...values })).id;
  }

  test.each(SERVICES)(
    'by code that updates a record of %s, one or many, alone or in a transaction',
    async (resource) => {
      const id = await createRecord(resource);
      const service = services(resource);
      for (const organisation of [bolt.id, null]) {
        const refused = organisation === null ? { code: 'VALIDATION_ERROR' } : IMMUTABLE;
        await expect(service.update(id, { organisation })).rejects.toMatchObject(refused);
        await expect(
          app.transaction((tx) => (tx.service as Services)(resource).update(id, { organisation })),
        ).rejects.toMatchObject(refused);
        await expect(service.updateMany({ id }, { organisation })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
      }
      expect(await service.read(id)).toMatchObject({ organisation: acme.id });
    },
  );

  test('by an upsert, which works within the organisation that it names', async () => {
    const number = `upsert ${Math.random()}`;
    const { id } = await services('invoice').create({ organisation: acme.id, number });
    const other = await services('invoice').upsert('number', { organisation: bolt.id, number });
    expect([other.id === id, other.organisation]).toEqual([false, bolt.id]);
    expect(await services('invoice').read(id)).toMatchObject({ organisation: acme.id });
  });

  test('but code may name its organisation again', async () => {
    const id = await createRecord('invoice');
    const updated = await services('invoice').update(id, { organisation: acme.id, number: `again ${id}` });
    expect(updated).toMatchObject({ organisation: acme.id, number: `again ${id}` });
    await services('invoice').updateMany({ id }, { organisation: acme.id });
  });
});
