import { readFileSync } from 'node:fs';
import addressparser from 'nodemailer/lib/addressparser';
import type { SMTPServerOptions } from 'smtp-server';
import { expect, onTestFinished, test } from 'vitest';
import { createSmtp, isPermanentlyRefused } from '../../../src/platform/mail/smtp.ts';
import { type FakeSmtpServer, startSmtpServer } from '../../fakes/smtp-server.ts';

const mail = { to: 'ann@example.com', subject: 'Hello', text: 'Good day', html: '<p>Good day</p>' };
const never = new AbortController().signal;
const tls = {
  key: readFileSync('test/data/tls/hooks.example.com.key'),
  cert: readFileSync('test/data/tls/hooks.example.com.crt'),
};
const trusting = '?tls.rejectUnauthorized=false';

async function start(options: Parameters<typeof startSmtpServer>[0]): Promise<FakeSmtpServer> {
  const server = await startSmtpServer(options);
  onTestFinished(() => server.close());
  return server;
}

/** Accepts clients with the correct password. */
const onAuth: NonNullable<SMTPServerOptions['onAuth']> = ({ username, password }, _session, done) => {
  if (password === 'p@ss word') done(null, { user: username });
  else done(new Error('No'));
};
const auth = { authOptional: false, onAuth };
const send = (url: string, encrypted = true) =>
  createSmtp(url, 'bells@example.com', encrypted).send(mail, 'f00', never);
const urlOf = ({ port }: FakeSmtpServer, { scheme = 'smtp', user = '', query = '' } = {}) =>
  `${scheme}://${user === '' ? '' : `${user}@`}127.0.0.1:${port}${query}`;

/** Decodes the encoded words of a header (RFC 2047). */
const decodeWords = (text: string) =>
  text
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?utf-8\?([qb])\?([^?]*)\?=/gi, (_, encoding: string, content: string) =>
      encoding.toLowerCase() === 'b'
        ? Buffer.from(content, 'base64').toString('latin1')
        : content
            .replaceAll('_', ' ')
            .replaceAll(/=([0-9A-F]{2})/g, (__, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    )
    .replace(/^[\s\S]*$/, (bytes) => Buffer.from(bytes, 'latin1').toString('utf8'));

test('the user and password of SMTP_URL sign in through STARTTLS', async () => {
  const server = await start({ ...tls, ...auth, disabledCommands: [] });
  await send(urlOf(server, { user: 'bell:p%40ss%20word', query: trusting }));
  expect(server.mails).toMatchObject([{ user: 'bell', secure: true, to: ['ann@example.com'] }]);
});

test.each([
  ['Acme, Inc. <bells@example.com>', 'Acme, Inc.'],
  ['"Acme, \\"Bells\\" Inc." <bells@example.com>', 'Acme, "Bells" Inc.'],
  ['Müller & Söhne; Glocken (Köln) <bells@example.com>', 'Müller & Söhne; Glocken (Köln)'],
  ['Belfry: alerts <bells@example.com> ', 'Belfry: alerts'],
  ['bells@example.com', ''],
])('the sender %s is one address with its whole name', async (from, name) => {
  const server = await start({});
  await createSmtp(urlOf(server), from, false).send(mail, 'f00', never);
  const [{ from: envelope, raw }] = server.mails as [(typeof server.mails)[0]];
  const header = /^From: ((?:.|\r\n[ \t])*)\r\n/m.exec(raw)![1]!.replaceAll(/\r\n[ \t]/g, ' ');
  const senders = addressparser(header).map((sender) => ({ ...sender, name: decodeWords(sender.name) }));
  expect([envelope, senders]).toEqual(['bells@example.com', [{ address: 'bells@example.com', name }]]);
});

test('smtps:// uses TLS from the start', async () => {
  const server = await start({ ...tls, secure: true, disabledCommands: [] });
  await send(urlOf(server, { scheme: 'smtps', query: trusting }));
  expect(server.mails).toMatchObject([{ secure: true }]);
});

test('an untrusted certificate is refused', async () => {
  const server = await start({ ...tls, disabledCommands: [] });
  await expect(send(urlOf(server))).rejects.toThrow(/certificate/i);
  expect(server.mails).toEqual([]);
});

test('in production a password is never sent without TLS, unless SMTP_URL allows it; without a password TLS is not required', async () => {
  let signIns = 0;
  const server = await start({
    ...auth,
    authOptional: true,
    allowInsecureAuth: true,
    onAuth(given, session, done) {
      signIns += 1;
      onAuth(given, session, done);
    },
  });
  const user = 'bell:p%40ss%20word';
  await expect(send(urlOf(server, { user }))).rejects.toThrow(/STARTTLS/i);
  expect(signIns).toBe(0);
  await send(urlOf(server, { user, query: '?requireTLS=false' }));
  await send(urlOf(server, { user }), false);
  await send(urlOf(server));
  expect(server.mails.map((taken) => taken.user)).toEqual(['bell', 'bell', undefined]);
});

test('a failed sign-in does not count as a refusal of the e-mail, and its error contains no password', async () => {
  const server = await start({ ...tls, ...auth, disabledCommands: [] });
  const failed = await send(urlOf(server, { user: 'bell:wrong-one', query: trusting })).catch((error: Error) => error);
  expect(failed).toBeInstanceOf(Error);
  expect(isPermanentlyRefused(failed)).toBe(false);
  expect(String(failed)).not.toContain('wrong-one');
});

test.each<[string, object, boolean]>([
  ['a refused recipient', { code: 'EENVELOPE', responseCode: 550 }, true],
  ['a refused message', { code: 'EMESSAGE', responseCode: 554 }, true],
  ['a temporarily refused recipient', { code: 'EENVELOPE', responseCode: 450 }, false],
  ['a refused sign-in', { code: 'EAUTH', responseCode: 535 }, false],
  ['a greeting with 554', { code: 'EPROTOCOL', responseCode: 554 }, false],
  ['no connection', { code: 'ECONNECTION' }, false],
  ['a timeout', { code: 'ETIMEDOUT' }, false],
  ['any other error', new Error('x'), false],
])('%s counts as a permanent refusal or not', (_what, error, refused) => {
  expect(isPermanentlyRefused(error)).toBe(refused);
});
