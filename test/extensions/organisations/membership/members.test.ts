import { beforeEach, describe, expect, test } from 'vitest';
import type { Services } from '../../../../src/declare/service.ts';
import { createClient, type Person } from '../../../support/app.ts';
import { startOrganisationApp } from '../setup.ts';

const {
  app,
  api,
  url,
  call: anonymous,
  person,
  organisation,
  addMember,
  within,
} = await startOrganisationApp({
  maxOrganisationsPerUser: 5,
  maxMembers: 1002,
});
const service = app.service as unknown as Services;
const UNKNOWN = 'f'.repeat(24);
type Organisation = { id: string; slug: string };
let [owner, admin, member, outsider] = [] as unknown as [Person, Person, Person, Person];
let team: Organisation;
const memberships: Record<string, string> = {};

beforeEach(async () => {
  [owner, admin, member, outsider] = [
    await person('owner'),
    await person('admin'),
    await person('member'),
    await person('outsider'),
  ];
  team = await organisation(owner);
  memberships.admin = await addMember(team, admin, 'admin');
  memberships.member = await addMember(team, member);
  const { body } = await owner.call('GET', `/api/organisations/${team.id}/members?role=owner`);
  memberships.owner = body.data[0].id;
});

const path = (rest = '') => `/api/organisations/${team.id}${rest}`;
const roleOf = async (id: string) => (await service('membership').read(id)).role;

describe('an organisation', () => {
  test('has its creator as owner, and is listed, read and found only by its members', async () => {
    const created = await member.call('POST', '/api/organisations', { name: 'Müller & Söhne' });
    expect(created.body.data.slug).toMatch(/^mu-ller-so-hne-[0-9a-f]{6}$|^muller-sohne-[0-9a-f]{6}$/);
    expect((await member.call('GET', '/api/organisations')).body.meta.total).toBe(2);
    expect((await outsider.call('GET', '/api/organisations')).body).toMatchObject({ data: [], meta: { total: 0 } });
    expect((await outsider.call('GET', '/api/organisations?q=team')).body.meta.total).toBe(0);
    expect((await outsider.call('GET', path())).status).toBe(404);
    expect((await anonymous('GET', path())).status).toBe(401);
  });

  test.each([
    ['a reserved slug', 'admin'],
    ['a homoglyph', 'аcme'],
    ['an id', 'a'.repeat(24)],
    ['two hyphens in a row', 'a--b'],
    ['a space', 'a b'],
    ['a zero-width character', 'ac\u200bme'],
    ['a character that Postgres cannot store', 'ac\u0000me'],
    ['too many characters', 'a'.repeat(49)],
  ])('cannot have %s as its slug', async (_, slug) => {
    const { status, body } = await owner.call('POST', '/api/organisations', { name: 'x', slug });
    expect(status).toBe(422);
    expect(Object.keys(body.error.details)).toEqual(['slug']);
  });

  test('cannot have the slug of another one, in any case of letters', async () => {
    const { status, body } = await outsider.call('POST', '/api/organisations', {
      name: 'x',
      slug: team.slug.toUpperCase(),
    });
    expect(status).toBe(409);
    expect(body.error.details).toEqual({ slug: 'Is already taken' });
  });

  test('is changed by managers only, and only in the fields that clients may set', async () => {
    expect((await admin.call('PATCH', path(), { name: 'New' })).body.data.name).toBe('New');
    expect((await member.call('PATCH', path(), { name: 'x' })).status).toBe(403);
    expect((await outsider.call('PATCH', path(), { name: 'x' })).status).toBe(404);
    expect((await owner.call('PATCH', path(), { members: [] })).status).toBe(422);
    expect((await owner.call('POST', '/api/organisations', { name: 'x', role: 'owner' })).status).toBe(422);
  });

  test('counts for each user, however many are created at the same time', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => outsider.call('POST', '/api/organisations', { name: 'x' })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
    expect(answers.filter(({ body }) => body.error?.code === 'LIMIT_REACHED')).toHaveLength(3);
    expect((await outsider.call('GET', '/api/organisations')).body.meta.total).toBe(5);
  });
});

describe('every route of an organisation', () => {
  test.each([
    ['GET', '', undefined],
    ['PATCH', '', { name: 'x' }],
    ['DELETE', '', undefined],
    ['GET', '/members', undefined],
    ['PATCH', '/members/:membership', { role: 'owner' }],
    ['DELETE', '/members/:membership', undefined],
    ['POST', '/leave', undefined],
    ['GET', '/invitations', undefined],
    ['POST', '/invitations', { email: 'x@example.com' }],
    ['POST', '/invitations/:invitation/resend', undefined],
    ['DELETE', '/invitations/:invitation', undefined],
  ] as const)('%s %s is 404 for strangers, the same as for an unknown organisation', async (method, rest, body) => {
    const invitation = await owner.call('POST', path('/invitations'), { email: `guest-${team.slug}@example.com` });
    const tail = rest.replace(':membership', memberships.member!).replace(':invitation', invitation.body.data.id);
    const foreign = await outsider.call(method, path(tail), body);
    const unknown = await outsider.call(method, `/api/organisations/${UNKNOWN}${tail}`, body);
    expect(foreign.status).toBe(404);
    expect({ ...foreign.body.error, requestId: '' }).toEqual({ ...unknown.body.error, requestId: '' });
    // A member of another organisation cannot reach it through that one either.
    const own = await organisation(outsider);
    if (tail.length > 15)
      expect((await outsider.call(method, `/api/organisations/${own.id}${tail}`, body)).status).toBe(404);
  });

  test('takes the id or the slug in its path, whatever the current organisation is', async () => {
    const other = await organisation(owner);
    const { body } = await within(owner, other.id)('GET', `/api/organisations/${team.slug}/members?limit=2`);
    expect(body.data).toHaveLength(2);
    expect(body.meta).toMatchObject({ total: 3, limit: 2 });
    expect(body.data[0].user).toMatchObject({ name: 'member' });
    expect(body.data[0].user.email).toBeUndefined();
  });

  test('lists members only by roles that exist', async () => {
    for (const role of ['boss', '', '%00', '__proto__', 'a,b']) {
      const { status, body } = await owner.call('GET', path(`/members?role=${role}`));
      expect(status).toBe(400);
      expect(JSON.stringify(body.error)).toContain('Must be one of: owner, admin, member');
    }
  });
});

describe('roles', () => {
  test('are given and taken only by managers, up to their own', async () => {
    const change = (by: Person, who: string, role: string) =>
      by.call('PATCH', path(`/members/${memberships[who]}`), { role });
    expect((await change(member, 'member', 'admin')).status).toBe(403);
    expect((await change(admin, 'admin', 'owner')).status).toBe(403);
    expect((await change(admin, 'member', 'owner')).status).toBe(403);
    expect((await change(admin, 'owner', 'member')).status).toBe(403);
    expect((await change(admin, 'member', 'admin')).body.data.role).toBe('admin');
    expect((await change(owner, 'member', 'owner')).body.data.role).toBe('owner');
    expect((await change(owner, 'member', 'boss')).body.error.details.role).toContain('owner, admin, member');
    expect((await admin.call('DELETE', path(`/members/${memberships.owner}`))).status).toBe(403);
    expect(
      (await owner.call('PATCH', path(`/members/${memberships.member}`), { role: 'member', user: outsider.id })).status,
    ).toBe(422);
  });

  test('cannot be written through the resource of memberships', async () => {
    expect((await owner.call('POST', '/api/memberships', { organisation: team.id, role: 'owner' })).status).toBe(405);
    expect((await owner.call('PATCH', `/api/memberships/${memberships.member}`, { role: 'owner' })).status).toBe(405);
    expect((await outsider.call('GET', `/api/memberships/${memberships.member}`)).status).toBe(404);
    expect((await outsider.call('GET', `/api/memberships?organisation=${team.id}`)).body.meta.total).toBe(0);
  });

  test('always leave an owner, however many owners leave, are removed and are demoted at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      const people = await Promise.all(['a', 'b', 'c'].map((name) => person(name)));
      const first = await organisation(people[0]!);
      const ids = [
        (await people[0]!.call('GET', `/api/organisations/${first.id}/members`)).body.data[0].id as string,
        await addMember(first, people[1]!, 'owner'),
        await addMember(first, people[2]!, 'owner'),
      ];
      const base = `/api/organisations/${first.id}`;
      const answers = await Promise.all([
        people[0]!.call('POST', `${base}/leave`),
        people[1]!.call('DELETE', `${base}/members/${ids[2]}`),
        people[2]!.call('PATCH', `${base}/members/${ids[1]}`, { role: 'member' }),
        people[1]!.call('POST', `${base}/leave`),
        people[2]!.call('POST', `${base}/leave`),
      ]);
      expect(answers.every(({ status }) => [200, 204, 403, 404, 409].includes(status))).toBe(true);
      const owners = await service('membership').count({ organisation: first.id, role: 'owner' });
      expect(owners).toBeGreaterThanOrEqual(1);
    }
  });

  test('of the last owner stay, with an error that says what to do', async () => {
    for (const answer of [
      await owner.call('POST', path('/leave')),
      await owner.call('DELETE', path(`/members/${memberships.owner}`)),
      await owner.call('PATCH', path(`/members/${memberships.owner}`), { role: 'member' }),
    ]) {
      expect(answer.status).toBe(409);
      expect(answer.body.error.message).toBe(
        'This is the last owner of the organisation; make another member an owner first',
      );
    }
    expect(await roleOf(memberships.owner!)).toBe('owner');
  });
});

describe('members', () => {
  test('leave by themselves, and managers remove them', async () => {
    expect((await member.call('POST', path('/leave'))).status).toBe(204);
    expect((await member.call('GET', path())).status).toBe(404);
    expect((await admin.call('DELETE', path(`/members/${memberships.admin}`))).status).toBe(204);
    expect((await admin.call('GET', path())).status).toBe(404);
  });

  test('can be a thousand: lists, limits and checks work', async () => {
    const users = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        app
          .service('user')
          .create({ name: `m${i}`, email: `m${i}-${team.slug}@example.com`, password: 'correct horse battery' }),
      ),
    );
    for (const { id } of users) await api.addMember(team.id, id);
    const { body } = await owner.call('GET', path('/members?limit=100'));
    expect(body.meta.total).toBe(43);
    expect(body.data).toHaveLength(43);
  });

  test('are added once, however many requests add the same user', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => api.addMember(team.id, outsider.id)));
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
  });
});

describe('a user who is the last owner', () => {
  test('cannot be erased or deleted, with an error that names the organisations', async () => {
    const boss = await person('boss', ['admin']);
    const erased = await owner.call('POST', '/api/auth/me/erase', { password: 'correct horse battery' });
    expect(erased.status).toBe(409);
    expect(erased.body.error.message).toContain(team.slug);
    expect((await boss.call('POST', `/api/admin/users/${owner.id}/erase`)).status).toBe(409);
    expect((await boss.call('DELETE', `/api/users/${owner.id}`)).status).toBe(409);
    expect((await owner.call('GET', path())).status).toBe(200);
    // With a second owner, it works, and the membership is gone.
    await owner.call('PATCH', path(`/members/${memberships.admin}`), { role: 'owner' });
    expect((await boss.call('DELETE', `/api/users/${owner.id}`)).status).toBe(204);
    expect((await admin.call('GET', path('/members'))).body.meta.total).toBe(2);
    expect((await boss.call('DELETE', `/api/users/${admin.id}`)).status).toBe(409);
  });
});

test('a session of another user is not affected by the choice of a session', async () => {
  await member.call('POST', '/api/auth/organisation', { organisation: team.id });
  const { body } = await anonymous('POST', '/api/auth/login', {
    email: member.email,
    password: 'correct horse battery',
  });
  const second = createClient(url, body.data.token);
  expect((await second('GET', '/api/auth/organisation')).body.data).toEqual({ organisation: null, role: null });
  expect((await member.call('GET', '/api/auth/organisation')).body.data.organisation).toBe(team.id);
});
