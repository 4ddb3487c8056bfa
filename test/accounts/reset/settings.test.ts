import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { defineUser, f } from '../../../src/index.ts';
import { refusal, startSmtpServer } from '../../fakes/smtp-server.ts';
import { startTestApp } from '../../support/app.ts';

const until = <T>(look: () => T | Promise<T>) => vi.waitUntil(look, { timeout: 60_000, interval: 10 });
const cheap = { logN: 4, r: 8, p: 1 };

const own = await startTestApp(
  {
    resources: [defineUser()],
    settings: {
      auth: { password: cheap, resetUrl: 'https://app.example.com/new?lang=de#form', resetTokenTtlMinutes: 5 },
      mail: {
        templates: {
          passwordReset: async ({ user, link, minutes }) => ({
            subject: `Hallo ${String(user.name)}`,
            text: `${link} (${minutes} Minuten)`,
            html: `<a href="${link}">Neu</a>`,
          }),
        },
      },
    },
  },
  { roles: 'all' },
);
const placed = await startTestApp(
  {
    resources: [defineUser({ fields: { email: f.email().required().unique() } })],
    settings: { auth: { password: cheap } },
  },
  { roles: 'all', env: () => ({ APP_URL: 'https://api.example.com/base/' }) },
);
const limited = await startTestApp(
  {
    resources: [defineUser()],
    settings: {
      auth: { password: cheap },
      rateLimit: { enabled: true, global: false, auth: { limit: 3, windowMs: 60_000 } },
      relay: { sweepMs: 50 },
    },
  },
  { roles: 'all' },
);
const responses: Error[] = [];
const smtp = await startSmtpServer({
  onRcptTo(_address, _session, done) {
    done(responses.shift());
  },
});
afterAll(() => smtp.close());
const events: string[] = [];
const mailed = await startTestApp(
  {
    resources: [defineUser()],
    settings: { auth: { password: cheap }, relay: { sweepMs: 50 } },
    listeners: (app) => app.on('auth.password_reset_requested', () => void events.push('requested')),
  },
  { roles: 'all', env: () => ({ SMTP_URL: smtp.url, MAIL_FROM: 'Belfry <bells@example.com>' }) },
);

/** Returns the newest captured e-mail of an app once there is one. */
const newest = ({ app }: { app: Pick<typeof own.app, 'captured'> }) =>
  until(async () => (await app.captured.mails())[0]);

test('a project can set the text of the e-mail, the URL of the link and its lifetime', async () => {
  const { email } = await own.person('Ann');
  await own.call('POST', '/api/auth/password/forgot', { email });
  const mail = await newest(own);
  expect(mail.subject).toBe('Hallo Ann');
  expect(mail.text).toMatch(/^https:\/\/app\.example\.com\/new\?lang=de&token=[\w-]{65}#form \(5 Minuten\)$/);
  const token = new URL(mail.text.split(' ')[0]!).searchParams.get('token');
  const body = { token, password: 'a staple that is new' };
  expect((await own.call('POST', '/api/auth/password/reset', body)).status).toBe(204);
});

test('without auth.resetUrl, the link points to /reset-password under APP_URL', async () => {
  const { email } = await placed.person('Ann');
  await placed.call('POST', '/api/auth/password/forgot', { email });
  expect((await newest(placed)).text).toMatch(/https:\/\/api\.example\.com\/base\/reset-password\?token=[\w-]{65}\n/);
});

test('after an e-mail change, a link sent to the former address stops working and new links go to the new address', async () => {
  const ann = await placed.person('Ann');
  const linkTo = async (email: string) => {
    await placed.call('POST', '/api/auth/password/forgot', { email });
    const mail = await until(async () => (await placed.app.captured.mails()).find(({ to }) => to === email));
    return new URL(/https:\S+/.exec(mail.text)![0]).searchParams.get('token');
  };
  const reset = async (token: unknown) =>
    (await placed.call('POST', '/api/auth/password/reset', { token, password: 'a staple that is new' })).status;
  const former = await linkTo(ann.email);
  const changed = `new-${ann.email}`;
  expect((await ann.call('PATCH', '/api/auth/me', { email: changed })).status).toBe(200);
  expect(await reset(former)).toBe(400);
  expect(await reset(await linkTo(changed))).toBe(204);
});

test('requests over the limit of one client or one account get the same response but no e-mail', async () => {
  const { app, call, person, env } = limited;
  const sql = new Client({ connectionString: env.DATABASE_URL! });
  await sql.connect();
  onTestFinished(() => sql.end());
  const allMade = () =>
    until(async () => (await sql.query('select 1 from mails where finished_at is null')).rowCount === 0);
  const { email } = await person('Ann');
  const statuses: number[] = [];
  for (let i = 0; i < 4; i++) {
    statuses.push((await call('POST', '/api/auth/password/forgot', { email })).status);
    await allMade();
  }
  expect(statuses).toEqual([202, 202, 202, 429]);
  expect(await app.captured.mails()).toHaveLength(3);
  // Stores a request as if another client had sent it and it had been accepted.
  await sql.query(
    `insert into mails (id, kind, data, created_at) values ($1, 'password-reset', $2, now() - interval '10 seconds')`,
    ['a'.repeat(24), JSON.stringify({ email, ip: '::1' })],
  );
  await sql.query('update password_resets set requested_at = now() - interval $$1 hour$$');
  await allMade();
  expect(await app.captured.mails()).toHaveLength(3);
});

test('an e-mail that is sent again carries a new link, invalidates the previous one, and emits its event once', async () => {
  const { call, person, env } = mailed;
  const sql = new Client({ connectionString: env.DATABASE_URL! });
  await sql.connect();
  const { email } = await person('Ann');
  responses.push(refusal(451, 'Later'));
  await call('POST', '/api/auth/password/forgot', { email });
  await until(async () => (await sql.query('select 1 from mails where error is not null')).rowCount === 1);
  const hash = async () => (await sql.query('select token_hash from password_resets')).rows[0].token_hash;
  const former = await hash();
  await sql.query('update mails set due_at = now() - make_interval(secs => 1)');
  await until(() => smtp.mails.length === 1);
  expect(await hash()).not.toBe(former);
  const raw = smtp.mails[0]!.raw.replaceAll('=\r\n', '').replaceAll('=3D', '=');
  const token = /token=([\w-]{65})/.exec(raw)![1];
  const body = { token, password: 'a staple that is new' };
  expect((await call('POST', '/api/auth/password/reset', body)).status).toBe(204);
  expect(events).toEqual(['requested']);
  await sql.end();
});

test('a reset counts towards the rate limit of sign-ins', async () => {
  const strict = await startTestApp(
    {
      resources: [defineUser()],
      settings: {
        auth: { password: cheap },
        rateLimit: { enabled: true, global: false, auth: { limit: 3, windowMs: 3_600_000 } },
      },
    },
    { roles: 'all' },
  );
  const statuses = [];
  for (let i = 0; i < 5; i++) {
    const body = { token: 'x'.repeat(65), password: 'a staple that is new' };
    statuses.push((await strict.call('POST', '/api/auth/password/reset', body)).status);
  }
  expect(statuses).toEqual([400, 400, 400, 429, 429]);
});
