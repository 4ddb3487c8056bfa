import { Client } from 'pg';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Person } from '../../../support/app.ts';
import { openMailbox } from '../../../support/mailbox.ts';
import { fetched, finished } from '../../privacy/export/app.ts';
import { startOrganisationApp } from '../setup.ts';

const {
  app,
  api,
  call: anonymous,
  url,
  env,
  person,
  organisation,
  addMember,
  within,
} = await startOrganisationApp({
  invitations: { maxPending: 3, perDay: 5 },
});
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());
const SUBJECT = 'You are invited to an organisation';
let [owner, admin, guest] = [] as unknown as [Person, Person, Person];
let team: { id: string; slug: string };
let adminMembership: string;

beforeEach(async () => {
  [owner, admin, guest] = [await person('owner'), await person('admin'), await person('guest')];
  team = await organisation(owner);
  adminMembership = await addMember(team, admin, 'admin');
});

const path = (rest = '') => `/api/organisations/${team.id}/invitations${rest}`;
async function invite(by: Person, email: string, role?: string) {
  const mailbox = openMailbox(app, email);
  const { status, body } = await by.call('POST', path(), { email, ...(role && { role }) });
  expect(body.error).toBeUndefined();
  expect(status).toBe(201);
  return { id: body.data.id as string, mailbox, ...(await mailbox.next(SUBJECT)) };
}
const accept = (who: Pick<Person, 'call'>, token: string) =>
  who.call('POST', '/api/organisation-invitations/accept', { token });
const INVALID = { code: 'INVALID_TOKEN', message: 'This invitation is invalid or has expired' };

describe('an invitation', () => {
  test('makes the owner of the address a member with its role', async () => {
    const { token, text } = await invite(owner, guest.email, 'admin');
    expect(text).not.toContain(team.slug);
    const preview = await anonymous('POST', '/api/organisation-invitations/preview', { token });
    expect(preview.body.data).toMatchObject({ organisation: { slug: team.slug }, email: guest.email, role: 'admin' });
    expect((await accept(guest, token)).body.data).toMatchObject({ organisation: team.id, role: 'admin' });
    expect((await guest.call('GET', `/api/organisations/${team.id}`)).status).toBe(200);
    expect((await owner.call('GET', path())).body.data).toMatchObject([{ status: 'accepted', email: guest.email }]);
  });

  test('of an address without an account is accepted after registration', async () => {
    const { token } = await invite(owner, 'newcomer@people.example.com');
    expect((await anonymous('POST', '/api/organisation-invitations/accept', { token })).status).toBe(401);
    const { body } = await anonymous('POST', '/api/auth/register', {
      name: 'New',
      email: 'newcomer@people.example.com',
      password: 'correct horse battery',
    });
    const call = (method: string, to: string, sent?: unknown) =>
      anonymous(method, to, sent, { authorization: `Bearer ${body.data.token}` });
    expect((await accept({ call: call as Person['call'] }, token)).body.data).toMatchObject({ role: 'member' });
  });

  test('is for an address in any case of letters', async () => {
    const shouted = guest.email.toUpperCase();
    const mailbox = openMailbox(app, guest.email);
    const { status, body } = await owner.call('POST', path(), { email: shouted });
    expect([status, body.data.email]).toEqual([201, guest.email]);
    const { token } = await mailbox.next(SUBJECT);
    expect((await owner.call('POST', path(), { email: guest.email })).status).toBe(409);
    // The header must not hide the address of the user.
    const inAnother = within(guest, (await organisation(guest)).slug);
    const { body: accepted } = await inAnother('POST', '/api/organisation-invitations/accept', { token });
    expect(accepted.data).toMatchObject({ organisation: team.id, user: { id: guest.id } });
  });

  test('works once, however many requests use it at the same time', async () => {
    const { token } = await invite(owner, guest.email);
    const answers = await Promise.all(Array.from({ length: 6 }, () => accept(guest, token)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status, body } of answers) if (status !== 200) expect(body.error).toMatchObject(INVALID);
    expect((await accept(guest, token)).body.error).toMatchObject(INVALID);
    expect((await owner.call('GET', `/api/organisations/${team.id}/members`)).body.meta.total).toBe(3);
  });

  test('cannot be accepted by a user with another address, or with an API key, and still works afterwards', async () => {
    const { token } = await invite(owner, guest.email);
    const thief = await person('thief');
    expect((await accept(thief, token)).status).toBe(403);
    const key = await guest.call('POST', '/api/auth/api-keys', { name: 'k', scopes: ['*'] });
    const script = (method: string, to: string, body?: unknown) =>
      anonymous(method, to, body, { authorization: `Bearer ${key.body.data.key}` });
    expect((await accept({ call: script as Person['call'] }, token)).status).toBe(403);
    expect((await accept(guest, token)).status).toBe(200);
  });

  test('ends when it is revoked, sent again, or its organisation is deleted', async () => {
    const first = await invite(owner, guest.email);
    expect((await admin.call('POST', path(`/${first.id}/resend`))).status).toBe(200);
    const second = await first.mailbox.next(SUBJECT);
    expect((await accept(guest, first.token)).body.error).toMatchObject(INVALID);
    expect((await owner.call('DELETE', path(`/${first.id}`))).status).toBe(204);
    expect((await accept(guest, second.token)).body.error).toMatchObject(INVALID);
    const third = await invite(owner, guest.email);
    await api.delete(team.id);
    expect((await accept(guest, third.token)).body.error).toMatchObject(INVALID);
    expect(
      (await anonymous('POST', '/api/organisation-invitations/preview', { token: third.token })).body.error,
    ).toMatchObject(INVALID);
  });

  test('does not change the role of a member', async () => {
    const { token } = await invite(owner, admin.email);
    expect((await accept(admin, token)).body.data).toMatchObject({ role: 'admin' });
  });
});

describe('the rights of the inviter', () => {
  test('limit the role, and members who do not manage cannot invite', async () => {
    expect((await admin.call('POST', path(), { email: 'x@example.com', role: 'owner' })).status).toBe(403);
    expect((await owner.call('POST', path(), { email: 'x@example.com', role: 'boss' })).status).toBe(422);
    const member = await person('member');
    await addMember(team, member);
    expect((await member.call('POST', path(), { email: 'x@example.com' })).status).toBe(403);
    expect((await member.call('GET', path())).status).toBe(403);
    const key = await owner.call('POST', '/api/auth/api-keys', { name: 'k', scopes: ['*'] });
    const byKey = await anonymous(
      'POST',
      path(),
      { email: 'x@example.com' },
      { authorization: `Bearer ${key.body.data.key}` },
    );
    expect(byKey.status).toBe(403);
  });

  test('are needed when the invitation is accepted, too', async () => {
    const demoted = await invite(admin, guest.email, 'admin');
    await api.changeRole(team.id, adminMembership, 'member');
    expect((await accept(guest, demoted.token)).body.error).toMatchObject(INVALID);
    await api.changeRole(team.id, adminMembership, 'admin');
    expect((await accept(guest, demoted.token)).status).toBe(200);
    const late = await person('late');
    const removed = await invite(admin, late.email);
    await api.removeMember(team.id, adminMembership);
    expect((await accept(late, removed.token)).body.error).toMatchObject(INVALID);
  });

  test('never outlive the inviter, however the removal and the acceptance race', async () => {
    for (let round = 0; round < 5; round++) {
      const [inviter, invited] = [await person('inviter'), await person('invited')];
      const org = await organisation(owner);
      const membership = await addMember(org, inviter, 'admin');
      const mailbox = openMailbox(app, invited.email);
      await inviter.call('POST', `/api/organisations/${org.id}/invitations`, { email: invited.email });
      const { token } = await mailbox.next(SUBJECT);
      const [accepted] = await Promise.all([accept(invited, token), api.removeMember(org.id, membership)]);
      expect([200, 400]).toContain(accepted.status);
    }
  });
});

test('an invitation to a user is in the export of their data, and an erasure of the account removes it', async () => {
  const { id } = await invite(owner, guest.email);
  const others = await invite(owner, `other-${team.slug}@example.com`);
  const files = await fetched((await finished(guest.call)).url, { url });
  expect(files['account/organisation-invitations.ndjson']).toMatchObject([{ id, email: guest.email }]);
  const erased = await guest.call('POST', '/api/auth/me/erase', { password: 'correct horse battery' });
  expect(erased.status).toBe(202);
  await vi.waitUntil(
    async () => (await sql.query('select from organisation_invitations where id = $1', [id])).rowCount === 0,
    { timeout: 60_000, interval: 25 },
  );
  const { rows } = await sql.query('select id from organisation_invitations where organisation = $1', [team.id]);
  expect(rows).toEqual([{ id: others.id }]);
});

test('an invitation to an organisation that was just deleted is refused like every other link that does not work', async () => {
  const { token } = await invite(owner, guest.email);
  // The memberships are deleted later, so the inviter still has the role.
  await sql.query('delete from organisations where id = $1', [team.id]);
  expect((await accept(guest, token)).body.error).toMatchObject(INVALID);
});

describe('limits', () => {
  test('hold for expired invitations that are sent again, however many requests arrive at once', async () => {
    const emails = ['a', 'b', 'c', 'd'].map((name) => `${name}-${team.slug}@example.com`);
    const create = async (email: string) => (await owner.call('POST', path(), { email })).body.data.id as string;
    const expired = [await create(emails[0]!), await create(emails[1]!)];
    await sql.query(`update organisation_invitations set expires_at = now() - interval '1 minute' where id = any($1)`, [
      expired,
    ]);
    await create(emails[2]!);
    const pending = await create(emails[3]!);
    const answers = await Promise.all(expired.map((id) => owner.call('POST', path(`/${id}/resend`))));
    expect(answers.map(({ body }) => body.error?.code).sort()).toEqual(['LIMIT_REACHED', undefined]);
    // Another e-mail of the day is not left, so only the limit of pending invitations can have passed this request.
    expect((await owner.call('POST', path(`/${pending}/resend`))).body.error?.code).not.toBe('LIMIT_REACHED');
  });

  test('hold for pending invitations, for those of a day, and for one address', async () => {
    const emails = ['a', 'b', 'c', 'd'].map((name) => `${name}-${team.slug}@example.com`);
    const answers = await Promise.all(emails.map((email) => owner.call('POST', path(), { email })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
    expect(answers.find(({ status }) => status !== 201)?.body.error.code).toBe('LIMIT_REACHED');
    const taken = answers.find(({ status }) => status === 201)!.body.data;
    await owner.call('DELETE', path(`/${answers.findLast(({ status }) => status === 201)!.body.data.id}`));
    expect((await owner.call('POST', path(), { email: taken.email.toUpperCase() })).status).toBe(409);
    for (let i = 0; i < 3; i++) await owner.call('POST', path(`/${taken.id}/resend`));
    expect((await within(owner, team.id)('POST', path(), { email: `z-${team.slug}@example.com` })).status).toBe(201);
  });
});
