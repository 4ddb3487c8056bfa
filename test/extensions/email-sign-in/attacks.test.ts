import { afterAll, expect, test } from 'vitest';
import type { ExtensionHost } from '../../../src/extension/index.ts';
import { createApp, defineExtension, defineUser, emailSignIn } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { INVALID, openMailbox, type RequestedSignIn, statuses, until, wrongCode } from './mailbox.ts';

let host: ExtensionHost | undefined;
const probe = defineExtension({
  name: 'probe',
  setup(given) {
    host ??= given;
    return {};
  },
});
const options = { resources: [defineUser()], extensions: [emailSignIn(), probe] } as const;
const settings = { relay: { sweepMs: 50 } };
const failed: { email: string; reason?: string }[] = [];
const recordFailed = (payload: { email: string }) => void failed.push(payload);
const started = await startTestApp(
  {
    ...options,
    settings,
    listeners: (app) => app.on('security.login_failed', recordFailed),
  },
  { roles: 'all' },
);
const { app, call, env, url, person } = started;
const mailbox = await openMailbox(started);
const { sql, ask, verify, request, withLink, withCode, mailsTo, allComposed, sessionsOf, usersWith } = mailbox;
// A second process, for guarantees that hold across processes.
const other = createApp({ ...options, settings: { ...settings, auth: { password: { logN: 4, r: 8, p: 1 } } } }, env);
other.on('security.login_failed', recordFailed);
const { url: otherUrl } = await other.start({ port: 0, roles: ['web'] });
afterAll(() => other.close());
const calls = [call, createClient(otherUrl)];

// Composes no e-mails, so that the stored rows of requests can be compared.
const web = await startTestApp(options);
const webMailbox = await openMailbox(web);
const closed = await startTestApp(
  { ...options, extensions: [emailSignIn({ register: false })], settings },
  { roles: 'all' },
);
const closedMailbox = await openMailbox(closed);

const PATH = '/api/auth/email-sign-in';
const times = <T>(n: number, make: (i: number) => T) => Promise.all(Array.from({ length: n }, (_, i) => make(i)));
const failuresOf = (email: string) => failed.filter((one) => one.email === email);
const expectInvalid = ({ status, body }: { status: number; body: { error: object } }) => {
  expect([status, body.error]).toEqual([400, expect.objectContaining(INVALID)]);
};

test('a link and a code work once, and using one of them ends the other', async () => {
  const ann = await person('Ann');
  for (const [first, second] of [
    [withLink, withLink],
    [withCode, withCode],
    [withLink, withCode],
    [withCode, withLink],
  ] as const) {
    const asked = await request(ann.email);
    expect((await first(asked)).status).toBe(200);
    expectInvalid(await second(asked));
  }
});

test('ten concurrent uses of one link in two processes start one session, and none counts as a failed sign-in', async () => {
  const ann = await person('Ann');
  const before = (await sessionsOf(ann.id)).length;
  const { signInToken, token } = await request(ann.email);
  const responses = await times(10, (i) => calls[i % 2]!('POST', `${PATH}/verify`, { signInToken, token }));
  expect(statuses(responses)).toEqual([200, ...Array(9).fill(400)]);
  // The account was not verified: the sign-in ends the session of its registration.
  expect([before, (await sessionsOf(ann.id)).length]).toEqual([1, 1]);
  expect(failuresOf(ann.email)).toEqual([]);
});

test('ten concurrent uses of one code start one session, and none counts as a failed sign-in', async () => {
  for (let round = 0; round < 5; round++) {
    const { signInToken, code, email } = await request(`one-code-${round}@example.com`);
    const responses = await times(10, (i) => calls[i % 2]!('POST', `${PATH}/verify`, { signInToken, code }));
    expect(statuses(responses)).toEqual([200, ...Array(9).fill(400)]);
    const [user] = await usersWith(email);
    expect(await sessionsOf(String(user!.id))).toHaveLength(1);
    expect(failuresOf(email)).toEqual([]);
  }
});

test('a link or code in another browser is refused, and still works in the browser that requested it', async () => {
  const ann = await person('Ann');
  const asked = await request(ann.email);
  const attacker = await request('mallory@example.com');
  expect((await verify({ token: asked.token })).body.error.details).toEqual({ signInToken: 'Is required' });
  for (const signInToken of ['', 'x'.repeat(43), attacker.signInToken, ann.token, asked.token])
    expectInvalid(await verify({ signInToken, token: asked.token }));
  // The code is only compared with that of the proof of the browser.
  expectInvalid(await verify({ signInToken: attacker.signInToken, code: asked.code }));
  expect((await withLink(asked)).body.data.user.id).toBe(ann.id);
});

test('an attacker cannot sign a victim in to the account of the attacker with a forwarded link', async () => {
  const attacker = await request('mallory-2@example.com');
  const victim = await request('victim@example.com');
  expectInvalid(await verify({ signInToken: victim.signInToken, token: attacker.token }));
  expect(await usersWith(attacker.email)).toEqual([]);
  expect((await withLink(victim)).body.data.user.email).toBe(victim.email);
});

test('five wrong codes lock codes and the password of the address with 429, but not the link', async () => {
  const ann = await person('Ann');
  const asked = await request(ann.email);
  for (let i = 0; i < 5; i++) expectInvalid(await withCode(asked, wrongCode(asked)));
  const { status, headers, body } = await withCode(asked);
  expect([status, body.error.code]).toEqual([429, 'RATE_LIMITED']);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  const login = { email: ann.email, password: 'correct horse battery' };
  expect((await call('POST', '/api/auth/login', login)).status).toBe(429);
  expect((await sql.query('select failures from email_proofs where email = $1', [ann.email])).rows).toEqual([
    { failures: 5 },
  ]);
  expect(failuresOf(ann.email)).toHaveLength(5);
  expect((await withLink(asked)).status).toBe(200);
  expect((await call('POST', '/api/auth/login', login)).status).toBe(429);
});

test('wrong passwords lock codes of the address, known or not, but no link', async () => {
  const ann = await person('Ann');
  for (const email of [ann.email, 'locked-stranger@example.com']) {
    for (let i = 0; i < 5; i++) await call('POST', '/api/auth/login', { email, password: 'wrong horse battery' });
    const asked = await request(email);
    expect((await withCode(asked)).status).toBe(429);
    // Links that do not work are not counted.
    for (let i = 0; i < 6; i++) expectInvalid(await withLink({ ...asked, token: 'x'.repeat(43) }));
    expect((await withLink(asked)).status).toBe(200);
  }
});

test('fifty concurrent guesses at the codes of several requests check five codes in all', async () => {
  const ann = await person('Ann');
  const asked: RequestedSignIn[] = [];
  for (let i = 0; i < 4; i++) asked.push(await request(ann.email));
  const wrong = wrongCode(...asked);
  const guesses = await times(50, (i) =>
    calls[i % 2]!('POST', `${PATH}/verify`, { signInToken: asked[i % 4]!.signInToken, code: wrong }),
  );
  expect(statuses(guesses)).toEqual([...Array(5).fill(400), ...Array(45).fill(429)]);
  const { rows } = await sql.query('select sum(failures)::int as n from email_proofs where email = $1', [ann.email]);
  expect(rows).toEqual([{ n: 5 }]);
  expect((await withCode(asked[0]!)).status).toBe(429);
});

test('after five wrong codes, the right code of that request is wrong, even without a lockout', async () => {
  const lenient = await startTestApp(
    { ...options, settings: { auth: { lockout: { maxAttempts: 0 } } } },
    { roles: 'all' },
  );
  const { request: askFor, withCode: tryCode, withLink: openLink } = await openMailbox(lenient);
  const [asked, fresh] = [await askFor('guess@example.com'), await askFor('guess@example.com')];
  const guesses = await times(20, () => tryCode(asked, wrongCode(asked)));
  expect(statuses(guesses)).toEqual(Array(20).fill(400));
  expectInvalid(await tryCode(asked));
  expect((await tryCode(fresh)).status).toBe(200);
  expectInvalid(await openLink(asked));
});

test('the request has the same response and stores the same rows for known, unknown and disabled addresses', async () => {
  const [known, disabled] = [await web.person('Ann'), await web.person('Bob')];
  await web.app.service('user').update(disabled.id, { status: 'disabled' });
  const emails = [known.email, disabled.email, 'nobody@example.com'];
  const responses = [];
  for (const email of emails) responses.push(await webMailbox.ask(email));
  for (const { status, headers, body } of responses) {
    expect([status, body, headers.get('cache-control')]).toEqual([
      202,
      { data: { message: expect.any(String), signInToken: expect.stringMatching(/^[\w-]{43}$/) } },
      'no-store',
    ]);
  }
  expect(new Set(responses.map(({ body }) => body.data.message)).size).toBe(1);
  const names = responses.map(({ headers }) => [...headers.keys()].sort());
  expect(names).toEqual([names[0], names[0], names[0]]);
  const proofs = await webMailbox.sql.query(
    'select email, purpose, user_id, token_hash, code_hash, failures, data from email_proofs order by created_at',
  );
  const proof = { purpose: 'sign-in', user_id: null, token_hash: null, code_hash: null, failures: 0, data: {} };
  expect(proofs.rows).toEqual(emails.map((email) => ({ email, ...proof })));
  const mails = await webMailbox.sql.query('select kind, data, recipient, content from mails order by created_at');
  const data = expect.objectContaining({ proof: expect.stringMatching(/^[0-9a-f]{24}$/) });
  expect(mails.rows).toEqual(emails.map(() => ({ kind: 'sign-in', data, recipient: null, content: null })));
  for (const { body } of responses)
    expect(JSON.stringify([proofs.rows, mails.rows])).not.toContain(body.data.signInToken);
});

test('wrong codes have the same responses for known, unknown and disabled addresses, also once they expire', async () => {
  const [known, disabled] = [await closed.person('Ann'), await closed.person('Bob')];
  await closed.app.service('user').update(disabled.id, { status: 'disabled' });
  const emails = [known.email, disabled.email, 'nobody@example.com'];
  const asked = [];
  for (const email of emails) asked.push((await closedMailbox.ask(email)).body.data.signInToken);
  await closedMailbox.allComposed();
  expect(await Promise.all(emails.map(async (email) => (await closedMailbox.mailsTo(email)).length))).toEqual([
    1, 0, 0,
  ]);
  // The proof of an address without e-mail expires like the others.
  const { rows } = await closedMailbox.sql.query(
    `select expires_at between now() + interval '9 minutes' and now() + interval '10 minutes' as soon, code_hash is null as bare
     from email_proofs`,
  );
  expect(rows).toEqual(emails.map(() => ({ soon: true, bare: false })));
  const attempt = (signInToken: string) => closedMailbox.verify({ signInToken, code: '000000' });
  for (const expected of [400, 400, 400, 400, 400, 429]) {
    const responses = await Promise.all(asked.map(attempt));
    expect(responses.map(({ status }) => status)).toEqual(Array(3).fill(expected));
    expect(new Set(responses.map(({ body }) => JSON.stringify({ ...body.error, requestId: '' }))).size).toBe(1);
    const names = responses.map(({ headers }) => [...headers.keys()].sort());
    expect(names).toEqual([names[0], names[0], names[0]]);
  }
  await closedMailbox.sql.query(`update email_proofs set expires_at = now() - interval '1 second'`);
  for (const signInToken of asked) expectInvalid(await attempt(signInToken));
});

test('with registration closed, an unknown address gets no account', async () => {
  const ann = await closed.person('Ann');
  const asked = await closedMailbox.request(ann.email);
  await closed.app.service('user').delete(ann.id);
  expectInvalid(await closedMailbox.withLink(asked));
  expect(await closedMailbox.usersWith(ann.email)).toEqual([]);
});

test('an expired link and code are refused', async () => {
  const ann = await person('Ann');
  const asked = await request(ann.email);
  await sql.query(`update email_proofs set expires_at = now() - interval '1 second' where email = $1`, [ann.email]);
  expectInvalid(await withLink(asked));
  expectInvalid(await withCode(asked));
  expect(failuresOf(ann.email)).toEqual([]);
});

test('variants of an address are other mailboxes: they reach no account but their own', async () => {
  const { body } = await call('POST', '/api/auth/register', {
    name: 'Kim',
    email: 'kim@example.com',
    password: 'correct horse battery',
  });
  for (const email of ['kim+tag@example.com', 'k.im@example.com', 'kim@xn--exmple-4nf.com', 'kim@example.co']) {
    const asked = await request(email);
    const { user } = (await withLink(asked)).body.data;
    expect([user.email, user.id === body.data.user.id]).toEqual([email, false]);
  }
  // Cyrillic letters, a fullwidth @, and a dotted capital I that has no ASCII form in lower case.
  for (const email of ['kіm@example.com', 'kim@exаmple.com', 'kim＠example.com', 'kİm@example.com'])
    expect((await ask(email)).status).toBe(422);
  // The Kelvin sign is a k in lower case: the e-mail goes to the mailbox of the account.
  const { signInToken } = (await ask('\u212aIM@EXAMPLE.com')).body.data;
  await allComposed();
  const [mail] = await mailsTo('kim@example.com');
  const code = /^\d{6}$/m.exec(mail!.text)![0];
  expect((await verify({ signInToken, code })).body.data.user.id).toBe(body.data.user.id);
});

test('a password reset, a password change and the deletion of the account end links and codes', async () => {
  const reset = async (email: string) => {
    await call('POST', '/api/auth/password/forgot', { email });
    const token = await until(async () => {
      const mail = (await mailsTo(email)).find(({ text }) => text.includes('/reset-password'));
      return mail && /token=([\w-]+)/.exec(mail.text)![1];
    });
    const done = await call('POST', '/api/auth/password/reset', { token, password: 'a staple that is new' });
    expect(done.status).toBe(204);
  };
  const ends: ((who: Awaited<ReturnType<typeof person>>) => Promise<unknown>)[] = [
    ({ email }) => reset(email),
    (who) =>
      who.call('POST', '/api/auth/password', {
        currentPassword: 'correct horse battery',
        newPassword: 'a staple that is new',
      }),
    ({ id }) => app.service('user').delete(id),
  ];
  for (const end of ends) {
    const ann = await person('Ann');
    const asked = await request(ann.email);
    await end(ann);
    expectInvalid(await withLink(asked));
    expectInvalid(await withCode(asked));
  }
});

test('after a change of the address, a link to the former address does not reach the account, and ends', async () => {
  const [ann, bob] = [await person('Ann'), await person('Bob')];
  const [asked, late] = [await request(ann.email), await request(bob.email)];
  const { body } = await ask(ann.email);
  await app.service('user').update(ann.id, { email: 'ann-new@example.com' } as never);
  await until(async () => (await sql.query('select 1 from email_proofs where email = $1', [ann.email])).rowCount === 0);
  expectInvalid(await withLink(asked));
  expectInvalid(await verify({ signInToken: body.data.signInToken, code: '000000' }));
  // Before the relay has processed the change, the link belongs to a mailbox without an account.
  await sql.query('update users set email = $2 where id = $1', [bob.id, 'bob-new@example.com']);
  expect((await withLink(late)).body.data.user).toMatchObject({ email: bob.email });
  expect((await usersWith(bob.email))[0]!.id).not.toBe(bob.id);
});

test('a change of the address that the user has proved ends links to the former address in the same transaction', async () => {
  const ann = await person('Ann');
  const asked = await request(ann.email);
  await host!.transaction(async (tx) => {
    await tx.service('user').update(ann.id, { email: `new-${ann.email}` });
    await host!.accounts!.revoke({ cause: 'email_change', userIds: [ann.id] }, tx);
  });
  expectInvalid(await withLink(asked));
  expect(await usersWith(ann.email)).toEqual([]);
});

test('a link of a user who signs in while their password is changed starts no session that survives the change', async () => {
  for (let round = 0; round < 10; round++) {
    const ann = await person('Ann');
    await sql.query('update users set email_verified_at = now() where id = $1', [ann.id]);
    const asked = await request(ann.email);
    const change = { currentPassword: 'correct horse battery', newPassword: 'a staple that is new' };
    const [done, signedIn] = await Promise.all([ann.call('POST', '/api/auth/password', change), withLink(asked)]);
    expect(done.status).toBe(204);
    if (signedIn.status === 200)
      expect((await createClient(url, signedIn.body.data.token)('GET', '/api/auth/me')).status).toBe(401);
  }
});

test.each([
  ['Host', { host: 'evil.example' }],
  ['X-Forwarded-Host', { 'x-forwarded-host': 'evil.example' }],
  ['Forwarded', { forwarded: 'host=evil.example;proto=gopher' }],
  ['Origin and Referer', { origin: 'https://evil.example', referer: 'https://evil.example/' }],
])('the header %s does not change the link', async (name, headers) => {
  const email = `header-${name.toLowerCase().replaceAll(' ', '-')}@example.com`;
  await ask(email, headers as Record<string, string>);
  await allComposed();
  const [mail] = await mailsTo(email);
  expect(mail!.text).toMatch(/^http:\/\/localhost:5001\/sign-in#token=[\w-]{43}$/m);
  expect(JSON.stringify(mail)).not.toMatch(/evil|gopher/);
});
