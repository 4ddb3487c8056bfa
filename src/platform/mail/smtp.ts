import type { WholeMail } from './message.ts';

/** Connecting and greeting. */
const CONNECT_MS = 10_000;
/** Silence of the server. */
const SILENCE_MS = 20_000;
/** Everything, however slowly the server drips. Shorter than the lease of an e-mail. */
const WHOLE_MS = 60_000;

/** Hands e-mails to a mail server. */
export interface Smtp {
  /**
   * Resolves when the server has taken it over.
   *
   * @param id the same at each attempt: where one was taken over without our hearing so, the receiver can tell the second one
   * @param signal gives it up
   */
  send(mail: WholeMail, id: string, signal: AbortSignal): Promise<void>;
}

/** What nodemailer's errors carry: https://nodemailer.com/usage/#error-codes */
interface SmtpError extends Error {
  code?: string;
  responseCode?: number;
}

/**
 * Whether a mail server has refused an e-mail for good: a 5xx to its sender, receiver or text (RFC 5321 §4.2.1). Others may be
 * mended by waiting, and so may a refused sign-in, which is the operator's to mend.
 */
export function isRefused(error: unknown): boolean {
  const { code, responseCode = 0 } = error as SmtpError;
  return (code === 'EENVELOPE' || code === 'EMESSAGE') && responseCode >= 500;
}

function addressIn(from: string): string {
  return /<([^<>]+)>\s*$/.exec(from)?.[1] ?? from;
}

/**
 * Hands e-mails to the server at `url`.
 *
 * @param url `smtp://user:password@host:587`: with STARTTLS where the server has it, `smtps://…:465` with TLS from the start.
 *   Options of nodemailer may follow as a query (`?requireTLS=true`)
 * @param from `Name <address>` or an address
 * @param encrypted whether a password is never sent without TLS
 */
export function createSmtp(url: string, from: string, encrypted: boolean): Smtp {
  const { username, searchParams } = new URL(url);
  // Loaded where e-mail is sent, and not at every start of an app.
  const open = async () => {
    const { createTransport } = await import('nodemailer');
    return createTransport(
      {
        url,
        connectionTimeout: CONNECT_MS,
        greetingTimeout: CONNECT_MS,
        socketTimeout: SILENCE_MS,
        // Where somebody on the way removes STARTTLS from the server's greeting, the password must not go out in the clear.
        ...(encrypted && username !== '' && !searchParams.has('requireTLS') ? { requireTLS: true } : {}),
        disableFileAccess: true,
        disableUrlAccess: true,
      },
      { from },
    );
  };
  const opened = open();
  // It is awaited by whoever sends first.
  opened.catch(() => undefined);
  const domain = addressIn(from).split('@')[1];
  return {
    async send({ to, subject, text, html }, id, signal) {
      await (await opened).sendMail({
        // As an object it is one address, whatever stands in it.
        to: { name: '', address: to },
        subject,
        text,
        html,
        messageId: `<${id}@${domain}>`,
        // RFC 3834 §5: no out-of-office answers.
        headers: { 'Auto-Submitted': 'auto-generated' },
        signal: AbortSignal.any([signal, AbortSignal.timeout(WHOLE_MS)]),
      });
    },
  };
}
