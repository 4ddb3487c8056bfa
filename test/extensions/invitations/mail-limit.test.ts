import { expect, test } from 'vitest';
import { startInvitationApp } from './setup.ts';

const rateLimit = { enabled: true, auth: false } as const;
const limited = await startInvitationApp({ mailLimit: { limit: 2, windowMs: 60_000 } }, { rateLimit });
const unlimited = await startInvitationApp({ mailLimit: false }, { rateLimit });
const LIMITED = {
  code: 'RATE_LIMITED',
  message: 'This address has received too many invitations; try again later',
};

test('a resend above the limit of the address is refused, and the link that was sent last keeps working', async () => {
  const { createPerson, invite, accept } = limited;
  const admin = await createPerson(['admin']);
  const { id, mailbox } = await invite(admin.call);
  expect((await admin.call('POST', `/api/invitations/${id}/resend`)).status).toBe(200);
  const { token } = await mailbox.next();
  const refused = await admin.call('POST', `/api/invitations/${id}/resend`);
  expect(refused).toMatchObject({ status: 429, body: { error: LIMITED } });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await accept({ token, name: 'Ann' })).status).toBe(200);
});

test('an invitation above the limit of the address is refused and not stored, and refused requests do not count', async () => {
  const { createPerson, invite, sql } = limited;
  const admin = await createPerson(['admin']);
  const { id, email } = await invite(admin.call);
  for (let request = 0; request < 3; request++)
    expect((await admin.call('POST', '/api/invitations', { email })).body.error.code).toBe('CONFLICT');
  expect((await admin.call('POST', `/api/invitations/${id}/resend`)).status).toBe(200);
  await admin.call('DELETE', `/api/invitations/${id}`);
  expect((await admin.call('POST', '/api/invitations', { email })).body.error).toMatchObject(LIMITED);
  expect((await sql.query('select 1 from invitations where email = $1', [email])).rowCount).toBe(0);
});

test('without a limit of e-mails, only the number of requests of a client is limited', async () => {
  const { createPerson, invite } = unlimited;
  const admin = await createPerson(['admin']);
  const { id } = await invite(admin.call);
  const resend = () => admin.call('POST', `/api/invitations/${id}/resend`);
  for (let request = 0; request < 30; request++) expect((await resend()).status).toBe(200);
  expect((await resend()).status).toBe(429);
});
