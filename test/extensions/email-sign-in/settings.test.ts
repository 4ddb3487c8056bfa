import { afterAll, expect, test, vi } from 'vitest';
import type { ExtensionHost } from '../../../src/extension/index.ts';
import { createApp, defineExtension, defineUser, emailSignIn, f } from '../../../src/index.ts';
import { refusal, startSmtpServer } from '../../fakes/smtp-server.ts';
import { startTestApp } from '../../support/app.ts';
import { getStartupError } from '../../support/startup-error.ts';
import { INVALID, openMailbox, until } from './mailbox.ts';

const settings = { relay: { sweepMs: 50 } };
const resources = [defineUser()] as const;

const refusals: Error[] = [];
const smtp = await startSmtpServer({ onRcptTo: (_address, _session, done) => done(refusals.shift()) });
afterAll(() => smtp.close());

test.each<[object, string]>([
  [{ url: 'app.example.com' }, 'emailSignIn.url: must look like https://app.example.com/sign-in, without a fragment'],
  [{ url: 'javascript:alert(1)' }, 'emailSignIn.url: must look like'],
  [{ url: 'https://app.example.com/#/sign-in' }, 'emailSignIn.url: must look like'],
  [
    { ttl: '0m' },
    'emailSignIn.ttl: must be a duration such as "30s", "15m", "12h" or "7d", greater than 0 and at most 1h',
  ],
  [
    { ttl: '61m' },
    'emailSignIn.ttl: must be a duration such as "30s", "15m", "12h" or "7d", greater than 0 and at most 1h',
  ],
  [{ createUser: { name: 'Ann' } }, 'emailSignIn.createUser: must be a function'],
  [{ mailLimit: 5 }, 'emailSignIn.mailLimit: must be false or { limit, windowMs }'],
  [{ limits: { perClient: false } }, 'emailSignIn.limits: there is no such setting'],
])('the settings %j are a configuration error', (given, message) => {
  expect(getStartupError({ resources, extensions: [emailSignIn(given as never)] })).toContain(message);
});

test('an app without accounts, with a field emailVerifiedAt of its own, or without APP_URL in production does not start', () => {
  const extensions = [emailSignIn()];
  expect(getStartupError({ resources, extensions, settings: { auth: { enabled: false } } })).toContain(
    'extension "emailSignIn": it needs accounts',
  );
  const own = defineUser({ fields: { emailVerifiedAt: f.date() } });
  expect(getStartupError({ resources: [own], extensions })).toContain('rename yours');
  const env = { NODE_ENV: 'production', DATABASE_URL: 'postgres://localhost/none', REDIS_URL: 'redis://localhost' };
  expect(() => createApp({ resources, extensions }, env)).toThrow('APP_URL is missing');
});

test('by default, the link points to /sign-in below APP_URL, with the token in the fragment', async () => {
  const env = () => ({ APP_URL: 'https://api.example.com/base/' });
  const { ask, mailsTo, allComposed } = await openMailbox(
    await startTestApp({ resources, extensions: [emailSignIn()] }, { roles: 'all', env }),
  );
  await ask('ann@example.com');
  await allComposed();
  const [mail] = await mailsTo('ann@example.com');
  expect(mail!.text).toMatch(/^https:\/\/api\.example\.com\/base\/sign-in#token=[\w-]{43}$/m);
  expect(mail!.text).toContain('within 10 minutes');
});

test('a project sets the page, the lifetime and the text in the language of the client or the user', async () => {
  const mailTexts = {
    'sign-in': {
      de: ({ link, code, minutes, isNewAccount }: Record<string, unknown>) => ({
        subject: isNewAccount ? 'Konto erstellen' : 'Anmelden',
        text: `${link} ${code} ${minutes}`,
      }),
    },
  };
  const started = await startTestApp(
    {
      resources: [defineUser({ fields: { locale: f.string() } })],
      extensions: [emailSignIn({ url: 'https://app.example.com/in?app=1', ttl: '30s' })],
      mailTexts,
    },
    { roles: 'all' },
  );
  const { ask, mailsTo, allComposed, sql } = await openMailbox(started);
  await ask('ann@example.com', { 'accept-language': 'de-CH, en;q=0.5' });
  const bob = await started.person('Bob');
  await started.app.service('user').update(bob.id, { locale: 'de' });
  await ask(bob.email, { 'accept-language': 'en' });
  await allComposed();
  const [toAnn, toBob] = [(await mailsTo('ann@example.com'))[0]!, (await mailsTo(bob.email))[0]!];
  expect([toAnn.subject, toBob.subject]).toEqual(['Konto erstellen', 'Anmelden']);
  expect(toAnn.text).toMatch(/^https:\/\/app\.example\.com\/in\?app=1#token=[\w-]{43} \d{6} 0\.5$/);
  const { rows } = await sql.query(
    `select distinct expires_at <= now() + interval '30 seconds' as soon from email_proofs`,
  );
  expect(rows).toEqual([{ soon: true }]);
});

test('createUser sets additional fields; if required fields are missing, the 422 names them and link and code still work', async () => {
  let fields: Record<string, unknown> = {};
  const createUser = vi.fn((_about: { email: string }) => fields);
  const started = await startTestApp(
    {
      resources: [defineUser({ fields: { phone: f.string().required(), handle: f.string().unique() } })],
      extensions: [emailSignIn({ createUser })],
    },
    { roles: 'all' },
  );
  const { request, withLink, withCode, usersWith } = await openMailbox(started);
  const asked = await request('ann@example.com');
  for (const signIn of [withLink, withCode]) {
    const { status, body } = await signIn(asked);
    expect([status, body.error.details]).toEqual([422, { phone: 'Is required' }]);
  }
  expect(await usersWith('ann@example.com')).toEqual([]);
  expect(createUser).toHaveBeenLastCalledWith({ email: 'ann@example.com' });
  fields = { name: 'Ann', phone: '1', handle: 'ann', roles: ['admin'], email: 'other@example.com' };
  const { status, body } = await withCode(asked);
  expect([status, body.data.user]).toEqual([
    200,
    expect.objectContaining({ name: 'Ann', phone: '1', roles: ['admin'], email: 'ann@example.com' }),
  ]);
  // Another unique value is taken: that is an error of the project, which the client sees.
  expect((await withCode(await request('bob@example.com'))).status).toBe(409);
});

test('a local part that does not fit the field of names is left out, so that createUser and the default decide', async () => {
  const name = f.string().min(2).default('New member');
  const started = await startTestApp(
    { resources: [defineUser({ fields: { name } })], extensions: [emailSignIn()] },
    { roles: 'all' },
  );
  const { request, withLink } = await openMailbox(started);
  const { status, body } = await withLink(await request('a@example.com'));
  expect([status, body.data?.user.name]).toEqual([200, 'New member']);
});

test.each([
  ['register: false', [emailSignIn({ register: false })], {}],
  ['auth.register: false', [emailSignIn()], { register: false }],
] as const)(
  'with %s, an address without an account gets no e-mail, and one with an account does',
  async (_what, extensions, auth) => {
    const started = await startTestApp({ resources, extensions, settings: { auth } }, { roles: 'all' });
    const { ask, request, withLink, mailsTo, allComposed } = await openMailbox(started);
    const { id } = await started.app
      .service('user')
      .create({ name: 'Ann', email: 'ann@example.com', password: 'correct horse battery' }, { as: 'system' } as never);
    expect((await ask('nobody@example.com')).status).toBe(202);
    await allComposed();
    expect(await mailsTo('nobody@example.com')).toEqual([]);
    expect((await withLink(await request('ann@example.com'))).body.data.user.id).toBe(id);
  },
);

test('requests over the limit of an address get the same response but no e-mail, with and without an account', async () => {
  const started = await startTestApp(
    {
      resources,
      extensions: [emailSignIn({ mailLimit: { limit: 2, windowMs: 60_000 } })],
      settings: { ...settings, rateLimit: { enabled: true, global: false, auth: false } },
    },
    { roles: 'all' },
  );
  const { ask, mailsTo, allComposed, verify } = await openMailbox(started);
  const { email } = await started.person('Ann');
  for (const address of [email, 'nobody@example.com']) {
    const responses = [];
    for (let i = 0; i < 4; i++) {
      responses.push(await ask(address));
      await allComposed();
    }
    expect(responses.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    expect(await mailsTo(address)).toHaveLength(2);
    const { signInToken } = responses[3]!.body.data;
    expect((await verify({ signInToken, code: '000000' })).body.error).toMatchObject(INVALID);
  }
  expect((await ask('other@example.com')).status).toBe(202);
  await allComposed();
  expect(await mailsTo('other@example.com')).toHaveLength(1);
});

test('both routes count towards the rate limit of sign-ins', async () => {
  const started = await startTestApp(
    {
      resources,
      extensions: [emailSignIn()],
      settings: { rateLimit: { enabled: true, global: false, auth: { limit: 2, windowMs: 3_600_000 } } },
    },
    { roles: 'all' },
  );
  const { ask, verify } = await openMailbox(started);
  const requests = [await ask('a@example.com'), await ask('b@example.com'), await ask('c@example.com')];
  expect(requests.map(({ status }) => status)).toEqual([202, 202, 429]);
  const body = { signInToken: 'x', code: '000000' };
  const attempts = [await verify(body), await verify(body), await verify(body)];
  expect(attempts.map(({ status }) => status).at(-1)).toBe(429);
});

test('an e-mail that is sent again carries new secrets, and those of the first attempt do not work', async () => {
  const started = await startTestApp(
    { resources, extensions: [emailSignIn()], settings },
    { roles: 'all', env: () => ({ SMTP_URL: smtp.url, MAIL_FROM: 'Belfry <bells@example.com>' }) },
  );
  const { sql, ask, withLink } = await openMailbox(started);
  refusals.push(refusal(451, 'Later'));
  const { signInToken } = (await ask('ann@example.com')).body.data;
  await until(async () => (await sql.query('select 1 from mails where error is not null')).rowCount === 1);
  const hash = async () => (await sql.query('select token_hash from email_proofs')).rows[0].token_hash;
  const former = await hash();
  await sql.query(`update mails set due_at = now() - interval '1 second'`);
  await until(() => smtp.mails.length === 1);
  expect(await hash()).not.toBe(former);
  const raw = smtp.mails[0]!.raw.replaceAll('=\r\n', '').replaceAll('=3D', '=');
  const token = /token=([\w-]{43})/.exec(raw)![1]!;
  expect((await withLink({ email: '', code: '', signInToken, token })).status).toBe(200);
});

test('a user without a password can remove another way to sign in, because e-mail remains if the address is verified', async () => {
  let host: ExtensionHost | undefined;
  const probe = defineExtension({
    name: 'probe',
    setup(given) {
      host = given;
      return {};
    },
  });
  const started = await startTestApp({ resources, extensions: [emailSignIn(), probe] }, { roles: 'all' });
  const { request, withLink, sql } = await openMailbox(started);
  const { id } = (await withLink(await request('ann@example.com'))).body.data.user;
  await expect(host!.transaction((tx) => host!.accounts!.assertCanStillSignIn(id, tx.database))).resolves.toBe(
    undefined,
  );
  await sql.query('update users set email_verified_at = null where id = $1', [id]);
  // The first link to an unverified address would end all other ways to sign in.
  await expect(host!.transaction((tx) => host!.accounts!.assertCanStillSignIn(id, tx.database))).rejects.toMatchObject({
    code: 'CONFLICT',
  });
});
