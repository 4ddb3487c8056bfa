import { expect, test } from 'vitest';
import { clientOf } from '../../support/app.ts';
import { startKeysApp } from './app.ts';

const { app, url, call, person, key, query } = await startKeysApp();
const create = (who: { call: typeof call }) => who.call('POST', '/api/auth/api-keys', { name: 'x' });
const active = async (user: string) =>
  (await query('select count(*)::int as n from api_keys where user_id = $1 and revoked_at is null', [user]))[0].n;

test('thirty creates at once stop at twenty keys', async () => {
  const ann = await person('Ann');
  const answers = await Promise.all(Array.from({ length: 30 }, () => create(ann)));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(20);
  for (const { status, body } of answers.filter((one) => one.status !== 201)) {
    expect([status, body.error.code, body.error.message]).toEqual([
      409,
      'API_KEY_LIMIT',
      'You can have at most 20 active API keys',
    ]);
  }
  expect(await active(ann.id)).toBe(20);
});

test('twenty-five creates at once, with nineteen keys there, make one; revoked and expired keys do not count', async () => {
  const bob = await person('Bob');
  const made = [];
  for (let i = 0; i < 21; i++) {
    made.push(await key(bob));
    if (i === 0) await bob.call('DELETE', `/api/auth/api-keys/${made[0]!.id}`);
    if (i === 1) await query('update api_keys set expires_at = now() where id = $1', [made[1]!.id]);
  }
  const answers = await Promise.all(Array.from({ length: 25 }, () => create(bob)));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(24).fill(409)]);
});

test('creates of different users do not wait for each other’s limit', async () => {
  const people = await Promise.all(['C', 'D', 'E', 'F'].map((name) => person(name)));
  const answers = await Promise.all(people.flatMap((who) => Array.from({ length: 10 }, () => create(who))));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
});

test('a session that a change of the password ends at the same moment leaves no key behind that was made after it', async () => {
  for (let round = 0; round < 5; round++) {
    const dan = await person('Dan');
    const login = await call('POST', '/api/auth/login', { email: dan.email, password: 'correct horse battery' });
    const thief = clientOf(url, login.body.data.token);
    const change = dan.call('POST', '/api/auth/password', {
      currentPassword: 'correct horse battery',
      newPassword: 'another long secret phrase',
    });
    const tries = Array.from({ length: 12 }, () => create({ call: thief }));
    expect((await change).status).toBe(204);
    const changedAt = (await query('select max(created_at) as at from api_keys where user_id = $1', [dan.id]))[0].at;
    const late = await Promise.all(tries);
    for (const { status } of late) expect([201, 401]).toContain(status);
    // What is there when the change is answered is all that there will ever be.
    expect((await query('select max(created_at) as at from api_keys where user_id = $1', [dan.id]))[0].at).toEqual(
      changedAt,
    );
    expect((await create({ call: thief })).status).toBe(401);
  }
});

test('an account that is deleted meanwhile gets no key', async () => {
  const eve = await person('Eve');
  const answers = await Promise.all([
    ...Array.from({ length: 5 }, () => create(eve)),
    app.service('user').delete(eve.id),
  ]);
  for (const answer of answers.slice(0, 5)) expect([201, 401]).toContain((answer as { status: number }).status);
});
