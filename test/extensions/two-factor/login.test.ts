import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { defineUser, twoFactor } from '../../../src/index.ts';
import { createApp } from '../../../src/runtime/create-app.ts';
import { readContract } from '../../runtime/openapi/contract.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { challenge, codeOf, forget, guard, PASSWORD, verify, wrongCode } from './two-factor-user.ts';

const events: [string, Record<string, unknown>][] = [];
const listen = (made: { on: (name: string, handler: (payload: Record<string, unknown>) => void) => void }) => {
  for (const name of [
    'auth.login',
    'security.login_failed',
    'security.two_factor_failed',
    'security.two_factor_locked',
    'security.recovery_code_used',
  ])
    made.on(name, (payload) => void events.push([name, payload]));
};
const options = { resources: [defineUser()], extensions: [twoFactor()] } as const;
const { person, call, env, url } = await startTestApp({ ...options, listeners: listen }, { roles: 'all' });
// A second process, for guarantees that hold across processes.
const other = createApp({ ...options, settings: { auth: { password: { logN: 4, r: 8, p: 1 } } } }, env);
listen(other as never);
const { url: otherUrl } = await other.start({ port: 0, roles: ['web'] });
const without = await startTestApp({ resources: [defineUser()] }, { roles: 'all' });
const limited = await startTestApp({ ...options, settings: { rateLimit: { enabled: true } } }, { roles: 'all' });
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(async () => {
  await other.close();
  await database.end();
});

const calls = [call, createClient(otherUrl)];
const sessions = async (id: string) =>
  (await database.query('select count(*)::int as n from sessions where user_id = $1', [id])).rows[0].n;
const unlock = (id: string) =>
  database.query('update two_factors set locked_until = null, failures = 0 where user_id = $1', [id]);
const someone = async (name: string) => guard(await person(name), database);
const statuses = (responses: { status: number }[]) => responses.map(({ status }) => status).sort();

test('a login returns a challenge; only the correct code starts the session and emits auth.login', async () => {
  const ann = await someone('Ann');
  const before = await sessions(ann.id);
  const challengeResponse = await call('POST', '/api/auth/login', { email: ann.email, password: PASSWORD });
  expect([challengeResponse.status, challengeResponse.headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(challengeResponse.body).toEqual({
    data: {
      mfaRequired: true,
      mfaToken: expect.stringMatching(/^svc_mfa_[0-9a-f]{64}$/),
      methods: ['totp', 'recovery'],
      expiresAt: expect.any(String),
    },
  });
  const minutes = (Date.parse(challengeResponse.body.data.expiresAt) - Date.now()) / 60_000;
  expect(minutes).toBeGreaterThan(4.9);
  expect(minutes).toBeLessThan(5.1);
  const mine = () =>
    events.filter(([name, { user }]) => name === 'auth.login' && (user as { id: string }).id === ann.id);
  expect([await sessions(ann.id), mine().length]).toEqual([before, 0]);

  const { mfaToken } = challengeResponse.body.data;
  expect((await createClient(url, mfaToken)('GET', '/api/auth/me')).status).toBe(401);
  const done = await verify(call, mfaToken, codeOf(ann.secret));
  expect([done.status, done.headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(done.body.data).toEqual({
    user: expect.objectContaining({ id: ann.id, email: ann.email, roles: ['user'] }),
    token: expect.stringMatching(/^svc_[0-9a-f]{64}$/),
    expiresAt: expect.any(String),
  });
  expect(mine()).toHaveLength(1);
  expect((await createClient(url, done.body.data.token)('GET', '/api/auth/me')).body.data.id).toBe(ann.id);
});

test('the OpenAPI document describes both responses of login and the body and response of verify', async () => {
  const contract = await readContract(url);
  const plain = await person('Plain');
  contract.check('login', await call('POST', '/api/auth/login', { email: plain.email, password: PASSWORD }));
  const bob = await someone('Bob');
  const challengeResponse = await call('POST', '/api/auth/login', { email: bob.email, password: PASSWORD });
  contract.check('login', challengeResponse);
  contract.check('verifyTwoFactor', await verify(call, challengeResponse.body.data.mfaToken, wrongCode(bob.secret)));
  contract.check('verifyTwoFactor', await verify(call, challengeResponse.body.data.mfaToken, codeOf(bob.secret)));
  contract.check('readTwoFactor', await bob.call('GET', '/api/auth/2fa'));
  contract.check(
    'renewRecoveryCodes',
    await bob.call('POST', '/api/auth/2fa/recovery-codes', { code: bob.recoveryCodes[9] }),
  );
  const login = contract.operations.get('login')!.spec.responses[200].content['application/json'].schema;
  expect(login.properties.data.oneOf).toHaveLength(2);
  const plainDocument = await readContract(without.url);
  expect(JSON.stringify(plainDocument.document)).not.toMatch(/mfa|2fa/i);
});

test('without a second factor, or without the extension, a login starts a session', async () => {
  for (const one of [{ person, call }, without]) {
    const { email } = await one.person('Cy');
    const { body } = await one.call('POST', '/api/auth/login', { email, password: PASSWORD });
    expect(Object.keys(body.data).sort()).toEqual(['expiresAt', 'token', 'user']);
  }
  expect((await without.call('POST', '/api/auth/2fa/verify', {})).status).toBe(404);
});

test('a wrong password responds 401 with and without a second factor', async () => {
  const dee = await someone('Dee');
  const response = await call('POST', '/api/auth/login', { email: dee.email, password: 'wrong horse battery' });
  expect([response.status, response.body.error.message]).toEqual([401, 'Invalid email or password']);
});

test('a challenge is bound to its user: codes of another user are wrong', async () => {
  const [eve, fay] = [await someone('Eve'), await someone('Fay')];
  const mfaToken = await challenge(call, eve);
  const response = await verify(call, mfaToken, codeOf(fay.secret));
  expect([response.status, response.body.error.details]).toEqual([
    401,
    { code: 'Must be a current code that has not been used' },
  ]);
  expect((await verify(call, mfaToken, fay.recoveryCodes[0]!, 'recovery')).status).toBe(401);
  expect((await verify(call, mfaToken, codeOf(eve.secret))).body.data.user.id).toBe(eve.id);
});

test('a challenge works once, expires, and cannot be guessed', async () => {
  const gil = await someone('Gil');
  const mfaToken = await challenge(call, gil);
  expect((await verify(call, mfaToken, codeOf(gil.secret))).status).toBe(200);
  await forget(gil, database);
  const late = await challenge(call, gil);
  await database.query(
    `update two_factor_challenges set expires_at = now() - make_interval(secs => 1) where user_id = $1`,
    [gil.id],
  );
  for (const token of [mfaToken, late, gil.token, 'svc_mfa_', `svc_mfa_${'0'.repeat(64)}`, '\0', '']) {
    const response = await verify(call, token, codeOf(gil.secret));
    expect([response.status, response.body.error.details]).toEqual([
      401,
      { mfaToken: 'Must be the token of a sign-in in progress' },
    ]);
  }
  expect((await verify(call, await challenge(call, gil), codeOf(gil.secret))).status).toBe(200);
});

test('the same challenge and code, sent 10 times at once to two processes, start one session', async () => {
  const hal = await someone('Hal');
  const before = await sessions(hal.id);
  const mfaToken = await challenge(call, hal);
  const code = codeOf(hal.secret);
  const responses = await Promise.all(Array.from({ length: 10 }, (_, i) => verify(calls[i % 2]!, mfaToken, code)));
  expect(statuses(responses)).toEqual([200, ...Array(9).fill(401)]);
  expect(await sessions(hal.id)).toBe(before + 1);
});

test('an authenticator code is accepted once across 5 concurrent challenges, and codes of earlier steps are refused afterwards', async () => {
  const ida = await someone('Ida');
  const tokens = await Promise.all(Array.from({ length: 5 }, () => challenge(call, ida)));
  const code = codeOf(ida.secret, 1);
  const responses = await Promise.all(tokens.map((token, i) => verify(calls[i % 2]!, token, code)));
  expect(statuses(responses)).toEqual([200, 401, 401, 401, 401]);
  expect((await verify(call, await challenge(call, ida), codeOf(ida.secret))).status).toBe(401);
});

test('a recovery code used 10 times at once, in 10 challenges and two processes, works once', async () => {
  const joe = await someone('Joe');
  const tokens = await Promise.all(Array.from({ length: 10 }, () => challenge(call, joe)));
  const [code] = joe.recoveryCodes as [string];
  const responses = await Promise.all(tokens.map((token, i) => verify(calls[i % 2]!, token, code, 'recovery')));
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
  for (const { status } of responses) expect([200, 401, 429]).toContain(status);
  await unlock(joe.id);
  expect((await joe.call('GET', '/api/auth/2fa')).body.data.recoveryCodesLeft).toBe(9);
  expect((await verify(call, await challenge(call, joe), code, 'recovery')).status).toBe(401);
  expect((await verify(call, await challenge(call, joe), joe.recoveryCodes[1]!.toUpperCase(), 'recovery')).status).toBe(
    200,
  );
  expect(events).toContainEqual([
    'security.recovery_code_used',
    { userId: joe.id, ip: expect.any(String), remaining: 8 },
  ]);
});

test('recovery codes are not offered after all of them are used', async () => {
  const kim = await someone('Kim');
  await database.query(`update two_factors set recovery_codes = recovery_codes[1:1] where user_id = $1`, [kim.id]);
  expect((await verify(call, await challenge(call, kim), kim.recoveryCodes[0]!, 'recovery')).status).toBe(200);
  const { body } = await call('POST', '/api/auth/login', { email: kim.email, password: PASSWORD });
  expect(body.data.methods).toEqual(['totp']);
  expect((await kim.call('GET', '/api/auth/2fa')).body.data).toMatchObject({ methods: ['totp'], recoveryCodesLeft: 0 });
});

test('after 5 wrong codes a challenge rejects even the correct code', async () => {
  const lea = await someone('Lea');
  const mfaToken = await challenge(call, lea);
  for (let i = 0; i < 5; i++) expect((await verify(call, mfaToken, wrongCode(lea.secret))).status).toBe(401);
  await unlock(lea.id);
  const response = await verify(call, mfaToken, codeOf(lea.secret));
  expect([response.status, response.body.error.details]).toEqual([
    401,
    { mfaToken: 'Must be the token of a sign-in in progress' },
  ]);
});

test('5 wrong codes lock all challenges of the user: the correct code responds 429 with Retry-After', async () => {
  const max = await someone('Max');
  for (let i = 0; i < 5; i++) {
    expect((await verify(call, await challenge(call, max), wrongCode(max.secret))).status).toBe(401);
  }
  const mfaToken = await challenge(call, max);
  for (const [code, method] of [
    [codeOf(max.secret), 'totp'],
    [max.recoveryCodes[0]!, 'recovery'],
  ] as const) {
    const { status, body, headers } = await verify(calls[1]!, mfaToken, code, method);
    expect([status, body.error.code]).toEqual([429, 'RATE_LIMITED']);
    expect(body.error.message).toBe('Too many wrong codes, try again in 15 minutes');
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(880);
  }
  const userEvents = events.filter(([, { userId }]) => userId === max.id).map(([name, { reason }]) => [name, reason]);
  expect(userEvents).toEqual([
    ...Array(5).fill(['security.two_factor_failed', 'wrong']),
    ['security.two_factor_locked', undefined],
    ['security.two_factor_failed', 'locked'],
    ['security.two_factor_failed', 'locked'],
  ]);
  await database.query('update two_factors set locked_until = now() - make_interval(secs => 1) where user_id = $1', [
    max.id,
  ]);
  expect((await verify(call, mfaToken, codeOf(max.secret))).status).toBe(200);
});

test('of 50 concurrent wrong codes, over 10 challenges and two processes, 5 are checked', async () => {
  const nan = await someone('Nan');
  const tokens = await Promise.all(Array.from({ length: 10 }, () => challenge(call, nan)));
  const code = wrongCode(nan.secret);
  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, i) => verify(calls[i % 2]!, tokens[i % 10]!, code)),
  );
  expect(statuses(responses)).toEqual([...Array(5).fill(401), ...Array(45).fill(429)]);
  const { rows } = await database.query('select failures from two_factors where user_id = $1', [nan.id]);
  expect(rows).toEqual([{ failures: 5 }]);
});

test('a second lock in a row lasts twice as long; a correct code resets the count', async () => {
  const oda = await someone('Oda');
  const fail = async (times: number) => {
    for (let i = 0; i < times; i++) await verify(call, await challenge(call, oda), wrongCode(oda.secret));
  };
  await fail(5);
  await database.query('update two_factors set locked_until = null where user_id = $1', [oda.id]);
  await fail(5);
  const locked = await verify(call, await challenge(call, oda), codeOf(oda.secret));
  expect(locked.body.error.message).toBe('Too many wrong codes, try again in 30 minutes');
  await database.query('update two_factors set locked_until = null where user_id = $1', [oda.id]);
  await fail(4);
  expect((await verify(call, await challenge(call, oda), codeOf(oda.secret))).status).toBe(200);
  await fail(4);
  await forget(oda, database);
  expect((await verify(call, await challenge(call, oda), codeOf(oda.secret))).status).toBe(200);
});

test('a user disabled between the two steps gets 403 and no session, a deleted one 401', async () => {
  const [pam, quy] = [await someone('Pam'), await someone('Quy')];
  const root = await person('Root', ['admin']);
  const tokens = [await challenge(call, pam), await challenge(call, quy)];
  const before = await sessions(pam.id);
  await root.call('PATCH', `/api/users/${pam.id}`, { status: 'disabled' });
  const response = await verify(call, tokens[0]!, codeOf(pam.secret));
  expect([response.status, response.body.error.message]).toEqual([403, 'This account is disabled']);
  expect(await sessions(pam.id)).toBe(before);
  expect((await call('POST', '/api/auth/login', { email: pam.email, password: PASSWORD })).status).toBe(403);
  await root.call('DELETE', `/api/users/${quy.id}`);
  expect((await verify(call, tokens[1]!, codeOf(quy.secret))).status).toBe(401);
});

test('the factor and challenges of a deleted user are removed', async () => {
  const rob = await someone('Rob');
  await challenge(call, rob);
  const root = await person('Root', ['admin']);
  await root.call('DELETE', `/api/users/${rob.id}`);
  await vi.waitUntil(async () => {
    const { rows } = await database.query(
      `select (select count(*) from two_factors where user_id = $1)::int
            + (select count(*) from two_factor_challenges where user_id = $1)::int as left`,
      [rob.id],
    );
    return rows[0].left === 0;
  }, 10_000);
});

test('a password change between the two steps invalidates the login', async () => {
  const sue = await someone('Sue');
  const mfaToken = await challenge(call, sue);
  const changed = { currentPassword: PASSWORD, newPassword: 'another staple entirely' };
  expect((await sue.call('POST', '/api/auth/password', changed)).status).toBe(204);
  const before = await sessions(sue.id);
  expect((await verify(call, mfaToken, codeOf(sue.secret))).status).toBe(401);
  expect(await sessions(sue.id)).toBe(before);
});

test.each<[string, object, object]>([
  ['nothing', {}, { mfaToken: 'Is required', method: 'Is required', code: 'Is required' }],
  ['another method', { mfaToken: 'x', method: 'sms', code: '1' }, { method: 'Must be one of: totp, recovery' }],
  ['a code that is a number', { mfaToken: 'x', method: 'totp', code: 1 }, { code: 'Must be a string' }],
  ['an unknown field', { mfaToken: 'x', method: 'totp', code: '1', user: 'y' }, { user: 'Unknown field' }],
])('verify with %s responds 422', async (_what, body, details) => {
  const response = await call('POST', '/api/auth/2fa/verify', body);
  expect([response.status, response.body.error.details]).toEqual([422, details]);
});

test('a recovery code is not accepted as an authenticator code, and vice versa', async () => {
  const tom = await someone('Tom');
  const mfaToken = await challenge(call, tom);
  expect((await verify(call, mfaToken, tom.recoveryCodes[0]!)).status).toBe(401);
  expect((await verify(call, mfaToken, codeOf(tom.secret), 'recovery')).status).toBe(401);
  expect((await tom.call('GET', '/api/auth/2fa')).body.data.recoveryCodesLeft).toBe(10);
});

test('verify allows 10 requests in 15 minutes from one client', async () => {
  const body = { mfaToken: 'x', method: 'totp', code: '1' };
  const responses = [];
  for (let i = 0; i < 11; i++) responses.push(await limited.call('POST', '/api/auth/2fa/verify', body));
  expect(responses.map(({ status }) => status)).toEqual([...Array(10).fill(401), 429]);
});

const wrongPassword = (email: string) =>
  call('POST', '/api/auth/login', { email, password: 'wrong horse battery' }).then(({ status }) => status);

test('the correct password alone does not clear the failed sign-ins; the code that completes the sign-in does', async () => {
  const [ann, bob] = [await someone('Ann'), await someone('Bob')];
  for (let i = 0; i < 4; i++)
    expect([await wrongPassword(ann.email), await wrongPassword(bob.email)]).toEqual([401, 401]);
  await challenge(call, ann);
  const mfaToken = await challenge(call, bob);
  expect((await verify(call, mfaToken, wrongCode(bob.secret))).status).toBe(401);
  expect((await verify(call, mfaToken, codeOf(bob.secret))).status).toBe(200);
  expect([await wrongPassword(ann.email), await wrongPassword(bob.email)]).toEqual([401, 401]);
  expect([await wrongPassword(ann.email), await wrongPassword(bob.email)]).toEqual([429, 401]);
});

test('a correct code for an account disabled in the meantime counts as a failed sign-in and clears no count', async () => {
  const ann = await someone('Ann');
  for (let i = 0; i < 4; i++) expect(await wrongPassword(ann.email)).toBe(401);
  const mfaToken = await challenge(call, ann);
  await database.query(`update users set status = 'disabled' where id = $1`, [ann.id]);
  events.length = 0;
  expect((await verify(call, mfaToken, codeOf(ann.secret))).status).toBe(403);
  const payload = { email: ann.email, ip: expect.any(String), reason: 'user_disabled' };
  expect(events).toEqual([['security.login_failed', payload]]);
  expect([await wrongPassword(ann.email), await wrongPassword(ann.email)]).toEqual([401, 429]);
});
