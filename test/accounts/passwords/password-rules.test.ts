import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import {
  findPasswordWeakness,
  isLeakedPassword,
  normalizeForComparison,
} from '../../../src/records/fields/password-strength.ts';
import { anyCharacter } from '../../support/any-text.ts';
import { startTestApp } from '../../support/app.ts';

const COMMON = 'This password is too common, choose another one';
const EASY = 'This password is too easy to guess';
const EMAIL = 'Your password must not contain your email address';
const NAME = 'Your password must not contain your name';

const vault = defineResource('vault', {
  fields: { label: f.string(), pass: f.password().required() },
  policies: { create: 'authenticated' },
});
const { app, call, person } = await startTestApp({ resources: [defineUser(), vault] }, { roles: 'all' });
const root = await person('Root', ['user', 'admin']);

let made = 0;
const register = async (password: string, who: { name?: string; email?: string } = {}) => {
  const account = { name: 'Ann', email: `ann-${++made}@example.com`, ...who, password };
  return call('POST', '/api/auth/register', account);
};

test.each([
  ['password', COMMON],
  ['Password1', COMMON],
  ['PASSWORD123', COMMON],
  ['qwertyuiop', COMMON],
  ['iloveyou', COMMON],
  ['12345678', COMMON],
  ['ｐａｓｓｗｏｒｄ', COMMON],
  ['aaaaaaaa', EASY],
  ['AaAaAaAaA', EASY],
  ['💚💚💚💚💚💚💚💚', EASY],
  ['e\u0301'.repeat(8), EASY],
  ['abcdefghijk', EASY],
  ['ABCDefgh', EASY],
  ['zyxwvutsr', EASY],
  ['0123456789', EASY],
  ['9876543210', EASY],
])('%j is refused in every place that sets a password: %s', async (password, message) => {
  const account = { name: 'Ann', email: `weak-${++made}@example.com`, password };
  const responses = [
    await call('POST', '/api/auth/register', account),
    await root.call('POST', '/api/users', account),
    await root.call('POST', '/api/auth/password', { currentPassword: 'correct horse battery', newPassword: password }),
  ];
  expect(responses.map(({ status, body }) => [status, body.error.details])).toEqual([
    [422, { password: message }],
    [422, { password: message }],
    [422, { newPassword: message }],
  ]);
  await expect(app.service('user').create(account)).rejects.toMatchObject({ details: { password: message } });
  const other = await root.call('POST', '/api/vaults', { label: 'x', pass: password });
  expect([other.status, other.body.error.details]).toEqual([422, { pass: message }]);
});

test.each(['aaaaaaab', 'abcdefgi', 'aabbccdx', 'acegikmo', 'abababab', '13579135x', 'correct horse', 'пароль на море'])(
  '%j is accepted as a password',
  async (password) => {
    expect((await register(password)).status).toBe(201);
  },
);

test('characters with a constant step of 1, -1 or 0 are a sequence; other texts are not', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0x4e00, max: 0x9000 }),
      fc.integer({ min: -1, max: 1 }),
      fc.integer({ min: 8, max: 128 }),
      (from, step, length) => {
        const points = Array.from({ length }, (_, i) => from + i * step);
        expect(findPasswordWeakness(String.fromCodePoint(...points))).toBe(EASY);
        const broken = points.with(length - 1, points.at(-1)! + 7);
        expect(findPasswordWeakness(String.fromCodePoint(...broken))).toBeUndefined();
      },
    ),
  );
});

test('the list of common passwords is large and ignores case', () => {
  for (const password of ['trustno1', 'sunshine', 'letmein1', '1qaz2wsx', 'football', 'superman', 'welcome1'])
    for (const written of [password, password.toUpperCase()])
      expect(isLeakedPassword(normalizeForComparison(written))).toBe(true);
  expect(isLeakedPassword(normalizeForComparison('a bell rings at noon'))).toBe(false);
});

test.each<[string, string, { name?: string; email?: string }]>([
  ['the e-mail’s part before the @', 'x-jane.doe-x', { email: 'jane.doe@example.com' }],
  ['that part in capitals', 'XXJANE.DOEXX', { email: 'jane.doe@example.com' }],
  ['that part of an e-mail in capitals', 'xxjane.doexx', { email: 'JANE.DOE@EXAMPLE.COM' }],
  ['that part in full-width letters', 'xxｊａｎｅ.ｄｏｅxx', { email: 'jane.doe@example.com' }],
  ['four characters before the @', 'my jane rocks', { email: 'jane@example.com' }],
])('%s is refused at registration', async (_what, password, who) => {
  const { status, body } = await register(password, who);
  expect([status, body.error.details]).toEqual([422, { password: EMAIL }]);
});

test.each([
  ['Ada Lovelace', 'my lovelace pass'],
  ['Ada Lovelace', 'LOVELACEISME'],
  ['Élodie Dupont', 'xx e\u0301lodie xx'],
  ['Anna-Maria', 'maria was here'],
  ['Conan O’Brien', 'go brien go'],
  ['Weiß', 'xx WEISS xx'],
  ['中村太郎 様', 'xx中村太郎xx'],
])('a word of the name %j is refused in %j', async (name, password) => {
  const { status, body } = await register(password, { name });
  expect([status, body.error.details]).toEqual([422, { password: NAME }]);
});

test.each<[string, string, { name?: string; email?: string }]>([
  ['three characters before the @', 'my ann rocks', { email: 'ann@example.org' }],
  ['the domain of the e-mail', 'example rocks', { email: 'al@example.com' }],
  ['three letters of a name', 'my ada rocks', { name: 'Ada Yi' }],
  ['a name split over several words', 'love my lace', { name: 'Ada Lovelace' }],
])('%s is allowed', async (_what, password, who) => {
  expect((await register(password, who)).status).toBe(201);
});

test('a password is not compared with e-mail and name when another user creates the account', async () => {
  const account = { name: 'Jonathan', email: 'jonathan@example.com', password: 'jonathan came by' };
  expect((await root.call('POST', '/api/users', account)).status).toBe(201);
});

test('all validation errors of the body come first; the comparison with personal data follows', async () => {
  const account = { name: '', email: 'jonathan@example.net', password: 'jonathan came by', nope: 1 };
  const { body } = await call('POST', '/api/auth/register', account);
  expect(body.error.details).toEqual({ name: 'Is required', nope: 'Unknown field' });
});

test('no text as e-mail, name or password causes a 5xx response', async () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(text, text, text, async (name, email, password) => {
      const body = { name, email: `${email}@example.com`, password };
      expect((await call('POST', '/api/auth/register', body)).status).toBeLessThan(500);
    }),
    { numRuns: 60 },
  );
});

test('a check of the password field receives the whole record wherever a password is set', async () => {
  const given: unknown[] = [];
  const rule = (value: string, { id, password, createdAt, updatedAt, ...record }: Record<string, unknown>) => {
    given.push(record);
    return !value.includes('badge 7') || 'Must not hold your badge';
  };
  const user = defineUser({
    fields: { badge: f.string().visibleTo('admin'), password: f.password().required().check(rule) },
  });
  const { app, call } = await startTestApp({ resources: [user] }, { roles: 'all' });
  const [name, email] = ['Ann', 'ann@example.com'];
  const values = { name, email, password: 'correct horse battery' };
  const { token, user: ann } = (await call('POST', '/api/auth/register', values)).body.data;
  await app.service('user').update(ann.id, { badge: '7' });
  const change = (newPassword: string) =>
    call(
      'POST',
      '/api/auth/password',
      { currentPassword: values.password, newPassword },
      { authorization: `Bearer ${token}` },
    );
  const refused = await change('my badge 7 is here');
  expect([refused.status, refused.body.error.details]).toEqual([422, { newPassword: 'Must not hold your badge' }]);
  expect((await change('a staple that is new')).status).toBe(204);
  await call('POST', '/api/auth/password/forgot', { email });
  const [mail] = await vi.waitUntil(
    async () => {
      const mails = await app.captured.mails();
      return mails.length > 0 && mails;
    },
    { timeout: 60_000 },
  );
  const link = /token=([\w-]+)/.exec(mail!.text)![1];
  expect((await call('POST', '/api/auth/password/reset', { token: link, password: 'a horse of another' })).status).toBe(
    204,
  );
  const whole = { name, email, badge: '7', roles: ['user'], status: 'active' };
  expect(given).toEqual([{ name, email, roles: ['user'], status: 'active' }, whole, whole, whole]);
});
