// The webhook endpoints of organisations in the console.
import { expect, test } from 'vitest';
import {
  adminConsole,
  type createApp,
  defineResource,
  defineUser,
  f,
  organisations,
  tenant,
  webhooks,
} from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const ticket = defineResource('ticket', { fields: { organisation: tenant(), title: f.string().required() } });
const options = {
  resources: [defineUser(), ticket],
  extensions: [organisations(), webhooks(), adminConsole()],
} as const;
const running = await startTestApp(options);
const { call, person } = running;
const app = running.app as unknown as ReturnType<typeof createApp<typeof options.resources, typeof options.extensions>>;
const TAB = '/console/api/webhooks';
const owner = await person('Owner');
const [club, other] = [
  await app.organisations.create({ name: 'Club', slug: 'club' }, owner.id),
  await app.organisations.create({ name: 'Other', slug: 'other' }, owner.id),
];
const input = { owner: club.id, url: 'https://example.com/hooks', events: ['ticket.*'] };
const create = async (more: object = {}) => call('POST', `${TAB}/endpoints`, { ...input, ...more });

test('an administrator creates an endpoint for an organisation, under any of its roles, and changes the role', async () => {
  const roles = { all: ['org:owner', 'org:admin', 'org:member'], default: 'org:admin' };
  const facts = (await call('GET', `${TAB}/facts`)).body.data;
  expect(facts.organisationRoles).toEqual(roles);
  expect(facts.organisationEvents).toEqual(
    expect.arrayContaining(['*', 'ticket.*', 'ticket.created', 'membership.deleted']),
  );
  expect(facts.organisationEvents).not.toContain('user.created');
  const { status, body } = await create();
  expect([status, body.error]).toEqual([201, undefined]);
  expect(body.data).toMatchObject({ organisation: club.id, as: 'org:admin' });
  expect((await create({ as: 'org:member' })).body.data.as).toBe('org:member');

  const path = `${TAB}/endpoints/${body.data.id}`;
  for (const as of ['org:member', 'org:owner', 'org:admin']) {
    const changed = await call('PATCH', path, { as });
    expect([changed.status, changed.body.data?.as]).toEqual([200, as]);
  }
  const { body: refused } = await call('PATCH', path, { as: 'org:boss' });
  expect(refused.error.details).toEqual({ as: 'Must be one of: org:owner, org:admin, org:member' });
  expect((await create({ owner: 'f'.repeat(24) })).body.error.details).toHaveProperty('owner');
});

test('the list is filtered by organisation', async () => {
  const { body } = await create({ owner: other.id });
  await owner.call('POST', '/api/webhooks', { ...input, owner: undefined });
  const ids = async (query: string) =>
    (await call('GET', `${TAB}/endpoints?${query}`)).body.data.map(({ id }: { id: string }) => id);
  expect(await ids(`organisation=${other.id}`)).toEqual([body.data.id]);
  expect(await ids(`organisation=${owner.id}`)).toEqual([]);
  expect((await call('GET', `${TAB}/endpoints?organisation=x`)).status).toBe(400);
});
