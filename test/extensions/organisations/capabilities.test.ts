import { beforeAll, expect, test } from 'vitest';
import type { Services } from '../../../src/declare/service.ts';
import { createClient, type Person } from '../../support/app.ts';
import { startOrganisationApp } from './setup.ts';

const { app, api, url, person, organisation, addMember } = await startOrganisationApp();
const service = app.service as unknown as Services;
type Caller = 'member' | 'admin' | 'owner' | 'key';
const callers = {} as Record<Caller, Person['call']>;
let team: { id: string; slug: string };

beforeAll(async () => {
  const [owner, admin, member] = [await person('owner'), await person('admin'), await person('member')];
  team = await organisation(owner);
  await addMember(team, admin, 'admin');
  await addMember(team, member);
  const { body } = await owner.call('POST', '/api/auth/api-keys', { name: 'k', scopes: ['*'] });
  Object.assign(callers, {
    owner: owner.call,
    admin: admin.call,
    member: member.call,
    key: createClient(url, body.data.key),
  });
});

/** What a test prepares: the ids of its own records. */
interface Prepared {
  team: string;
  project: string;
  ticket: string;
  membership: string;
  email: string;
}

async function prepare(): Promise<Prepared> {
  const other = await person('other');
  const project = await service('project').create({ name: other.id, organisation: team.id });
  const ticket = await service('ticket').create({ title: 't', author: other.id, organisation: team.id });
  const membership = await addMember(team, other);
  return { team: team.id, project: project.id, ticket: ticket.id, membership, email: `${other.id}@example.com` };
}

// The lines of the table in docs/users/organisations.md. The key acts for the owner, with the scope *.
test.each<[string, string, (at: Prepared) => string, ((at: Prepared) => unknown) | undefined, Record<Caller, number>]>([
  [
    'see the organisation',
    'GET',
    (at) => `/organisations/${at.team}`,
    undefined,
    { member: 200, admin: 200, owner: 200, key: 200 },
  ],
  [
    'see the members',
    'GET',
    (at) => `/organisations/${at.team}/members`,
    undefined,
    { member: 200, admin: 200, owner: 200, key: 200 },
  ],
  [
    'see a record',
    'GET',
    (at) => `/tickets/${at.ticket}`,
    undefined,
    { member: 200, admin: 200, owner: 200, key: 200 },
  ],
  [
    'create a record',
    'POST',
    () => '/tickets',
    (at) => ({ title: 'x', organisation: at.team }),
    { member: 201, admin: 201, owner: 201, key: 201 },
  ],
  [
    'change a record without an owner field',
    'PATCH',
    (at) => `/projects/${at.project}`,
    (at) => ({ watchers: [at.membership] }),
    { member: 200, admin: 200, owner: 200, key: 200 },
  ],
  [
    'delete a record without an owner field',
    'DELETE',
    (at) => `/projects/${at.project}`,
    undefined,
    { member: 204, admin: 204, owner: 204, key: 204 },
  ],
  [
    'change the organisation',
    'PATCH',
    (at) => `/organisations/${at.team}`,
    () => ({ name: 'Renamed' }),
    { member: 403, admin: 200, owner: 200, key: 200 },
  ],
  [
    'give the role admin',
    'PATCH',
    (at) => `/organisations/${at.team}/members/${at.membership}`,
    () => ({ role: 'admin' }),
    { member: 403, admin: 200, owner: 200, key: 200 },
  ],
  [
    'give the role owner',
    'PATCH',
    (at) => `/organisations/${at.team}/members/${at.membership}`,
    () => ({ role: 'owner' }),
    { member: 403, admin: 403, owner: 200, key: 200 },
  ],
  [
    'remove a member',
    'DELETE',
    (at) => `/organisations/${at.team}/members/${at.membership}`,
    undefined,
    { member: 403, admin: 204, owner: 204, key: 204 },
  ],
  [
    'invite',
    'POST',
    (at) => `/organisations/${at.team}/invitations`,
    (at) => ({ email: at.email }),
    { member: 403, admin: 201, owner: 201, key: 403 },
  ],
  [
    'move a record',
    'PATCH',
    (at) => `/projects/${at.project}`,
    () => ({ organisation: 'f'.repeat(24) }),
    { member: 422, admin: 422, owner: 422, key: 422 },
  ],
])('each caller can do what the documentation says: %s', async (_action, method, path, bodyOf, expected) => {
  for (const caller of ['member', 'admin', 'owner', 'key'] as const) {
    const at = await prepare();
    const { status } = await callers[caller](method, `/api${path(at)}`, bodyOf?.(at));
    expect([caller, status]).toEqual([caller, expected[caller]]);
  }
});

test('only an owner with a session deletes an organisation, and a key of a member leaves it', async () => {
  const [boss, leaving] = [await person('boss'), await person('leaving')];
  const org = await organisation(boss);
  await addMember(org, leaving, 'admin');
  const keyOf = async (one: Person) => {
    const { body } = await one.call('POST', '/api/auth/api-keys', { name: 'k', scopes: ['*'] });
    return createClient(url, body.data.key);
  };
  const path = `/api/organisations/${org.id}`;
  expect((await leaving.call('DELETE', path)).status).toBe(403);
  expect((await (await keyOf(boss))('DELETE', path)).status).toBe(403);
  expect((await boss.call('POST', `${path}/leave`)).status).toBe(409);
  expect((await (await keyOf(leaving))('POST', `${path}/leave`)).status).toBe(204);
  expect(await api.roleOf(leaving.id, org.id)).toBeUndefined();
  expect((await boss.call('DELETE', path)).status).toBe(204);
});
