import { Client as PostgresClient } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { audit, defineUser, f, invitations, privacy, twoFactor } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { openMailbox } from '../../support/mailbox.ts';
import { getStartupError } from '../../support/startup-error.ts';
import { fetched, finished } from '../privacy/export/app.ts';
import { INVALID, password, startInvitationApp } from './setup.ts';

const events: [name: string, payload: Record<string, unknown>][] = [];
const { app, call, url, env } = await startTestApp(
  {
    resources: [defineUser({ fields: { team: f.string().max(20) }, roles: ['editor'] })],
    extensions: [invitations({ policy: 'admin | editor', maxPending: 3 }), twoFactor(), audit(), privacy()],
    settings: { auth: { register: false }, relay: { sweepMs: 50, pollMs: 50 } },
    listeners(app) {
      for (const name of ['auth.invitation_sent', 'auth.invitation_accepted', 'auth.invitation_revoked', 'auth.login'])
        app.on(name, (payload: Record<string, unknown>) => void events.push([name, payload]));
    },
  },
  { roles: 'all' },
);
const rateLimit = { enabled: true, auth: false } as const;
const limited = await startInvitationApp({ mailLimit: { limit: 2, windowMs: 60_000 } }, { rateLimit });
const unlimited = await startInvitationApp({ mailLimit: false }, { rateLimit });
const sql = new PostgresClient({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

let people = 0;
async function createPerson(roles: ('admin' | 'editor' | 'user')[] = ['user']) {
  people += 1;
  const email = `member${people}@example.com`;
  const { id } = await app.service('user').create({ name: 'Ada', email, password, roles });
  const { body } = await call('POST', '/api/auth/login', { email, password });
  return { id, email, token: body.data.token as string, call: createClient(url, body.data.token) };
}
const admin = await createPerson(['admin']);
let guests = 0;
async function invite(fields: object = {}, who = admin) {
  guests += 1;
  const email = `guest${guests}@example.com`;
  const answer = await who.call('POST', '/api/invitations', { email, ...fields });
  return { email, answer, id: answer.body.data?.id as string, mailbox: openMailbox(app, email) };
}
const accept = (body: object, client = call) => client('POST', '/api/auth/invitations/accept', body);
const preview = (token: string) => call('POST', '/api/auth/invitations/preview', { token });

test('an invited address registers with the link, although registration is closed: with a verified address and the roles', async () => {
  events.length = 0;
  const { email, answer, mailbox } = await invite({ roles: ['editor'] });
  expect(answer).toMatchObject({
    status: 201,
    body: { data: { email, roles: ['editor'], invitedBy: admin.id, status: 'pending', acceptedAt: null } },
  });
  expect(JSON.stringify(answer.body)).not.toMatch(/token/i);
  const { token, subject } = await mailbox.next();
  expect(subject).toBe('You are invited');
  expect((await preview(token)).body.data).toMatchObject({ email, hasAccount: false });
  expect((await call('POST', '/api/auth/register', { name: 'Ann', email, password })).status).toBe(403);
  const accepted = await accept({ token, name: 'Ann', password, team: 'blue' });
  expect(accepted.headers.get('cache-control')).toBe('no-store');
  expect(accepted.body.data.user).toMatchObject({
    name: 'Ann',
    email,
    roles: ['user', 'editor'],
    emailVerifiedAt: expect.any(String),
  });
  const session = (await createClient(url, accepted.body.data.token)('GET', '/api/auth/sessions')).body.data[0];
  expect(session.method).toBe('invitation');
  expect((await call('POST', '/api/auth/login', { email, password })).status).toBe(200);
  expect(events.map(([name]) => name)).toEqual([
    'auth.invitation_sent',
    'auth.invitation_accepted',
    'auth.login',
    'auth.login',
  ]);
  for (const again of [await accept({ token, name: 'Eve', password }), await preview(token)])
    expect(again.body.error).toMatchObject(INVALID);
});

test('the rules of a registration apply: fields that only admins set, unknown fields and weak passwords are refused, and the link stays usable', async () => {
  const { email, mailbox } = await invite();
  const { token } = await mailbox.next();
  for (const [fields, details] of [
    [{ name: 'Ann', password, roles: ['admin'] }, { roles: 'You are not allowed to set this field' }],
    [{ name: 'Ann', password, status: 'active' }, { status: 'You are not allowed to set this field' }],
    [{ name: 'Ann', password, emailVerifiedAt: new Date().toISOString() }, { emailVerifiedAt: 'Is read-only' }],
    [{ name: 'Ann', password, titel: 'x' }, { titel: 'Unknown field' }],
    [{ name: 'Ann', password: 'password' }, { password: 'This password is too common, choose another one' }],
    [
      { name: 'Ann', password: `${email.split('@')[0]}99` },
      { password: 'Your password must not contain your email address' },
    ],
    [{ password }, { name: 'Is required' }],
  ] as const)
    expect((await accept({ token, ...fields })).body.error.details).toEqual(details);
  expect((await accept({ token, name: 'Ann', email: 'other@example.com' })).body.error.details).toEqual({
    email: 'Must be the invited address',
  });
  expect((await accept({ token, name: 'Ann', email, password })).body.data.user.email).toBe(email);
});

test('a user can accept without a password, and sets one later', async () => {
  const { mailbox } = await invite();
  const { body } = await accept({ token: (await mailbox.next()).token, name: 'Ann' });
  const ann = createClient(url, body.data.token);
  expect((await ann('POST', '/api/auth/password', { newPassword: 'a staple that is new' })).status).toBe(204);
});

test('many concurrent uses of one link create one user and one session', async () => {
  const { email, mailbox } = await invite();
  const { token } = await mailbox.next();
  events.length = 0;
  const answers = await Promise.all(Array.from({ length: 10 }, () => accept({ token, name: 'Ann' })));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(answers.every(({ status }) => [200, 400, 409].includes(status))).toBe(true);
  expect(events.filter(([name]) => name === 'auth.login')).toHaveLength(1);
  expect(await app.service('user').count({ email })).toBe(1);
});

test('the owner of a verified account signs in to accept; the link alone gives no access to it', async () => {
  const ada = await createPerson();
  await sql.query('update users set email_verified_at = now() where id = $1', [ada.id]);
  await admin.call('POST', '/api/invitations', { email: ada.email, roles: ['editor'] });
  const { token } = await openMailbox(app, ada.email).next('You are invited');
  expect((await preview(token)).body.data.hasAccount).toBe(true);
  const stranger = await createPerson();
  for (const client of [call, stranger.call])
    expect((await accept({ token }, client)).body.error.code).toBe('CONFLICT');
  const accepted = await accept({ token }, ada.call);
  expect(accepted.body.data.user).toMatchObject({ id: ada.id, roles: ['user', 'editor'] });
  expect((await call('POST', '/api/auth/login', { email: ada.email, password })).status).toBe(200);
});

test('an account with the address that was never verified is claimed: its creator loses the password and the session', async () => {
  const mallory = await createPerson();
  await admin.call('POST', '/api/invitations', { email: mallory.email, roles: ['editor'] });
  const { token } = await openMailbox(app, mallory.email).next('You are invited');
  expect((await preview(token)).body.data.hasAccount).toBe(false);
  expect((await accept({ token })).body.data.user).toMatchObject({ id: mallory.id, roles: ['user', 'editor'] });
  expect((await mallory.call('GET', '/api/auth/me')).status).toBe(401);
  expect((await call('POST', '/api/auth/login', { email: mallory.email, password })).status).toBe(401);
});

test('only users whom the policy allows invite, and only users who may set roles grant them', async () => {
  const [editor, member] = [await createPerson(['user', 'editor']), await createPerson()];
  expect((await call('POST', '/api/invitations', { email: 'x@example.com' })).status).toBe(401);
  expect((await invite({}, member)).answer.status).toBe(403);
  expect((await member.call('GET', '/api/invitations')).status).toBe(403);
  expect((await invite({ roles: ['admin'] }, editor)).answer.body.error.details).toEqual({
    roles: 'You are not allowed to set this field',
  });
  expect((await invite({}, editor)).answer.status).toBe(201);
  expect((await invite({ roles: ['king'] })).answer.body.error.details.roles).toMatch(/^Must be some of: /);
  for (const [body, details] of [
    [{}, { email: 'Is required' }],
    [{ email: 'no address' }, { email: 'Must be a valid e-mail address' }],
    [{ email: 'a@b.co', roles: 'admin' }, { roles: 'Must be an array of roles' }],
    [{ email: 'a@b.co', name: 'x' }, { name: 'Unknown field' }],
  ] as const)
    expect((await admin.call('POST', '/api/invitations', body)).body.error.details).toEqual(details);
});

test('inviters see and manage their own invitations, admins all; pages continue where the last one ended', async () => {
  const [one, two] = [await createPerson(['user', 'editor']), await createPerson(['user', 'editor'])];
  const [first, second] = [await invite({}, one), await invite({}, one)];
  const emails = async (client: typeof call, query = '') =>
    (await client('GET', `/api/invitations${query}`)).body.data.map(({ email }: { email: string }) => email);
  expect(await emails(one.call)).toEqual([second.email, first.email]);
  expect(await emails(two.call)).toEqual([]);
  expect(await emails(admin.call)).toContain(first.email);
  const page = await one.call('GET', '/api/invitations?limit=1&status=pending');
  expect(page.body.data).toHaveLength(1);
  expect(await emails(one.call, `?limit=1&after=${page.body.meta.next}`)).toEqual([first.email]);
  expect((await one.call('GET', '/api/invitations?status=lost')).status).toBe(400);
  for (const [method, path] of [
    ['DELETE', `/api/invitations/${first.id}`],
    ['POST', `/api/invitations/${first.id}/resend`],
  ] as const)
    expect((await two.call(method, path)).status).toBe(404);
  const { token } = await first.mailbox.next();
  expect((await one.call('DELETE', `/api/invitations/${first.id}`)).status).toBe(204);
  expect((await accept({ token, name: 'Ann' })).body.error).toMatchObject(INVALID);
  expect((await one.call('DELETE', `/api/invitations/${first.id}`)).status).toBe(404);
});

test('resending invalidates the former link and extends the invitation, also an expired one', async () => {
  const { id, mailbox } = await invite();
  const former = await mailbox.next();
  await sql.query(`update invitations set expires_at = now() - interval '1 minute' where id = $1`, [id]);
  expect((await accept({ token: former.token, name: 'Ann' })).body.error).toMatchObject(INVALID);
  expect((await admin.call('POST', `/api/invitations/${id}/resend`)).body.data.status).toBe('pending');
  const latest = await mailbox.next();
  expect((await accept({ token: former.token, name: 'Ann' })).body.error).toMatchObject(INVALID);
  expect((await accept({ token: latest.token, name: 'Ann' })).status).toBe(200);
  expect((await admin.call('POST', `/api/invitations/${id}/resend`)).status).toBe(404);
});

test('an address has one pending invitation, and an inviter a limited number of them, however many requests arrive at once', async () => {
  const editor = await createPerson(['user', 'editor']);
  const same = await Promise.all(
    Array.from({ length: 5 }, () => editor.call('POST', '/api/invitations', { email: 'same@example.com' })),
  );
  expect(same.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
  const many = await Promise.all(Array.from({ length: 5 }, () => invite({}, editor)));
  expect(many.map(({ answer }) => answer.status).sort()).toEqual([201, 201, 409, 409, 409]);
});

test('a resend of an expired invitation counts like a new one, however many requests arrive at once; of a pending one, it does not', async () => {
  const editor = await createPerson(['user', 'editor']);
  const expired = [(await invite({}, editor)).id, (await invite({}, editor)).id];
  await sql.query(`update invitations set expires_at = now() - interval '1 minute' where id = any($1)`, [expired]);
  const pending = [(await invite({}, editor)).id, (await invite({}, editor)).id];
  const resend = (id: string, who = editor) => who.call('POST', `/api/invitations/${id}/resend`);
  const answers = await Promise.all(expired.flatMap((id) => [resend(id), resend(id, admin)]));
  const counted = await sql.query('select from invitations where invited_by = $1 and expires_at > now()', [editor.id]);
  expect(counted.rowCount).toBe(3);
  expect(answers.filter(({ status }) => status === 409).map(({ body }) => body.error.code)).toContain('LIMIT_REACHED');
  expect((await resend(pending[0]!)).status).toBe(200);
});

test('an invitation to a user is in the export of their data, and an erasure of the account removes it', async () => {
  const ada = await createPerson();
  const { body } = await admin.call('POST', '/api/invitations', { email: ada.email });
  const files = await fetched((await finished(ada.call)).url, { url });
  expect(files['account/invitations.ndjson']).toMatchObject([{ id: body.data.id, email: ada.email }]);
  expect((await ada.call('POST', '/api/auth/me/erase', { password })).status).toBe(202);
  await vi.waitUntil(
    async () => (await sql.query('select from invitations where email = $1', [ada.email])).rowCount === 0,
    { timeout: 60_000, interval: 25 },
  );
});

test('the pending invitations of a deleted inviter end', async () => {
  const editor = await createPerson(['user', 'editor']);
  const { mailbox } = await invite({}, editor);
  const { token } = await mailbox.next();
  await app.service('user').delete(editor.id);
  expect((await accept({ token, name: 'Ann' })).body.error).toMatchObject(INVALID);
});

test.each([
  ['nothing', undefined],
  ['a foreign token', `svc_${'a'.repeat(64)}`],
  ['no token', 'x'],
  ['a number', 5],
  ['a NUL', 'a\0'],
])('an acceptance with %s is refused', async (_what, token) => {
  const { status } = await accept({ token, name: 'Ann' });
  expect([400, 422]).toContain(status);
});

test('an invited user is not asked for a second factor, but an invited owner of an account with one is', async () => {
  const ada = await createPerson();
  await sql.query('update users set email_verified_at = now() where id = $1', [ada.id]);
  await ada.call('POST', '/api/auth/2fa/enrol', { password });
  await sql.query('update two_factors set confirmed_at = now() where user_id = $1', [ada.id]);
  await admin.call('POST', '/api/invitations', { email: ada.email });
  const { token } = await openMailbox(app, ada.email).next('You are invited');
  expect((await accept({ token }, ada.call)).body.data).toMatchObject({ mfaRequired: true });
});

const LIMITED = {
  code: 'RATE_LIMITED',
  message: 'This address has received too many invitations; try again later',
};

test('a resend above the limit of the address is refused, and the link that was sent last keeps working', async () => {
  const admin = await limited.createPerson(['admin']);
  const { id, mailbox } = await limited.invite(admin.call);
  expect((await admin.call('POST', `/api/invitations/${id}/resend`)).status).toBe(200);
  const { token } = await mailbox.next();
  const refused = await admin.call('POST', `/api/invitations/${id}/resend`);
  expect(refused).toMatchObject({ status: 429, body: { error: LIMITED } });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await limited.accept({ token, name: 'Ann' })).status).toBe(200);
});

test('an invitation above the limit of the address is refused and not stored, and refused requests do not count', async () => {
  const admin = await limited.createPerson(['admin']);
  const { id, email } = await limited.invite(admin.call);
  for (let request = 0; request < 3; request++)
    expect((await admin.call('POST', '/api/invitations', { email })).body.error.code).toBe('CONFLICT');
  expect((await admin.call('POST', `/api/invitations/${id}/resend`)).status).toBe(200);
  await admin.call('DELETE', `/api/invitations/${id}`);
  expect((await admin.call('POST', '/api/invitations', { email })).body.error).toMatchObject(LIMITED);
  expect((await limited.sql.query('select 1 from invitations where email = $1', [email])).rowCount).toBe(0);
});

test('without a limit of e-mails, only the number of requests of a client is limited', async () => {
  const admin = await unlimited.createPerson(['admin']);
  const { id } = await unlimited.invite(admin.call);
  const resend = () => admin.call('POST', `/api/invitations/${id}/resend`);
  for (let request = 0; request < 30; request++) expect((await resend()).status).toBe(200);
  expect((await resend()).status).toBe(429);
});

test('wrong settings are configuration errors', () => {
  const error = (options: object) => getStartupError({ resources: [defineUser()], extensions: [invitations(options)] });
  for (const ttl of ['0d', '91d', '7', 7]) expect(error({ ttl })).toContain('greater than 0 and at most 90d');
  expect(error({ url: 'https://app.example.com/#/invitation' })).toContain('without a fragment');
  expect(error({ mailLimit: true })).toContain('must be false or { limit, windowMs }');
  expect(error({ url: 'ftp://x' })).toContain('must look like https://app.example.com/invitation');
  expect(error({ polcy: 'admin' })).toContain('polcy');
});
