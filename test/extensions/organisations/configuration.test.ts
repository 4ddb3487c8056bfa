import { describe, expect, test } from 'vitest';
import type { AnyResource } from '../../../src/declare/resource.ts';
import {
  ApiError,
  apiKeys,
  defineResource,
  defineUser,
  f,
  type OrganisationOptions,
  type OrganisationsApi,
  organisations,
  privacy,
  tenant,
} from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { getStartupError } from '../../support/startup-error.ts';

const fields = { organisation: tenant(), title: f.string() };
const errorOf = (resource: AnyResource, options: OrganisationOptions = {}) =>
  getStartupError({ resources: [defineUser(), resource], extensions: [organisations(options)] });

describe('createApp reports', () => {
  test('a role that organisations do not have, in policies and in custom routes', () => {
    const error = errorOf(
      defineResource('ticket', {
        fields,
        policies: { delete: 'org:boss', create: 'org:chief' },
        routes: (route) => [route.post('/:id/close', { policy: 'org:judge' }, () => undefined)],
      }),
    );
    for (const role of ['boss', 'chief', 'judge'])
      expect(error).toContain(`"org:${role}" is not a role of organisations; roles: owner, admin, member`);
  });

  test('a role of organisations where there is no record, and in resources without tenant()', () => {
    const route = defineResource('ticket', {
      fields,
      routes: (route) => [route.post('/sweep', { policy: 'org:admin' }, () => undefined)],
    });
    expect(errorOf(route)).toContain('a role in an organisation needs a record');
    const field = defineResource('ticket', { fields: { note: f.string().visibleTo('org:admin') } });
    expect(errorOf(field)).toContain('"org:admin" is not a policy token here');
    const other = defineResource('ticket', { fields: { title: f.string() }, policies: { delete: 'org:admin' } });
    expect(errorOf(other)).toContain(
      '"org:admin" is not a policy token here; it works only in the policies of resources with tenant()',
    );
  });

  test('resources of the project that take a name of the extension, and a second tenant field', () => {
    expect(errorOf(defineResource('organisation', { fields: { title: f.string() } }))).toContain(
      'resource "organisation": organisations() adds a resource of this name',
    );
    expect(errorOf(defineResource('ticket', { fields: { ...fields, team: tenant() } }))).toContain(
      'several fields are tenant(): organisation, team; keep one',
    );
  });

  test('tenant() without the extension, and the extension without accounts', () => {
    expect(getStartupError({ resources: [defineUser(), defineResource('ticket', { fields })] })).toContain(
      'tenant() requires the extension organisations(); add it to extensions',
    );
    expect(getStartupError({ resources: [], extensions: [organisations()] })).toContain('it needs accounts');
  });

  test.each<[OrganisationOptions, string]>([
    [{ roles: [] }, 'organisations.roles'],
    [{ roles: ['a', 'a'] }, 'must not contain a role twice'],
    [{ roles: ['a b'] }, 'is not a role'],
    [{ manageRole: 'boss' }, 'must be one of the roles: owner, admin, member'],
    [{ maxMembers: 0 }, 'organisations.maxMembers'],
    [{ fields: { slug: f.string() } }, 'every organisation has the field "slug"; rename yours'],
    [{ invitations: { url: 'nowhere' } }, 'organisations.invitations.url'],
    [{ audit: true }, 'it requires the extension audit()'],
  ])('the setting %j', (options, message) => {
    expect(errorOf(defineResource('ticket', { fields }), options)).toContain(message);
  });
});

describe('an app with roles and fields of its own', () => {
  let failures = 0;
  const ticket = defineResource('ticket', {
    fields,
    policies: { update: 'org:editor', delete: 'org:lead' },
    scope: ({ user }) => (user?.roles?.includes('support') ? undefined : { title: { ne: 'internal' } }),
    hooks: {
      beforeDelete: (record) => {
        if (record.title !== 'fragile' || ++failures > 2) return;
        throw new Error('not yet');
      },
    },
  });

  test('applies its scope, its roles and its global access together, and resumes a deletion that failed', async () => {
    const { app, person } = await startTestApp(
      {
        resources: [defineUser({ roles: ['support'] }), ticket],
        extensions: [
          organisations({
            roles: ['lead', 'editor', 'reader'],
            fields: { plan: f.enum(['free', 'paid']).default('free').readOnly() },
            globalPolicy: 'support',
          }),
          apiKeys(),
          privacy(),
        ],
        settings: { relay: { sweepMs: 50, pollMs: 50 } },
      },
      { roles: 'all' },
    );
    const { organisations: api } = app as typeof app & { organisations: OrganisationsApi };
    const [lead, editor, reader] = [await person('lead'), await person('editor'), await person('reader')];
    const support = await person('support', ['user', 'support']);
    const created = await lead.call('POST', '/api/organisations', { name: 'Acme', plan: 'paid' });
    expect(created.body.error.details).toEqual({ plan: 'Is read-only' });
    const team = (await lead.call('POST', '/api/organisations', { name: 'Acme' })).body.data;
    expect(team.plan).toBe('free');
    await api.addMember(team.id, editor.id, 'editor');
    const { role } = (await api.addMember(team.id, reader.id)) as unknown as { role: string };
    expect(role).toBe('reader');
    const { id } = (await reader.call('POST', '/api/tickets', { title: 'fragile' })).body.data;
    await app.service('ticket').create({ title: 'internal', organisation: team.id });
    expect((await reader.call('PATCH', `/api/tickets/${id}`, { title: 'x' })).status).toBe(403);
    expect((await editor.call('PATCH', `/api/tickets/${id}`, { title: 'fragile' })).status).toBe(200);
    expect((await editor.call('DELETE', `/api/tickets/${id}`)).status).toBe(403);
    expect((await reader.call('GET', '/api/tickets')).body.meta.total).toBe(1);
    expect((await support.call('GET', '/api/tickets')).body.meta.total).toBe(2);
    expect((await support.call('GET', '/api/organisations')).body.meta.total).toBe(1);
    // Only the first role manages, because there is no role admin; support manages every organisation.
    const { data } = (await support.call('GET', `/api/organisations/${team.id}/members`)).body;
    const readers = data.find((one: { role: string }) => one.role === 'reader').id;
    const change = (by: typeof lead, to: string) =>
      by.call('PATCH', `/api/organisations/${team.id}/members/${readers}`, { role: to });
    expect((await change(editor, 'editor')).status).toBe(403);
    expect((await change(support, 'lead')).status).toBe(200);
    // An owner whose erasure has begun no longer counts.
    const admin = await person('admin', ['user', 'admin']);
    expect((await admin.call('POST', `/api/admin/users/${lead.id}/erase`)).status).toBe(202);
    expect((await reader.call('POST', `/api/organisations/${team.id}/leave`)).status).toBe(409);
    await api.delete(team.id);
    await expect
      .poll(() => app.service('ticket').count({ organisation: team.id }), { timeout: 60_000, interval: 100 })
      .toBe(0);
    expect(failures).toBeGreaterThan(2);
  });
});

let scope: () => unknown = () => undefined;
const note = defineResource('note', {
  fields: { organisation: tenant(), title: f.string().required() },
  scope: () => scope() as undefined,
});
const { app, person } = await startTestApp({ resources: [defineUser(), note], extensions: [organisations()] });
const { organisations: api } = app as typeof app & { organisations: OrganisationsApi };
const member = await person('member');
const { id: organisation } = await api.create({ name: 'Acme' }, member.id);
const { id } = await app.service('note').create({ organisation, title: 'plan' });

const list = (header?: Record<string, string>) => member.call('GET', '/api/notes', undefined, header);

test('a scope of the project narrows the records of an organisation down', async () => {
  for (const [filter, total] of [
    [undefined, 1],
    [{}, 1],
    [{ title: 'plan' }, 1],
    [[{ title: 'plan' }, { title: 'other' }], 1],
    [{ title: 'other' }, 0],
    [[], 0],
  ] as const) {
    for (const value of [filter, Promise.resolve(filter)]) {
      scope = () => value;
      expect((await list()).body.meta.total).toBe(total);
    }
  }
});

test('a scope of the project that returns no filter shows no record, as without organisations', async () => {
  for (const value of [false, true, null, 0, '', new Map(), new Date(), [false], [{ title: 'plan' }, null]]) {
    for (const one of [value, Promise.resolve(value)]) {
      scope = () => one;
      const { status, body } = await list();
      expect(status).toBe(500);
      expect(body.data).toBeUndefined();
      expect((await member.call('GET', `/api/notes/${id}`)).status).toBe(500);
    }
  }
});

test('a scope of the project with an invalid comparison shows no record, also if it compares the organisation', async () => {
  const current = { 'x-organisation': organisation };
  for (const value of [{}, new Map(), app.service('note').query({ title: 'other' }, 'organisation')]) {
    for (const field of ['organisation', 'organisation.members.user', 'title']) {
      scope = () => ({ [field]: value });
      expect((await list(current)).status).toBe(500);
    }
  }
  scope = () => ({ 'organisation.members': { exists: true, role: 'member' } });
  expect((await list()).status).toBe(500);
});

test('a scope of the project that throws refuses the request, also if the request names an unknown organisation', async () => {
  const refusal = new ApiError('FORBIDDEN', 'Confirm your address first');
  for (const refuse of [() => Promise.reject(refusal), throwRefusal]) {
    scope = refuse;
    for (const header of [organisation, 'unknown']) {
      const { status } = await list({ 'x-organisation': header });
      expect([403, 404]).toContain(status);
    }
  }
  function throwRefusal(): never {
    throw refusal;
  }
  // An unhandled rejection would end the process: the runner reports one as a failure.
  scope = () => undefined;
  expect((await list()).status).toBe(200);
});
