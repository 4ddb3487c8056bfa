import { afterAll, expect, test } from 'vitest';
import { adminConsole, audit, defineMail, defineUser } from '../../../src/index.ts';
import { refusal, startSmtpServer } from '../../fakes/smtp-server.ts';
import { type Person, startTestApp } from '../../support/app.ts';

const PAGE = '/console/api/mails';
const PASSWORD = 'hush-password';
/** The errors with which the server refuses e-mails, by recipient. */
const refusals = new Map<string, Error>();
const smtp = await startSmtpServer({
  onAuth: ({ username }, _session, done) => done(null, { user: username }),
  onRcptTo: ({ address }, _session, done) => done(refusals.get(address)),
});
afterAll(() => smtp.close());

const PRODUCTION = {
  NODE_ENV: 'production',
  DRAIN_DELAY_MS: '0',
  APP_URL: 'https://api.example.com',
  SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
  LOG_LEVEL: 'silent',
};
const options = {
  resources: [defineUser()],
  extensions: [audit(), adminConsole({ production: true })],
  mails: [
    defineMail('digest', {
      texts: {
        en: () => ({ subject: 'News', text: 'All is well' }),
        fr: () => {
          throw new Error('no French yet');
        },
      },
    }),
  ],
  settings: { rateLimit: { global: false, auth: false } },
} as const;
const { call, person, url } = await startTestApp(options, {
  roles: 'all',
  env: () => ({
    ...PRODUCTION,
    SMTP_URL: `${smtp.url.replace('//', `//bell:${PASSWORD}@`)}?requireTLS=false`,
    MAIL_FROM: 'Belfry <bells@example.com>',
  }),
});

const newAdmin = (name: string) => person(name, ['user', 'admin']);
const sendTest = (admin: Person, mail = 'digest/en') => admin.call('POST', `${PAGE}/texts/${mail}/test`);
const progressOf = async (admin: Person, id: string) => (await admin.call('GET', `${PAGE}/tests/${id}`)).body.data;
const trailOf = async (admin: Person) =>
  (await admin.call('GET', `/api/admin/audit?action=console.mailTested&user=${admin.id}`)).body.data;
/** Waits for what becomes of a test. */
const outcomeOf = (admin: Person, id: string) =>
  expect.poll(() => progressOf(admin, id), { timeout: 60_000, interval: 20 });

test('an administrator gets an e-mail with example values, through the worker, and follows it', async () => {
  const admin = await newAdmin('Root');
  const { meta } = (await admin.call('GET', `${PAGE}/texts`)).body;
  expect(meta).toEqual({ delivery: 'server', testTo: admin.email });
  const { status, body } = await sendTest(admin, 'verify-email/en');
  expect([status, Object.keys(body.data)]).toEqual([202, ['id']]);
  await outcomeOf(admin, body.data.id).toMatchObject({ status: 'sent', attempts: 1, problem: null, error: null });
  const received = smtp.mails.filter(({ to }) => to.includes(admin.email));
  expect(received.map(({ to }) => to)).toEqual([[admin.email]]);
  expect(received[0]?.raw).toContain('482913');
});

test('a test goes to no other address, and only its administrator sees what becomes of it', async () => {
  const [admin, other] = [await newAdmin('Una'), await newAdmin('Otto')];
  const to = 'victim@example.com';
  const { body } = await admin.call('POST', `${PAGE}/texts/digest/en/test?to=${to}`, { to });
  if (body.data !== undefined) await outcomeOf(admin, body.data.id).toMatchObject({ status: 'sent' });
  expect(smtp.mails.flatMap((mail) => mail.to)).not.toContain(to);
  const { id } = (await sendTest(admin)).body.data;
  expect((await other.call('GET', `${PAGE}/tests/${id}`)).status).toBe(404);
  expect((await admin.call('GET', `${PAGE}/tests/nope`)).status).toBe(404);
});

test('each test is in the audit trail, with the e-mail but without the address', async () => {
  const admin = await newAdmin('Traced');
  await sendTest(admin, 'sign-in/en');
  await expect
    .poll(() => trailOf(admin), { timeout: 60_000 })
    .toMatchObject([{ resource: 'mail', record: null, via: 'console', details: { kind: 'sign-in', locale: 'en' } }]);
  expect(JSON.stringify(await trailOf(admin))).not.toContain(admin.email);
});

test('an administrator can send 5 tests in a minute, and refused ones are not recorded', async () => {
  const [admin, other] = [await newAdmin('Eager'), await newAdmin('Calm')];
  const answers = await Promise.all(Array.from({ length: 7 }, () => sendTest(admin)));
  expect(answers.map(({ status }) => status).sort()).toEqual([202, 202, 202, 202, 202, 429, 429]);
  const refused = answers.find(({ status }) => status === 429)!;
  expect(refused.body.error).toMatchObject({ code: 'RATE_LIMITED', message: 'You can send 5 tests in a minute' });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await sendTest(other)).status).toBe(202);
  await expect.poll(() => trailOf(admin), { timeout: 60_000 }).toHaveLength(5);
  // Entries are written in the order of the trail: the one of the other administrator comes last.
  await expect.poll(() => trailOf(other), { timeout: 60_000 }).toHaveLength(1);
  expect(await trailOf(admin)).toHaveLength(5);
});

test.each([
  ['digest/fr', 422],
  ['digest/de', 404],
  ['nope/en', 404],
])('an e-mail that cannot be written is refused and counts for nothing: %s', async (mail, status) => {
  const admin = await newAdmin('Early');
  for (let i = 0; i < 6; i++) expect((await sendTest(admin, mail)).status).toBe(status);
  expect((await sendTest(admin)).status).toBe(202);
});

test('a refusal of the mail server is told with its reason, and without the password', async () => {
  const admin = await newAdmin('Refused');
  refusals.set(admin.email, refusal(550, `No such box, and your password is ${PASSWORD}`));
  const { id } = (await sendTest(admin)).body.data;
  await outcomeOf(admin, id).toMatchObject({ status: 'failed', attempts: 1, problem: 'address' });
  const { error } = await progressOf(admin, id);
  expect(error).toContain('No such box');
  expect(error).toContain('EENVELOPE');
  expect(error).not.toContain(PASSWORD);
});

test('an error that may pass is told with the time of the next attempt', async () => {
  const admin = await newAdmin('Waiting');
  refusals.set(admin.email, refusal(450, 'Greylisted'));
  const { id } = (await sendTest(admin)).body.data;
  await outcomeOf(admin, id).toMatchObject({ status: 'queued', attempts: 1, problem: 'address' });
  const { dueAt, error } = await progressOf(admin, id);
  expect(Date.parse(dueAt)).toBeGreaterThan(Date.now() - 60_000);
  expect(error).toContain('Greylisted');
});

test('a frame is shown without the session, and only administrators get its URL', async () => {
  const [admin, user] = [await newAdmin('Framer'), await person('Plain')];
  const path = `${PAGE}/texts/digest/en/frame`;
  expect([(await call('GET', path)).status, (await user.call('GET', path)).status]).toEqual([401, 403]);
  const { url: frame } = (await admin.call('GET', path)).body.data;
  expect(frame).not.toContain(admin.token);
  expect(await (await fetch(url + frame)).text()).toContain('All is well');
  expect((await fetch(`${url}${frame.split('?')[0]}`)).status).toBe(404);
});

test('without a mail server, the page knows it and no test is stored', async () => {
  const without = await startTestApp(options, { roles: ['web'], env: () => PRODUCTION });
  const admin = await without.person('Root', ['user', 'admin']);
  expect((await admin.call('GET', `${PAGE}/texts`)).body.meta).toEqual({ delivery: 'none', testTo: admin.email });
  const { status, body } = await sendTest(admin);
  expect([status, body.error.code]).toEqual([409, 'CONFLICT']);
  expect(body.error.message).toContain('SMTP_URL and MAIL_FROM');
});
