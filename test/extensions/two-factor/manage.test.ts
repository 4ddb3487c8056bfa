import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { createApp, defineUser, twoFactor } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { challenge, codeOf, forget, guard, PASSWORD, verify, wrongCode } from './two-factor-user.ts';

const events: [string, Record<string, unknown>][] = [];
const { person, call, env, app } = await startTestApp({
  resources: [defineUser()],
  extensions: [twoFactor({ issuer: 'Acme' })],
  listeners(made) {
    for (const name of [
      'two_factor_enabled',
      'two_factor_disabled',
      'two_factor_failed',
      'two_factor_locked',
      'recovery_code_used',
      'recovery_codes_renewed',
    ]) {
      made.on<Record<string, unknown>>(`security.${name}`, (payload) => void events.push([name, payload]));
    }
  },
});
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());
const namesOf = (id: string) => events.filter(([, payload]) => payload.userId === id).map(([name]) => name);
const off = { enabled: false, methods: [], recoveryCodesLeft: 0, enabledAt: null };

test('enrol, confirm, status and disable respond as documented, and their responses are not cached', async () => {
  const ann = await person('Ann');
  const status = () => ann.call('GET', '/api/auth/2fa');
  expect((await status()).body).toEqual({ data: off });
  const enrolled = await ann.call('POST', '/api/auth/2fa/enrol', { password: PASSWORD });
  expect(enrolled.status).toBe(200);
  const { secret, otpauthUrl, qrCode } = enrolled.body.data;
  expect(otpauthUrl).toContain(`otpauth://totp/Acme:${encodeURIComponent(ann.email)}?issuer=Acme&secret=${secret}`);
  expect(qrCode).toMatch(/^data:image\/png;base64,/);
  expect((await status()).body).toEqual({ data: off });

  const confirmed = await ann.call('POST', '/api/auth/2fa/confirm', { code: codeOf(secret) });
  expect(confirmed.status).toBe(200);
  expect(new Set(confirmed.body.data.recoveryCodes).size).toBe(10);
  expect((await status()).body.data).toEqual({
    enabled: true,
    methods: ['totp', 'recovery'],
    recoveryCodesLeft: 10,
    enabledAt: expect.stringMatching(/^\d{4}-/),
  });
  await forget(ann, database);
  const disabled = await ann.call('POST', '/api/auth/2fa/disable', { password: PASSWORD, code: codeOf(secret) });
  expect(disabled.status).toBe(204);
  for (const { headers } of [enrolled, confirmed, disabled, await status()]) {
    expect(headers.get('cache-control')).toBe('no-store');
  }
  expect((await status()).body).toEqual({ data: off });
  expect(namesOf(ann.id)).toEqual(['two_factor_enabled', 'two_factor_disabled']);
  expect(events.at(-1)![1]).toEqual({ userId: ann.id, by: ann.id, reason: 'user', ip: expect.any(String) });
});

test('the database stores the secret encrypted and recovery codes hashed, and no later response or event contains them', async () => {
  const bob = await guard(await person('Bob'), database);
  const { rows } = await database.query('select * from two_factors where user_id = $1', [bob.id]);
  const stored = JSON.stringify(rows);
  expect(rows[0].secret).toMatch(/^v1\./);
  const responseText = JSON.stringify([
    (await bob.call('GET', '/api/auth/2fa')).body,
    (await bob.call('GET', '/api/auth/me')).body,
    events,
  ]);
  for (const text of [bob.secret, ...bob.recoveryCodes, ...bob.recoveryCodes.map((code) => code.replaceAll('-', ''))]) {
    expect(stored).not.toContain(text);
    expect(responseText).not.toContain(text);
  }
});

test('a key rotation re-encrypts the secret', async () => {
  const { values } = await app.encryption.status();
  expect(values.map(({ name }) => name)).toContain('two_factors.secret');
});

test('an encrypted secret copied to another user does not work there', async () => {
  const [cy, dee] = [await guard(await person('Cy'), database), await guard(await person('Dee'), database)];
  await database.query(
    'update two_factors set secret = (select secret from two_factors where user_id = $1) where user_id = $2',
    [cy.id, dee.id],
  );
  const response = await verify(call, await challenge(call, dee), codeOf(cy.secret));
  expect([response.status, response.body.error.code]).toEqual([500, 'INTERNAL']);
});

test.each<[string, string, object, object]>([
  ['enrol', 'no password', {}, { password: 'Is required' }],
  ['enrol', 'a wrong password', { password: 'wrong horse battery' }, { password: 'Must be your current password' }],
  ['enrol', 'something unknown', { password: PASSWORD, code: '1' }, { code: 'Unknown field' }],
  ['confirm', 'no code', {}, { code: 'Is required' }],
  ['confirm', 'a number', { code: 123456 }, { code: 'Must be a string' }],
  ['confirm', 'too long a code', { code: '1'.repeat(65) }, { code: 'Must be at most 64 characters' }],
  ['disable', 'nothing', {}, { password: 'Is required', code: 'Is required' }],
  ['disable', 'only a code', { code: '123456' }, { password: 'Is required' }],
  ['enrol', 'nothing', {}, { password: 'Is required' }],
  [
    'disable',
    'a wrong password',
    { password: 'wrong horse battery', code: '123456' },
    { password: 'Must be your current password' },
  ],
  ['recovery-codes', 'nothing', {}, { code: 'Is required' }],
  ['recovery-codes', 'only the password', { password: PASSWORD }, { code: 'Is required' }],
  [
    'recovery-codes',
    'a wrong password',
    { password: 'wrong horse', code: '123456' },
    { password: 'Must be your current password' },
  ],
])('%s with %s responds 422 and names the field', async (route, _what, body, details) => {
  const eve = await person('Eve');
  const response = await eve.call('POST', `/api/auth/2fa/${route}`, body);
  expect([response.status, response.body.error.details]).toEqual([422, details]);
});

test('a session cannot be used to guess the password: after 5 wrong passwords even the correct one responds 429', async () => {
  const uma = await person('Uma');
  const enrol = (password: string) => uma.call('POST', '/api/auth/2fa/enrol', { password });
  for (let i = 0; i < 5; i++) expect((await enrol('wrong horse battery')).status).toBe(422);
  expect((await enrol(PASSWORD)).status).toBe(429);
});

test('every route except verify responds 401 without a session', async () => {
  for (const [method, path] of [
    ['GET', '/auth/2fa'],
    ['POST', '/auth/2fa/enrol'],
    ['POST', '/auth/2fa/confirm'],
    ['POST', '/auth/2fa/disable'],
    ['POST', '/auth/2fa/recovery-codes'],
    ['DELETE', `/admin/users/${'a'.repeat(24)}/2fa`],
  ]) {
    expect((await call(method!, `/api${path}`, method === 'POST' ? {} : undefined)).status).toBe(401);
  }
});

test('confirm, disable and renew respond 409 without a factor, and so does enrolling twice', async () => {
  const fay = await person('Fay');
  const post = async (route: string, body: object) => (await fay.call('POST', `/api/auth/2fa/${route}`, body)).status;
  expect(await post('confirm', { code: '123456' })).toBe(409);
  expect(await post('disable', { password: PASSWORD, code: '123456' })).toBe(409);
  expect(await post('recovery-codes', { code: '123456' })).toBe(409);
  const guarded = await guard(fay, database);
  expect(await post('enrol', { password: PASSWORD })).toBe(409);
  expect(await post('confirm', { code: codeOf(guarded.secret) })).toBe(409);
});

test('an enrolment replaces an unconfirmed one, whose codes stop working', async () => {
  const gil = await person('Gil');
  const enrol = async () => (await gil.call('POST', '/api/auth/2fa/enrol', { password: PASSWORD })).body.data.secret;
  const [first, second] = [await enrol(), await enrol()];
  const confirm = (code: string) => gil.call('POST', '/api/auth/2fa/confirm', { code });
  const refused = await confirm(codeOf(first));
  expect([refused.status, refused.body.error.details]).toEqual([
    422,
    { code: 'Must be a current code that has not been used' },
  ]);
  expect((await confirm(codeOf(second))).status).toBe(200);
});

test('an unconfirmed enrolment does not affect logins and expires after an hour', async () => {
  const hal = await person('Hal');
  const { secret } = (await hal.call('POST', '/api/auth/2fa/enrol', { password: PASSWORD })).body.data;
  const login = await call('POST', '/api/auth/login', { email: hal.email, password: PASSWORD });
  expect(login.body.data.token).toMatch(/^svc_/);
  await database.query(`update two_factors set created_at = now() - interval '61 minutes' where user_id = $1`, [
    hal.id,
  ]);
  expect((await hal.call('POST', '/api/auth/2fa/confirm', { code: codeOf(secret) })).status).toBe(409);
});

test('of 10 concurrent confirmations of one enrolment, one succeeds', async () => {
  const ida = await person('Ida');
  const { secret } = (await ida.call('POST', '/api/auth/2fa/enrol', { password: PASSWORD })).body.data;
  const responses = await Promise.all(
    Array.from({ length: 10 }, () => ida.call('POST', '/api/auth/2fa/confirm', { code: codeOf(secret) })),
  );
  expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)]);
});

test('turning two-factor off requires the password and a code, which may be a recovery code', async () => {
  const joe = await guard(await person('Joe'), database);
  const disable = async (password: string, code: string) =>
    (await joe.call('POST', '/api/auth/2fa/disable', { password, code })).body?.error.details;
  expect(await disable('wrong horse battery', codeOf(joe.secret))).toEqual({
    password: 'Must be your current password',
  });
  expect(await disable(PASSWORD, wrongCode(joe.secret))).toEqual({
    code: 'Must be a current code that has not been used',
  });
  expect((await joe.call('GET', '/api/auth/2fa')).body.data.enabled).toBe(true);
  expect(await disable(PASSWORD, joe.recoveryCodes[3]!)).toBe(undefined);
  expect((await joe.call('GET', '/api/auth/2fa')).body.data.enabled).toBe(false);
  const login = await call('POST', '/api/auth/login', { email: joe.email, password: PASSWORD });
  expect(login.body.data.token).toMatch(/^svc_/);
});

test('a session and the password are not enough to change two-factor while it is on', async () => {
  const ivy = await guard(await person('Ivy'), database);
  const post = (route: string, body: object) => ivy.call('POST', `/api/auth/2fa/${route}`, body);
  const wrong = wrongCode(ivy.secret);
  const responses = [
    await post('recovery-codes', { password: PASSWORD }),
    await post('recovery-codes', { password: PASSWORD, code: wrong }),
    await post('disable', { password: PASSWORD }),
    await post('disable', { password: PASSWORD, code: wrong }),
    await post('enrol', { password: PASSWORD }),
    await post('confirm', { code: wrong }),
  ];
  expect(responses.map(({ status }) => status)).toEqual([422, 422, 422, 422, 409, 409]);
  const { body } = await ivy.call('GET', '/api/auth/2fa');
  expect(body.data).toMatchObject({ enabled: true, recoveryCodesLeft: 10 });
  expect((await verify(call, await challenge(call, ivy), ivy.recoveryCodes[9]!, 'recovery')).status).toBe(200);
});

test('wrong codes when renewing recovery codes count and lock like those in a login', async () => {
  const jan = await guard(await person('Jan'), database);
  const renew = (code: string) => jan.call('POST', '/api/auth/2fa/recovery-codes', { password: PASSWORD, code });
  for (let i = 0; i < 5; i++) expect((await renew(wrongCode(jan.secret))).status).toBe(422);
  expect([(await renew(codeOf(jan.secret))).status, (await renew(jan.recoveryCodes[0]!)).status]).toEqual([429, 429]);
  expect((await verify(call, await challenge(call, jan), codeOf(jan.secret))).status).toBe(429);
});

test('new recovery codes, obtained with either kind of code, replace the old ones', async () => {
  const kim = await guard(await person('Kim'), database);
  const renew = (body: object) => kim.call('POST', '/api/auth/2fa/recovery-codes', body);
  const byRecovery = (await renew({ password: PASSWORD, code: kim.recoveryCodes[0] })).body.data.recoveryCodes;
  const code = codeOf(kim.secret);
  const byCode = (await renew({ code })).body.data.recoveryCodes;
  expect([byRecovery.length, byCode.length]).toEqual([10, 10]);
  expect((await renew({ code })).status).toBe(422);
  const mfaToken = await challenge(call, kim);
  for (const old of [kim.recoveryCodes[0]!, byRecovery[0]]) {
    expect((await verify(call, mfaToken, old, 'recovery')).status).toBe(401);
  }
  expect((await verify(call, mfaToken, byCode[0], 'recovery')).status).toBe(200);
  expect(namesOf(kim.id).filter((name) => name === 'recovery_codes_renewed')).toHaveLength(2);
});

test('wrong codes when turning two-factor off count and lock like those in a login', async () => {
  const lea = await guard(await person('Lea'), database);
  for (let i = 0; i < 5; i++) {
    await lea.call('POST', '/api/auth/2fa/disable', { password: PASSWORD, code: wrongCode(lea.secret) });
  }
  const body = { password: PASSWORD, code: codeOf(lea.secret) };
  const response = await lea.call('POST', '/api/auth/2fa/disable', body);
  expect([response.status, response.body.error.code]).toEqual([429, 'RATE_LIMITED']);
  expect((await verify(call, await challenge(call, lea), lea.recoveryCodes[0]!, 'recovery')).status).toBe(429);
});

test('only an admin can turn two-factor off for another user, with a code of their own', async () => {
  const [root, max, nan] = [
    await guard(await person('Root', ['admin']), database),
    await guard(await person('Max'), database),
    await person('Nan'),
  ];
  const removal = (who: typeof nan, id: string, code?: string) =>
    who.call('DELETE', `/api/admin/users/${id}/2fa`, code === undefined ? undefined : { code });
  const remove = async (...given: Parameters<typeof removal>) => (await removal(...given)).status;
  expect(await remove(max, max.id)).toBe(403);
  expect(await remove(nan, max.id)).toBe(404);
  expect(await remove(root, root.id)).toBe(403);
  for (const id of ['f'.repeat(24), 'nobody']) expect(await remove(root, id)).toBe(404);
  expect(await remove(root, nan.id, root.recoveryCodes[0])).toBe(404);
  expect((await removal(root, max.id)).body.error.details).toEqual({ code: 'Is required' });
  for (const code of [root.recoveryCodes[0], wrongCode(root.secret), codeOf(max.secret)])
    expect(await remove(root, max.id, code)).toBe(422);
  const mfaToken = await challenge(call, max);
  expect(await remove(root, max.id, codeOf(root.secret))).toBe(204);
  expect(events.at(-1)).toEqual([
    'two_factor_disabled',
    { userId: max.id, by: root.id, reason: 'admin', ip: expect.any(String) },
  ]);
  expect((await verify(call, mfaToken, codeOf(max.secret))).status).toBe(401);
  const login = await call('POST', '/api/auth/login', { email: max.email, password: PASSWORD });
  expect(login.body.data.token).toMatch(/^svc_/);
});

test('invalid settings and missing accounts are reported at start', () => {
  const start = (options: object, accounts = true) => {
    try {
      createApp(
        { resources: accounts ? [defineUser()] : [], extensions: [twoFactor(options)] },
        { NODE_ENV: 'test', DATABASE_URL: 'postgres://u@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' },
      );
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };
  const configError = start({ challengeTtl: '0m', lockout: { maxAttempts: 0 }, nope: 1 });
  for (const part of ['twoFactor.challengeTtl', 'twoFactor.lockout.maxAttempts', 'nope'])
    expect(configError).toContain(part);
  expect(start({}, false)).toContain('it needs accounts');
});
