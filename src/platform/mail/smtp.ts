import { assertOutsideTransaction } from '../data/postgres/transaction-watch.ts';
import type { CompleteMail } from './message.ts';

/** Time limit in ms for connecting to the mail server, and for its greeting. */
const CONNECT_TIMEOUT_MS = 10_000;
/** ms after which a mail server that sends nothing counts as unreachable. */
const SOCKET_TIMEOUT_MS = 20_000;
/** Time limit in ms for a whole send, however slowly the mail server responds. Shorter than the lease of an e-mail. */
const SEND_TIMEOUT_MS = 60_000;

/** Sends e-mails to a mail server. */
interface Smtp {
  /**
   * Resolves when the server has accepted the e-mail.
   *
   * @param id the same for each attempt: if the server accepted an e-mail but its reply was lost, the receiver can recognize the duplicate
   * @param signal aborts the send when the process must stop
   */
  send(mail: CompleteMail, id: string, signal: AbortSignal): Promise<void>;
}

/** The fields of nodemailer's errors: https://nodemailer.com/usage/#error-codes */
interface SmtpError extends Error {
  code?: string;
  responseCode?: number;
}

/**
 * Whether a mail server has permanently refused an e-mail: a 5xx response to its sender, receiver or text (RFC 5321 §4.2.1). Other
 * errors may be temporary, including a refused sign-in, which the operator can fix.
 */
export function isPermanentlyRefused(error: unknown): boolean {
  const { code, responseCode = 0 } = error as SmtpError;
  return (code === 'EENVELOPE' || code === 'EMESSAGE') && responseCode >= 500;
}

/** Returns an error as text. That of a mail server ends with nodemailer's code: `Error: Invalid login: 535 Wrong password (EAUTH)`. */
export function describeMailError(error: unknown, maxLength: number): string {
  const { code } = error as SmtpError;
  const suffix = typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? ` (${code})` : '';
  return String(error).slice(0, maxLength - suffix.length) + suffix;
}

/** Splits `Name <address>`, whose name may be in quotes (RFC 5322 §3.2.4), or an address. */
function parseSender(from: string): { name: string; address: string } {
  const [, text, address] = /^(.*)<([^<>]+)>\s*$/.exec(from) ?? [];
  if (text === undefined || address === undefined) return { name: '', address: from.trim() };
  const quoted = /^\s*"(.*)"\s*$/.exec(text)?.[1];
  return { name: quoted?.replaceAll(/\\(.)/g, '$1') ?? text.trim(), address };
}

/**
 * Creates a client of the mail server at `url`.
 *
 * @param url `smtp://user:password@host:587`: with STARTTLS if the server supports it, `smtps://…:465` with TLS from the start.
 *   Options of nodemailer may follow as a query (`?requireTLS=true`)
 * @param from `Name <address>` or an address
 * @param encrypted if true, the password is never sent without TLS
 */
export function createSmtp(url: string, from: string, encrypted: boolean): Smtp {
  const { username, searchParams } = new URL(url);
  const sender = parseSender(from);
  // Load nodemailer only in processes that send e-mail, not at every start of an app.
  const openTransport = async () => {
    const { createTransport } = await import('nodemailer');
    return createTransport(
      {
        url,
        connectionTimeout: CONNECT_TIMEOUT_MS,
        greetingTimeout: CONNECT_TIMEOUT_MS,
        socketTimeout: SOCKET_TIMEOUT_MS,
        // An attacker on the network could remove STARTTLS from the server's greeting; the password must not be sent in the clear.
        ...(encrypted && username !== '' && !searchParams.has('requireTLS') ? { requireTLS: true } : {}),
        disableFileAccess: true,
        disableUrlAccess: true,
      },
      // An object, because nodemailer parses a text as a list, which a comma in the name would split.
      { from: sender },
    );
  };
  const opened = openTransport();
  // Prevent an unhandled rejection; the first `send` awaits the promise.
  opened.catch(() => undefined);
  const domain = sender.address.split('@')[1];
  return {
    async send({ to, subject, text, html }, id, signal) {
      assertOutsideTransaction('An e-mail is sent');
      await (await opened).sendMail({
        // nodemailer takes an object as a single address, whatever characters it contains; it would parse a text as a list.
        to: { name: '', address: to },
        subject,
        text,
        html,
        messageId: `<${id}@${domain}>`,
        // RFC 3834 §5: prevents out-of-office replies.
        headers: { 'Auto-Submitted': 'auto-generated' },
        signal: AbortSignal.any([signal, AbortSignal.timeout(SEND_TIMEOUT_MS)]),
      });
    },
  };
}
