import { expect, test } from 'vitest';
import type { AccountPanel } from '../../../../src/extension/index.ts';
import {
  ApiError,
  adminConsole,
  createApp,
  defineExtension,
  defineResource,
  defineUser,
  f,
} from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';
import { panelsOf } from './accounts-app.ts';

const API = '/console/api/accounts';
const blocked: string[] = [];
const badges: AccountPanel = {
  id: 'badges',
  label: 'Badges',
  columns: [{ name: 'name', label: 'Name' }],
  read: async (userId) => ({ rows: [{ id: `badge-${userId}`, values: { name: 'Main door' } }], actions: [] }),
  rowActions: [
    {
      id: 'badgeBlocked',
      label: 'Block',
      done: 'The badge is blocked',
      async run({ userId, rowId }, { user }) {
        if (rowId !== `badge-${userId}`) throw new ApiError('NOT_FOUND', 'This badge is already blocked');
        blocked.push(`${rowId} by ${user?.id ?? 'the system'}`);
      },
    },
  ],
  summary: { label: 'Badges', read: async (ids) => new Map(ids.map((id) => [id, 1])) },
};
const withPanels = (...accountPanels: AccountPanel[]) =>
  defineExtension({ name: 'doors', setup: () => ({ accountPanels }) });

test('an extension adds a panel with an action, and a column of the list', async () => {
  const { call, person } = await startTestApp({
    resources: [defineUser()],
    extensions: [withPanels(badges), adminConsole()],
  });
  const ada = await person('Ada');
  const { body } = await call('GET', `${API}/users/${ada.id}`);
  expect(panelsOf(body.data).badges).toMatchObject({
    label: 'Badges',
    rows: [{ values: { name: 'Main door' } }],
    rowActions: [{ id: 'badgeBlocked', label: 'Block', confirm: null, isDangerous: false }],
  });
  const [listed] = (await call('GET', `${API}/users`)).body.data;
  expect(listed.summary.badges).toBe(1);
  const block = (row: string) => call('POST', `${API}/users/${ada.id}/panels/badges/badgeBlocked`, { row });
  expect((await block(`badge-${ada.id}`)).status).toBe(204);
  expect((await block('badge-of-another')).body.error.message).toBe('This badge is already blocked');
  expect(blocked).toEqual([`badge-${ada.id} by the system`]);
});

test('accounts without roles, status and name have none of them in the console', async () => {
  const user = defineResource('user', {
    owner: '_id',
    fields: {
      email: f.email().required().unique(),
      password: f.password().required(),
      name: f.string().encrypted(),
    },
  });
  const { app, call } = await startTestApp({
    resources: [user],
    extensions: [adminConsole()],
  });
  const made = await app.service('user').create({
    name: 'Secret',
    email: 'ada@example.com',
    password: 'correct horse battery',
  });
  const facts = (await call('GET', `${API}/facts`)).body.data;
  expect(facts).toMatchObject({ roles: null, hasStatus: false, hasVerification: false });
  const { body } = await call('GET', `${API}/users/${made.id}`);
  expect(body.data).toMatchObject({ email: 'ada@example.com', name: null, roles: null });
  expect(JSON.stringify(body)).not.toContain('Secret');
  for (const query of ['?role=user', '?status=unverified'])
    expect((await call('GET', `${API}/users${query}`)).status).toBe(400);
  expect((await call('POST', `${API}/users/${made.id}/disable`)).status).toBe(404);
  expect((await call('POST', `${API}/users/${made.id}/roles`, { from: [], to: [] })).status).toBe(404);
});

test.each<[string, AccountPanel[], string]>([
  ['an id that is no part of a path', [{ ...badges, id: 'My badges' }], 'lowercase letters and hyphens'],
  ['the id of another panel', [badges, badges], 'another feature adds a panel or section with this id'],
  [
    'an action that is no word in camelCase',
    [{ ...badges, rowActions: [{ ...badges.rowActions![0]!, id: 'badge.blocked' }] }],
    'must be a word in camelCase',
  ],
  [
    'two actions with the same id',
    [{ ...badges, rowActions: [badges.rowActions![0]!, badges.rowActions![0]!] }],
    'two actions have the same id',
  ],
])('a panel with %s is a configuration error', (_what, panels, message) => {
  const create = () =>
    createApp(
      { resources: [defineUser()], extensions: [withPanels(...panels), adminConsole()] },
      { NODE_ENV: 'test', DATABASE_URL: 'postgres://localhost/none', REDIS_URL: 'redis://localhost' },
    );
  expect(create).toThrow(message);
});
