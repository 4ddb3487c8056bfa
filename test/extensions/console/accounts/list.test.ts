import { describe, expect, test } from 'vitest';
import { guard } from '../../two-factor/two-factor-user.ts';
import { startAccountsApp } from './accounts-app.ts';

const API = '/console/api/accounts';
const { app, call, person, database } = await startAccountsApp('development');
const ada = await person('Ada', ['user', 'admin']);
const bob = await person('Bob');
const eve = await person('Eve', ['user', 'editor']);
await app.service('user').update(eve.id, { status: 'disabled' });
await database.query('update users set email_verified_at = now() where id = $1', [ada.id]);
await guard(bob, database);

async function list(query = ''): Promise<{ status: number; ids: string[]; next: string | null; rows: never[] }> {
  const { status, body } = await call('GET', `${API}/users${query}`);
  const rows = body.data ?? [];
  return { status, ids: rows.map(({ id }: { id: string }) => id), next: body.meta?.next ?? null, rows };
}

test('the list has every account, newest first, with what features know about it and without secrets', async () => {
  const { ids, rows } = await list();
  expect(ids).toEqual([eve.id, bob.id, ada.id]);
  expect(rows).toMatchObject([
    { name: 'Eve', roles: ['user', 'editor'], isActive: false, emailVerifiedAt: null },
    { name: 'Bob', email: bob.email, isActive: true, summary: { 'two-factor': 'On' } },
    { name: 'Ada', emailVerifiedAt: expect.any(String), summary: { 'two-factor': null, sessions: expect.any(String) } },
  ]);
  expect(JSON.stringify(rows)).not.toContain('scrypt');
  expect((await list('?sort=oldest')).ids).toEqual([ada.id, bob.id, eve.id]);
});

test.each([
  ['the beginning of an address', () => '?q=BOB-', () => [bob.id]],
  ['a part of a name', () => '?q=da', () => [ada.id]],
  ['an id', () => `?q=${eve.id}`, () => [eve.id]],
  ['characters that mean something in SQL patterns, literally', () => '?q=%25', () => []],
  ['characters that Postgres cannot store, nowhere', () => '?q=%00x%F0%9F%98%80', () => []],
  ['a role', () => '?role=admin', () => [ada.id]],
  ['active accounts', () => '?status=active', () => [bob.id, ada.id]],
  ['disabled accounts', () => '?status=disabled', () => [eve.id]],
  ['accounts whose address is not verified', () => '?status=unverified', () => [eve.id, bob.id]],
  ['several filters together', () => '?status=active&role=editor', () => []],
])('the list finds %s', async (_what, query, expected) => {
  expect((await list(query())).ids).toEqual(expected());
});

test('pages follow each other in both directions', async () => {
  const first = await list('?limit=2');
  expect(first).toMatchObject({ ids: [eve.id, bob.id], next: bob.id });
  expect(await list(`?limit=2&after=${first.next}`)).toMatchObject({ ids: [ada.id], next: null });
  const oldest = await list('?limit=1&sort=oldest');
  expect((await list(`?limit=5&sort=oldest&after=${oldest.next}`)).ids).toEqual([bob.id, eve.id]);
});

test.each([
  '?role=nonsense',
  '?role=admin&role=user',
  '?status=deleted',
  '?sort=email',
  '?limit=0',
  '?limit=101',
  '?after=nonsense',
  '?password=x',
  `?q=${'x'.repeat(201)}`,
])('the list refuses %s', async (query) => {
  expect((await list(query)).status).toBe(400);
});

test('the facts describe roles, columns and sections, without the functions of features', async () => {
  const { body } = await call('GET', `${API}/facts`);
  expect(body.data).toMatchObject({
    roles: ['user', 'admin', 'support', 'editor'],
    hasStatus: true,
    hasVerification: true,
    summaries: [
      { id: 'sessions', label: 'Last active', kind: 'time' },
      { id: 'two-factor', label: 'Two-factor', kind: 'text' },
    ],
  });
  expect(body.data.sections.map(({ id }: { id: string }) => id)).toEqual(['lockouts', 'invitations']);
});

describe('unknown accounts', () => {
  test.each(['nonsense', 'f'.repeat(24), '__proto__', '%00', "'"])('%s is not found', async (id) => {
    expect((await call('GET', `${API}/users/${id}`)).status).toBe(404);
    for (const path of ['disable', 'enable', 'panels/sessions/sessionsEnded'])
      expect((await call('POST', `${API}/users/${id}/${path}`, {})).status).toBe(404);
  });

  test('panels and actions that do not exist are not found', async () => {
    for (const path of ['panels/sessions/nonsense', 'panels/nonsense/sessionsEnded', 'delete'])
      expect((await call('POST', `${API}/users/${ada.id}/${path}`, {})).status).toBe(404);
  });
});
