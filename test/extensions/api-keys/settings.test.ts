import { expect, test } from 'vitest';
import { createClient } from '../../support/app.ts';
import { startKeysApp } from './app.ts';

const { url, person } = await startKeysApp({
  policy: 'admin',
  maxKeysPerUser: 2,
  defaultExpiryDays: 7,
  maxLifetimeDays: 30,
  allowNoExpiry: true,
  defaultScopes: ['notes:read'],
});
const root = await person('Root', ['admin']);
const create = async (body: object) => {
  const who = await person('Keeper', ['admin']);
  return who.call('POST', '/api/auth/api-keys', body);
};
const daysOf = ({ createdAt, expiresAt }: { createdAt: string; expiresAt: string }) =>
  (Date.parse(expiresAt) - Date.parse(createdAt)) / 86_400_000;

test('the policy setting decides which users may create keys', async () => {
  const { call } = await person('Ann');
  const { status, body } = await call('POST', '/api/auth/api-keys', { name: 'mine' });
  expect([status, body.error.code]).toEqual([403, 'FORBIDDEN']);
  expect((await create({ name: 'mine' })).status).toBe(201);
});

test('defaultExpiryDays and defaultScopes apply to a key created without them', async () => {
  const { body } = await create({ name: 'plain' });
  expect(daysOf(body.data)).toBe(7);
  expect(body.data.scopes).toEqual(['notes:read']);
});

test('maxLifetimeDays is the longest lifetime, and the error message contains it', async () => {
  expect(daysOf((await create({ name: 'long', expiresInDays: 30 })).body.data)).toBe(30);
  const { status, body } = await create({ name: 'longer', expiresInDays: 31 });
  expect([status, Object.keys(body.error.details)]).toEqual([422, ['expiresInDays']]);
});

test('with allowNoExpiry, expiresInDays: null creates a working key that never expires', async () => {
  const { status, body } = await create({ name: 'for ever', expiresInDays: null, scopes: ['read'] });
  expect(status).toBe(201);
  expect(body.data).toMatchObject({ expiresAt: null, status: 'active' });
  expect((await createClient(url, body.data.key)('GET', '/api/auth/me')).status).toBe(200);
});

test('maxKeysPerUser limits the keys of a user', async () => {
  const names = ['one', 'two', 'three'];
  const statuses = [];
  for (const name of names) statuses.push((await root.call('POST', '/api/auth/api-keys', { name })).status);
  expect(statuses.slice(0, 2)).toEqual([201, 201]);
  expect(statuses[2]).toBeGreaterThanOrEqual(400);
});

test('the shortest lifetime is one day and the longest name has 100 characters', async () => {
  const { status, body } = await create({ name: 'x'.repeat(100), expiresInDays: 1 });
  expect([status, body.data.name.length, daysOf(body.data)]).toEqual([201, 100, 1]);
});
