import { beforeAll, describe, expect, test } from 'vitest';
import type { Services } from '../../../src/declare/service.ts';
import {
  apiKeys,
  defineResource,
  defineUser,
  f,
  type OrganisationsApi,
  organisations,
  realtime,
  tenant,
  webhooks,
} from '../../../src/index.ts';
import { startReceiver } from '../../fakes/receiver.ts';
import { createClient, type Person, startTestApp } from '../../support/app.ts';
import { getStartupError } from '../../support/startup-error.ts';
import { ready } from '../realtime/listen.ts';

const project = defineResource('project', {
  fields: {
    organisation: tenant(),
    name: f.string(),
    budget: f.number().visibleTo('org:admin').writableBy('org:admin'),
  },
  relations: { tickets: f.reverse('ticket', 'project') },
});
const ticket = defineResource('ticket', {
  fields: {
    organisation: tenant(),
    title: f.string().required().filterable(),
    note: f.string().visibleTo('owner | org:admin').writableBy('org:admin'),
    secret: f.string().visibleTo('org:owner').writableBy('org:owner'),
    project: f.ref('project').filterable(),
    author: f.ref('user').owner(),
  },
  policies: { update: 'org:member' },
});
const { app, url, person } = await startTestApp(
  {
    resources: [defineUser(), project, ticket],
    extensions: [
      organisations({ fields: { plan: f.string().visibleTo('org:admin').writableBy('org:owner') } }),
      apiKeys(),
      webhooks({ allowPrivate: true, requireHttps: false }),
      realtime(),
    ],
    settings: { relay: { sweepMs: 50, pollMs: 50 } },
  },
  { roles: 'all' },
);
const { organisations: api } = app as typeof app & { organisations: OrganisationsApi };
const service = app.service as unknown as Services;

let owner: Person;
let admin: Person;
let member: Person;
let adminElsewhere: Person;
let team: string;
let other: string;

beforeAll(async () => {
  [owner, admin, member, adminElsewhere] = [
    await person('owner'),
    await person('admin'),
    await person('member'),
    await person('admin-elsewhere'),
  ];
  team = (await api.create({ name: 'Team', slug: 'team' }, owner.id)).id;
  other = (await api.create({ name: 'Other', slug: 'other' }, adminElsewhere.id)).id;
  await api.addMember(team, admin.id, 'admin');
  await api.addMember(team, member.id, 'member');
  // An admin of one organisation is a mere member of the other.
  await api.addMember(team, adminElsewhere.id, 'member');
  await api.addMember(other, owner.id, 'member');
});

const values = { note: 'NOTE', secret: 'SECRET' };
const within = (one: Person, organisation: string) => {
  const call = createClient(url, one.token);
  return (method: string, path: string, body?: unknown) => call(method, path, body, { 'x-organisation': organisation });
};

describe('a field with visibleTo("org:admin")', () => {
  test('is returned to the admins of the organisation of the record, and to nobody else', async () => {
    const { id } = await service('ticket').create({ ...values, title: 'read', organisation: team });
    const seen = async (by: Person) => {
      const { data } = (await by.call('GET', `/api/tickets/${id}`)).body;
      const [listed] = (await by.call('GET', '/api/tickets?title=read')).body.data;
      expect(listed).toEqual(data);
      return [data.note, data.secret];
    };
    expect(await seen(owner)).toEqual(['NOTE', 'SECRET']);
    expect(await seen(admin)).toEqual(['NOTE', undefined]);
    expect(await seen(member)).toEqual([undefined, undefined]);
    expect(await seen(adminElsewhere)).toEqual([undefined, undefined]);
  });

  test('is decided for each record of a list that contains several organisations', async () => {
    for (const organisation of [team, other])
      await service('ticket').create({ ...values, title: 'both', organisation });
    const { data } = (await adminElsewhere.call('GET', '/api/tickets?title=both')).body;
    const notes = data.map((one: { organisation: string; note?: string }) => [one.organisation === other, one.note]);
    expect(notes.sort()).toEqual([
      [false, undefined],
      [true, 'NOTE'],
    ]);
  });

  test('follows the same rule in includes, in both directions', async () => {
    const { id } = await service('project').create({ name: 'p', budget: 7, organisation: team });
    const made = await service('ticket').create({ ...values, title: 'inside', project: id, organisation: team });
    const budget = async (by: Person) =>
      (await by.call('GET', `/api/tickets/${made.id}?include=project`)).body.data.project.budget;
    const note = async (by: Person) =>
      (await by.call('GET', `/api/projects/${id}?include=tickets`)).body.data.tickets.data[0].note;
    expect([await budget(admin), await note(admin)]).toEqual([7, 'NOTE']);
    expect([await budget(member), await note(member)]).toEqual([undefined, undefined]);
  });

  test('is not part of the streams and webhooks of members without the role, also after they lost it', async () => {
    const [fallen, receiver] = [await person('fallen'), await startReceiver()];
    const membership = await api.addMember(team, fallen.id, 'admin');
    const stream = await ready(url, 'subscribe=ticket', { token: fallen.token });
    const endpoint = await fallen.call('POST', '/api/webhooks', { url: receiver.url, events: ['ticket.created'] });
    expect(endpoint.status).toBe(201);
    const create = async (title: string) =>
      (await service('ticket').create({ title, note: `NOTE ${title}`, organisation: team })).id;
    const first = await create('first');
    await stream.wait(({ data }) => JSON.stringify(data ?? '').includes(first));
    await receiver.received(1);
    expect(JSON.stringify(stream.received)).toContain('NOTE first');
    expect(receiver.requests[0]!.body).toContain('NOTE first');
    await api.changeRole(team, membership.id, 'member');
    const second = await create('second');
    await stream.wait(({ data }) => JSON.stringify(data ?? '').includes(second));
    await receiver.received(2);
    expect(JSON.stringify(stream.received)).not.toContain('NOTE second');
    expect(receiver.requests[1]!.body).toContain(second);
    expect(receiver.requests[1]!.body).not.toContain('NOTE second');
    await receiver.close();
  });
});

describe('a field with writableBy("org:admin")', () => {
  test('is set on create by an admin of the organisation of the new record, named or not', async () => {
    const refused = { note: 'You are not allowed to set this field' };
    const create = async (call: Person['call'], body: object) => {
      const { status, body: answer } = await call('POST', '/api/tickets', { title: 'new', note: 'n', ...body });
      return [status, answer.data?.note ?? answer.error.details];
    };
    expect(await create(admin.call, {})).toEqual([201, 'n']);
    expect(await create(member.call, {})).toEqual([422, refused]);
    expect(await create(adminElsewhere.call, { organisation: other })).toEqual([201, 'n']);
    expect(await create(adminElsewhere.call, { organisation: team })).toEqual([422, refused]);
    expect(await create(within(adminElsewhere, 'other') as Person['call'], {})).toEqual([201, 'n']);
    expect(await create(within(adminElsewhere, 'team') as Person['call'], {})).toEqual([422, refused]);
    const several = await create(adminElsewhere.call, {});
    expect(several[0]).toBe(422);
    expect(several[1]).toHaveProperty('organisation');
    // An organisation of which the caller is not a member is as good as none.
    expect(await create(admin.call, { organisation: other })).toEqual(
      await create(admin.call, { organisation: '0'.repeat(24) }),
    );
  });

  test('is changed by an admin of the organisation of the record, one by one and in a batch', async () => {
    const { id } = await service('ticket').create({ title: 'old', organisation: team });
    const update = async (by: Person) => (await by.call('PATCH', `/api/tickets/${id}`, { note: by.id })).status;
    expect([await update(member), await update(adminElsewhere), await update(admin)]).toEqual([422, 422, 200]);
    const batch = async (by: Person) => {
      const operations = [
        { op: 'update', id, data: { note: 'batch' } },
        { op: 'create', data: { title: 'b', note: 'batch', organisation: team } },
      ];
      const { body } = await by.call('POST', '/api/tickets/batch', { operations, mode: 'perItem' });
      return body.data.map((one: { status: number }) => one.status);
    };
    expect(await batch(member)).toEqual([422, 422]);
    expect(await batch(admin)).toEqual([200, 201]);
  });
});

test('further fields of organisations have the same rules; the creator of an organisation is its owner', async () => {
  const created = await member.call('POST', '/api/organisations', { name: 'Own', plan: 'paid' });
  expect([created.status, created.body.data.plan]).toEqual([201, 'paid']);
  const path = `/api/organisations/${team}`;
  expect((await admin.call('PATCH', path, { plan: 'x' })).body.error.details).toHaveProperty('plan');
  expect((await owner.call('PATCH', path, { plan: 'y' })).body.data.plan).toBe('y');
  expect((await admin.call('GET', path)).body.data.plan).toBe('y');
  expect((await member.call('GET', path)).body.data).not.toHaveProperty('plan');
});

test('the OpenAPI document names the role', async () => {
  const { body } = await owner.call('GET', '/api/openapi.json');
  expect(JSON.stringify(body)).toContain('org:admin');
});

describe('createApp reports once', () => {
  const errorOf = (fields: Parameters<typeof defineResource>[1]['fields'], policies = {}) =>
    getStartupError({
      resources: [
        defineUser(),
        defineResource('ticket', {
          fields: { organisation: tenant(), ...fields },
          policies,
          routes: (route) => [route.post('/:id/close', { policy: 'org:admn' }, () => undefined)],
        }),
      ],
      extensions: [organisations()],
    });

  test('an unknown role, in fields, policies and routes, with the role that was probably meant', () => {
    const error = errorOf(
      { note: f.string().visibleTo('org:admn'), text: f.string().writableBy('admin | org:boss') },
      { create: 'org:ownr', delete: 'org:membr', update: 'org:nonsense' },
    );
    const count = (text: string) => error.split(text).length - 1;
    const unknown = (role: string) => `"org:${role}" is not a role of organisations`;
    expect(count(`field "note": visibleTo: ${unknown('admn')}. Did you mean "admin"?`)).toBe(1);
    expect(count(`field "text": writableBy: ${unknown('boss')}; roles: owner, admin, member`)).toBe(1);
    expect(count(`policies.create: ${unknown('ownr')}. Did you mean "owner"?`)).toBe(1);
    expect(count(`policies.delete: ${unknown('membr')}. Did you mean "member"?`)).toBe(1);
    expect(count(`policies.update: ${unknown('nonsense')}; roles: owner, admin, member`)).toBe(1);
    expect(count(unknown('admn'))).toBe(2);
    expect(error).not.toContain('is not a policy token');
  });

  test.each(['filterable', 'sortable', 'searchable'] as const)('visibleTo("org:admin") with %s()', (modifier) => {
    const error = errorOf({ note: f.string().visibleTo('org:admin')[modifier]() });
    expect(error).toContain(`field "note": visibleTo(org:admin) and ${modifier}() cannot be combined`);
  });
});
