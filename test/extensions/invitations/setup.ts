import { Client as PostgresClient } from 'pg';
import { afterAll } from 'vitest';
import { apiKeys, defineUser, emailVerification, f, type InvitationOptions, invitations } from '../../../src/index.ts';
import { type Client, createClient, startTestApp } from '../../support/app.ts';
import { openMailbox } from '../../support/mailbox.ts';

/** The password of every person. */
export const password = 'correct horse battery';

/** The error of an invitation that does not work. */
export const INVALID = { code: 'INVALID_TOKEN', message: 'This invitation is invalid or has expired' };

type Role = 'admin' | 'editor' | 'user';

/** Starts an app with invitations for the test file. */
export async function startInvitationApp(options: InvitationOptions, settings: object = {}) {
  const { app, call, url, env } = await startTestApp(
    {
      resources: [defineUser({ fields: { team: f.string().max(20) }, roles: ['editor'] })],
      extensions: [invitations(options), emailVerification(), apiKeys()],
      settings: { relay: { sweepMs: 50, pollMs: 50 }, ...settings },
    },
    { roles: 'all' },
  );
  const sql = new PostgresClient({ connectionString: env.DATABASE_URL! });
  await sql.connect();
  afterAll(() => sql.end());
  let people = 0;
  let guests = 0;
  /** Creates a user with a session, whose address is not verified. */
  async function createPerson(roles: Role[] = ['user']) {
    people += 1;
    const email = `member${people}@example.com`;
    const { id } = await app.service('user').create({ name: 'Ada', email, password, roles });
    const { body } = await call('POST', '/api/auth/login', { email, password });
    return { id, email, call: createClient(url, body.data.token) };
  }
  /** Invites an address, and waits for the e-mail. */
  async function invite(client: Client, fields: { email?: string; roles?: Role[] } = {}) {
    guests += 1;
    const email = fields.email ?? `guest${guests}@example.com`;
    const mailbox = openMailbox(app, email);
    const { body } = await client('POST', '/api/invitations', { ...fields, email });
    const { token, text } = await mailbox.next('You are invited');
    return { id: body.data.id as string, email, mailbox, token, text };
  }
  return {
    app,
    call,
    url,
    sql,
    createPerson,
    invite,
    accept: (body: object, client = call) => client('POST', '/api/auth/invitations/accept', body),
    preview: (token: string, client = call) => client('POST', '/api/auth/invitations/preview', { token }),
    verify: (id: string) => sql.query('update users set email_verified_at = now() where id = $1', [id]),
  };
}
