import { once } from 'node:events';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** An e-mail as a mail server took it over. */
export interface TakenMail {
  from: string;
  to: string[];
  /** Headers and body, as they came. */
  raw: string;
  /** Whether it came through TLS. */
  secure: boolean;
  user: string | undefined;
}

/** A mail server of a test. */
export interface FakeSmtpServer {
  /** `smtp://localhost:…` */
  url: string;
  port: number;
  /** What it took over, oldest first. */
  mails: TakenMail[];
  /** How many connections it had. */
  connections(): number;
  close(): Promise<void>;
}

/** What a refusal says: a code of RFC 5321 §4.2.3 and a text. */
export function refusal(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode });
}

/**
 * Starts a mail server that takes over every e-mail.
 *
 * @param options of smtp-server; a handler that is given here decides instead of taking over
 */
export async function startSmtpServer(options: SMTPServerOptions = {}, port = 0): Promise<FakeSmtpServer> {
  const mails: TakenMail[] = [];
  let connections = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onConnect(_session, done) {
      connections += 1;
      done();
    },
    onData(stream, session, done) {
      let raw = '';
      stream.setEncoding('utf8').on('data', (text: string) => (raw += text));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw,
          secure: session.secure,
          user: session.user as string | undefined,
        });
        done();
      });
    },
    ...options,
  });
  // A client that hangs up in the middle is no fault of the server.
  server.on('error', () => undefined);
  const listening = server.listen(port, '127.0.0.1');
  if (!listening.listening) await once(listening, 'listening');
  const taken = (listening.address() as { port: number }).port;
  return {
    url: `smtp://127.0.0.1:${taken}`,
    port: taken,
    mails,
    connections: () => connections,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
