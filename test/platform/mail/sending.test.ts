import { once } from 'node:events';
import { createServer } from 'node:net';
import { Client } from 'pg';
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { Host } from '../../../src/extension/index.ts';
import { createApp, defineExtension, defineUser } from '../../../src/index.ts';
import { refusal, startSmtpServer } from '../../fakes/smtp-server.ts';
import { startTestApp } from '../../support/app.ts';
import { readAllRows } from '../../support/database/stored-texts.ts';

/** Waits until the condition is met. A busy machine may need a while. */
const until = <T>(look: () => T | Promise<T>) => vi.waitUntil(look, { timeout: 60_000, interval: 10 });

/** The errors with which the server refuses the next e-mails. If empty, it accepts them. */
const responses: Error[] = [];
const smtp = await startSmtpServer({
  onRcptTo(_address, _session, done) {
    done(responses.shift());
  },
});
afterAll(() => smtp.close());

let host: Host | undefined;
const made: number[] = [];
const catchHost = defineExtension({
  name: 'catch-host',
  setup(given) {
    host = given;
    return {
      mails: {
        async counted({ data, attempt }) {
          made.push(attempt);
          return data.nothing ? undefined : { to: String(data.to), subject: `Attempt ${attempt}`, text: 'Made' };
        },
        broken: () => Promise.reject(new Error('the composer broke')),
        malformed: async () => ({ to: 'x', subject: '', text: '' }),
      },
    };
  },
});
const { app, env } = await startTestApp(
  { resources: [defineUser()], extensions: [catchHost], settings: { relay: { sweepMs: 50 } } },
  { roles: 'all', env: () => ({ SMTP_URL: smtp.url, MAIL_FROM: 'Belfry <bells@example.com>' }) },
);
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());
beforeEach(async () => {
  smtp.mails.length = 0;
  responses.length = 0;
  made.length = 0;
  await sql.query('delete from mails');
});

const hello = { to: 'ann@example.com', subject: 'Grüße', text: 'Good day\n' };
const rowOf = async (id: string) => (await sql.query('select * from mails where id = $1', [id])).rows[0];
const finished = (id: string) =>
  until(async () => {
    const row = await rowOf(id);
    return row?.finished_at ? row : undefined;
  });
const failedOnce = (id: string) => until(async () => ((await rowOf(id))?.error ? await rowOf(id) : undefined));
/** Ends the wait for the next attempt. */
const makeDue = (id: string) =>
  sql.query('update mails set due_at = now() - make_interval(secs => 1) where id = $1', [id]);

test('an address with any character that RFC 5321 allows reaches the mail server unchanged', async () => {
  const to = "a!#$%&'*+/=?^_`{|}~-z@example.xn--fiqs8s";
  const { id } = await app.mail.send({ ...hello, to });
  expect(await finished(id)).toMatchObject({ status: 'sent', recipient: to });
  // The fake shows international domains as people read them.
  expect(smtp.mails.map((mail) => mail.to)).toEqual([[to.replace('xn--fiqs8s', '中国')]]);
});

test('the mail server receives text and HTML parts, the sender, the recipient and a unique Message-ID', async () => {
  const { id } = await app.mail.send(hello);
  expect(await finished(id)).toMatchObject({
    status: 'sent',
    attempts: 1,
    recipient: hello.to,
    content: null,
    error: null,
  });
  expect(smtp.mails).toHaveLength(1);
  const [{ from, to, raw }] = smtp.mails as [(typeof smtp.mails)[0]];
  expect([from, to]).toEqual(['bells@example.com', ['ann@example.com']]);
  expect(raw).toMatch(/^From: Belfry <bells@example.com>\r$/m);
  expect(raw).toMatch(/^To: ann@example.com\r$/m);
  expect(raw).toContain('Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?=');
  expect(raw).toContain(`Message-ID: <${id}@example.com>`);
  expect(raw).toContain('Auto-Submitted: auto-generated');
  expect(raw).toMatch(
    /multipart\/alternative[\s\S]*text\/plain[\s\S]*Good day[\s\S]*text\/html[\s\S]*<p>Good day<\/p>/,
  );
});

test('an e-mail that is sent is not captured', async () => {
  await finished((await app.mail.send(hello)).id);
  expect(await app.captured.mails()).toEqual([]);
});

test('a malformed e-mail is refused immediately, and nothing is stored', async () => {
  await expect(app.mail.send({ ...hello, to: 'a@example.com, b@example.com' })).rejects.toMatchObject({ status: 422 });
  expect((await sql.query('select 1 from mails')).rowCount).toBe(0);
});

test('the text of an e-mail is stored encrypted while it waits, and is deleted after sending', async () => {
  responses.push(refusal(451, 'Later'));
  const { id } = await app.mail.send({ ...hello, text: 'a most secret link' });
  await failedOnce(id);
  expect((await rowOf(id)).content).toMatch(/^v1\./);
  expect((await readAllRows(sql)).filter((text) => text.includes('most secret'))).toEqual([]);
  await makeDue(id);
  expect((await finished(id)).content).toBeNull();
  expect(smtp.mails[0]!.raw).toContain('a most secret link');
});

test.each([421, 450, 451, 452])('a %i response is retried later with the same Message-ID', async (code) => {
  responses.push(refusal(code, 'Not now'));
  const { id } = await app.mail.send(hello);
  const row = await failedOnce(id);
  expect(row).toMatchObject({ status: 'queued', attempts: 1, error: expect.stringContaining('Not now') });
  expect(new Date(row.due_at).getTime()).toBeGreaterThan(Date.now() + 5000);
  await makeDue(id);
  expect(await finished(id)).toMatchObject({ status: 'sent', attempts: 2 });
  expect(smtp.mails.map(({ raw }) => /Message-ID: (\S+)/.exec(raw)![1])).toEqual([`<${id}@example.com>`]);
});

test.each([550, 552, 554])('a %i response is permanent: the e-mail is not retried', async (code) => {
  responses.push(refusal(code, 'No such box'));
  const { id } = await app.mail.send(hello);
  const row = await finished(id);
  expect(row).toMatchObject({
    status: 'failed',
    attempts: 1,
    error: expect.stringContaining('No such box'),
    content: null,
  });
  expect(smtp.mails).toEqual([]);
});

test('the waits grow, and the e-mail is given up after the last one', async () => {
  const { id } = await app.mail.sendComposed('broken', {});
  const waits: number[] = [];
  for (let attempt = 1; attempt <= 8; attempt++) {
    const row = await until(async () => {
      const now = await rowOf(id);
      return now.attempts === attempt && now.error !== null && now.claimed_until === null ? now : undefined;
    });
    if (row.finished_at) break;
    waits.push(Math.round((new Date(row.due_at).getTime() - Date.now()) / 10_000) * 10);
    await sql.query('update mails set due_at = now() - make_interval(secs => 1), error = null where id = $1', [id]);
  }
  expect(waits).toEqual([10, 60, 300, 900, 3600, 10_800, 18_000]);
  expect(await rowOf(id)).toMatchObject({
    status: 'failed',
    attempts: 8,
    error: expect.stringContaining('composer broke'),
  });
});

test('a composed e-mail is composed again for each attempt', async () => {
  responses.push(refusal(451, 'Later'));
  const { id } = await host!.mail.sendComposed('counted', { to: 'ben@example.com' });
  await failedOnce(id);
  await makeDue(id);
  expect(await finished(id)).toMatchObject({ status: 'sent', recipient: 'ben@example.com', data: null });
  expect(made).toEqual([1, 2]);
  expect(smtp.mails[0]!.raw).toContain('Subject: Attempt 2');
});

test('an e-mail whose composer returns nothing is deleted and not sent', async () => {
  const { id } = await host!.mail.sendComposed('counted', { nothing: true });
  await until(async () => (await rowOf(id)) === undefined);
  expect(smtp.mails).toEqual([]);
});

test.each([
  ['malformed', /returned an invalid e-mail: .*"subject":"Is required"/],
  ['nobody-has-this', /has no composer for e-mails of kind nobody-has-this/],
])('a composer that is %s loses no e-mail: it waits, and its row has the reason', async (kind, reason) => {
  const { id } = await host!.mail.sendComposed(kind, {});
  const row = await failedOnce(id);
  expect(row).toMatchObject({ status: 'queued', attempts: 1, error: expect.stringMatching(reason) });
  expect(smtp.mails).toEqual([]);
});

test('an e-mail of a transaction is sent after the commit, and not at all after a rollback', async () => {
  const user = { name: 'Ann', email: 'ann-tx@example.com', password: 'correct horse battery' };
  const broken = app.transaction(async (tx) => {
    await tx.service('user').create(user);
    await tx.mail.send({ ...hello, subject: 'Rolled back' });
    throw new Error('no');
  });
  await expect(broken).rejects.toThrow('no');
  await app.transaction(async (tx) => {
    await tx.service('user').create(user);
    await tx.mail.send({ ...hello, subject: 'Committed' });
    expect((await sql.query('select 1 from mails')).rowCount).toBe(0);
  });
  await until(() => smtp.mails.length > 0);
  expect(smtp.mails.map(({ raw }) => /Subject: (.*)\r/.exec(raw)![1])).toEqual(['Committed']);
});

test('an e-mail whose job was lost is sent by the sweep; one whose worker crashed is sent when the lease expires', async () => {
  const { id } = await host!.mail.sendComposed('counted', { to: 'lost@example.com' });
  await finished(id);
  smtp.mails.length = 0;
  const lost = `
    insert into mails (id, kind, data, created_at, attempts, claimed_until)
    values ($1, 'counted', '{"to":"lost@example.com"}', now() - interval '1 minute', $2, $3)`;
  await sql.query(lost, ['a'.repeat(24), 0, null]);
  await sql.query(lost, ['b'.repeat(24), 1, new Date(Date.now() - 1000)]);
  await sql.query(lost, ['c'.repeat(24), 1, new Date(Date.now() + 60_000)]);
  await finished('a'.repeat(24));
  await finished('b'.repeat(24));
  expect(await rowOf('c'.repeat(24))).toMatchObject({ finished_at: null, attempts: 1 });
  expect(smtp.mails).toHaveLength(2);
});

test('an e-mail that repeatedly crashes its worker is given up', async () => {
  await sql.query(
    `insert into mails (id, kind, data, created_at, attempts) values ($1, 'counted', '{"to":"a@example.com"}', now() - interval '1 minute', 8)`,
    ['d'.repeat(24)],
  );
  expect(await finished('d'.repeat(24))).toMatchObject({
    status: 'failed',
    error: 'Error: its workers stopped before the send was finished',
  });
  expect(smtp.mails).toEqual([]);
});

test('two processes send each e-mail once', async () => {
  const second = createApp(
    { resources: [defineUser()], extensions: [catchHost], settings: { relay: { sweepMs: 20 } } },
    env,
  );
  onTestFinished(() => second.close());
  await second.start({ roles: ['push-worker', 'relay'] });
  await Promise.all(Array.from({ length: 40 }, (_, i) => app.mail.send({ ...hello, subject: `Number ${i}` })));
  await until(async () => (await sql.query('select 1 from mails where finished_at is null')).rowCount === 0);
  const subjects = smtp.mails.map(({ raw }) => /Subject: (.*)\r/.exec(raw)![1]);
  expect(new Set(subjects).size).toBe(40);
  expect(subjects).toHaveLength(40);
});

test('a mail server that never responds delays neither other e-mails nor the shutdown of the process', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as { port: number };
  const stuck = createApp(
    { resources: [defineUser()], extensions: [catchHost], settings: { graceMs: 50, relay: { sweepMs: 20 } } },
    { ...env, REDIS_PREFIX: `${env.REDIS_PREFIX}-stuck`, SMTP_URL: `smtp://127.0.0.1:${port}` },
  );
  await stuck.start({ roles: ['push-worker'] });
  const { id } = await stuck.mail.send(hello);
  await until(async () => (await rowOf(id)).attempts === 1);
  await stuck.close();
  expect(await rowOf(id)).toMatchObject({ finished_at: null, claimed_until: null, error: expect.any(String) });
});

test('finished e-mails are deleted after a week', async () => {
  const old = `
    insert into mails (id, recipient, status, finished_at, created_at) values ($1, 'a@example.com', 'sent', $2, $2)`;
  await sql.query(old, ['e'.repeat(24), new Date(Date.now() - 8 * 86_400_000)]);
  await sql.query(old, ['f'.repeat(24), new Date(Date.now() - 6 * 86_400_000)]);
  const second = createApp({ resources: [defineUser()], extensions: [catchHost] }, env);
  onTestFinished(() => second.close());
  await second.start({ roles: ['relay'] });
  await until(async () => (await rowOf('e'.repeat(24))) === undefined);
  expect(await rowOf('f'.repeat(24))).toBeDefined();
});
