import { Readable } from 'node:stream';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { readName, toIdentity } from '../../../src/extensions/oidc/provider/claims.ts';
import {
  defineResource,
  defineUser,
  emailSignIn,
  emailVerification,
  f,
  invitations,
  organisations,
} from '../../../src/index.ts';
import type { StartupError } from '../../../src/platform/helpers/config-errors.ts';
import { isEmailAddress } from '../../../src/platform/helpers/email-address.ts';
import { validateMail } from '../../../src/platform/mail/message.ts';
import { readEnvironment } from '../../../src/platform/settings/environment.ts';
import { fieldJsonSchema, fieldSchema } from '../../../src/records/fields/field-type.ts';
import { startTestApp } from '../../support/app.ts';

const label = (length: number) => 'b'.repeat(length);
const long = (length: number) =>
  `${'a'.repeat(64)}@${label(63)}.${label(63)}.${label(length - 64 - 1 - 64 - 64 - 4)}.com`;

const accepted = [
  ...[...".!#$%&'*+/=?^_`{|}~-"].map((sign) => `a${sign}b@example.org`),
  ...[..."!#$%&'*+/=?^_`{|}~-"].flatMap((sign) => [
    `${sign}@example.org`,
    `${sign}b@example.org`,
    `a${sign}@example.org`,
  ]),
  'info@xn--e1afmkfd.xn--p1ai',
  'contact@example.xn--fiqs8s',
  'contact@example.xn--vermgensberatung-pwb',
  'a@b.co',
  'a@1.2.example.travel',
  'a@3m.com',
  'a@a--b.co',
  `${'a'.repeat(64)}@example.org`,
  `a@${label(63)}.org`,
  long(254),
];

const refused = [
  ...['', 'ada', 'ada@', '@example.org', 'a@b', 'a@localhost', 'a@@example.org', 'a@b@example.org', 'a b@example.org'],
  ...['a..b@example.org', '.a@example.org', 'a.@example.org', '"a b"@example.org', '"a"@example.org'],
  ...['a@example..org', 'a@.example.org', 'a@example.org.', 'a@-example.org', 'a@example-.org', 'a@example.-org'],
  ...[
    'a@example.org-',
    'a@example.c',
    'a@example.c0m',
    'a@1.2.3.4',
    'a@[1.2.3.4]',
    'a@example.xn--',
    'a@example.xn--a-',
  ],
  ...['a@exam_ple.org', 'a@exam ple.org', 'a@exam/ple.org', 'ä@example.org', 'a@exämple.org', 'a＠example.org'],
  ...['a@example.org\n', 'a\n@example.org', 'a\0@example.org', 'a,b@example.org', 'a;b@example.org', 'a:b@example.org'],
  ...['a(b)@example.org', 'a<b>@example.org', 'a[b]@example.org', 'a\\b@example.org', 'Ada <a@example.org>'],
  `${'a'.repeat(65)}@example.org`,
  `a@${label(64)}.org`,
  `a@example.${label(64)}`,
  `a@example.xn--${label(60)}`,
  long(255),
];

const note = defineResource('note', {
  fields: { contact: f.email().filterable() },
  policies: { create: 'public', list: 'public' },
});
const { app, call, person } = await startTestApp({
  resources: [defineUser(), note],
  extensions: [invitations(), organisations(), emailSignIn(), emailVerification({ required: false })],
  settings: { auth: { password: { logN: 4, r: 8, p: 1 } } },
});
const secret = 'correct-horse-battery-9';

test.each(accepted)('%s is an e-mail address', (address) => {
  expect(isEmailAddress(address)).toBe(true);
  expect(isEmailAddress(address.toUpperCase())).toBe(true);
});

test.each(refused)('%j is no e-mail address', (address) => {
  expect(isEmailAddress(address)).toBe(false);
});

test('a field and its JSON Schema accept exactly the e-mail addresses', () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const rules = fieldSchema(f.email().spec, 'reject');
  const validate = ajv.compile(fieldJsonSchema(f.email().spec, 'input'));
  for (const address of [...accepted, ...accepted.map((one) => one.toUpperCase())]) {
    expect(rules.parse(address)).toBe(address.toLowerCase());
    expect([address, validate(address)]).toEqual([address, true]);
  }
  // The field trims, and an empty text counts as no value.
  for (const address of refused.filter((one) => one !== '' && one.trim() === one)) {
    expect([address, rules.safeParse(address).success, validate(address)]).toEqual([address, false, false]);
  }
});

test('a recipient, a sender with or without a name, and the claim of a provider follow the same rule', () => {
  const environment = {
    NODE_ENV: 'test',
    DATABASE_URL: 'postgres://a@b/c',
    REDIS_URL: 'redis://a',
    SMTP_URL: 'smtp://host',
  };
  const sender = (from: string) => {
    try {
      readEnvironment({ ...environment, MAIL_FROM: from });
      return true;
    } catch (error) {
      expect((error as StartupError).errors).toEqual([expect.stringMatching(/^MAIL_FROM is malformed/)]);
      return false;
    }
  };
  const recipient = (to: string) => {
    try {
      return validateMail({ to, subject: 'Hi', text: 'Hi' }).to === to;
    } catch {
      return false;
    }
  };
  const claimed = (email: string) => toIdentity('acme', {} as never, { sub: '1', email }).email;
  for (const address of accepted) {
    expect([address, recipient(address), sender(address), sender(`Belfry <${address}>`)]).toEqual([
      address,
      true,
      true,
      true,
    ]);
    expect(claimed(address)).toBe(address);
  }
  for (const address of refused)
    expect([address, recipient(address), claimed(address)]).toEqual([address, false, undefined]);
  for (const address of refused.filter((one) => one !== ''))
    expect([address, sender(`Belfry <${address}>`)]).toEqual([address, false]);
  expect(readName({ sub: '1' }, 'a&b@example.org')).toBe('a&b');
});

test.each(['a&b', 'a/b', "o'brien", '{a|b}~', 'a=b'])(
  'a user whose local part is %s can do what every user can',
  async (local) => {
    const email = `${local}@example.xn--fiqs8s`;
    const registered = await call('POST', '/api/auth/register', { name: 'Ada', email, password: secret });
    expect([registered.status, registered.body.data.user.email]).toEqual([201, email]);
    expect((await call('POST', '/api/auth/login', { email: email.toUpperCase(), password: secret })).status).toBe(200);
    expect((await call('POST', '/api/auth/password/forgot', { email })).status).toBe(202);
    expect((await call('POST', '/api/auth/email-sign-in', { email })).status).toBe(202);
    const admin = await person('Grace', ['user', 'admin']);
    expect((await admin.call('POST', '/api/invitations', { email: `new-${email}` })).status).toBe(201);
    const organisation = await admin.call('POST', '/api/organisations', { name: `Club ${local}` });
    const path = `/api/organisations/${organisation.body.data.id}/invitations`;
    expect((await admin.call('POST', path, { email })).status).toBe(201);
    expect((await admin.call('POST', '/api/auth/email', { email: `admin-${email}` })).status).toBe(202);
    expect((await admin.call('GET', `/api/users?email=${encodeURIComponent(email)}`)).body.meta.total).toBe(1);
    const rows = Readable.from([JSON.stringify({ name: 'Imported', email: `imported-${email}` })]);
    expect(await app.accounts!.importUsers(rows)).toMatchObject({ imported: 1, refused: 0 });
    await call('POST', '/api/notes', { contact: email });
    expect((await call('GET', `/api/notes?contact=${encodeURIComponent(email)}`)).body.meta.total).toBe(1);
  },
);

test.each([
  `${'a'.repeat(70)}@example.org`,
  `a@${label(64)}.org`,
  'a@example-.com',
  'a..b@example.org',
  'a@example.org.',
])('%s is refused by everything that would send to it or store it, and is unknown to the login', async (email) => {
  const admin = await person('Grace', ['user', 'admin']);
  const organisation = (await admin.call('POST', '/api/organisations', { name: 'Club' })).body.data.id;
  const results = await Promise.all([
    call('POST', '/api/auth/register', { name: 'Ada', email, password: secret }),
    call('POST', '/api/auth/password/forgot', { email }),
    call('POST', '/api/auth/email-sign-in', { email }),
    admin.call('POST', '/api/auth/email', { email }),
    admin.call('POST', '/api/invitations', { email }),
    admin.call('POST', `/api/organisations/${organisation}/invitations`, { email }),
  ]);
  for (const { status, body } of results)
    expect([status, body.error.details]).toEqual([422, { email: 'Must be a valid e-mail address' }]);
  expect((await call('POST', '/api/auth/login', { email, password: secret })).status).toBe(401);
  const rows = Readable.from([JSON.stringify({ name: 'Imported', email })]);
  expect(await app.accounts!.importUsers(rows)).toMatchObject({ imported: 0, refused: 1 });
});

test('the OpenAPI document states the pattern of every address in a request, and promises none for stored ones', async () => {
  const { paths, components } = (await call('GET', '/api/openapi.json')).body;
  const bodies = ['/api/auth/password/forgot', '/api/auth/email-sign-in', '/api/auth/email', '/api/invitations'];
  for (const path of bodies) {
    const { schema } = paths[path].post.requestBody.content['application/json'];
    const { properties } = schema.$ref ? components.schemas[schema.$ref.split('/').at(-1)] : schema;
    expect([path, properties.email]).toMatchObject([path, { type: 'string', format: 'email' }]);
    for (const address of accepted) expect(address).toMatch(new RegExp(properties.email.pattern));
    expect('a@example-.com').not.toMatch(new RegExp(properties.email.pattern));
  }
  expect(components.schemas.Invitation.properties.email).toEqual({ type: 'string', format: 'email' });
});
