import { once } from 'node:events';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** An e-mail as a mail server accepted it. */
export interface ReceivedMail {
  from: string;
  to: string[];
  /** The headers and the body as received. */
  raw: string;
  /** Whether it was sent over TLS. */
  secure: boolean;
  user: string | undefined;
}

/** A mail server for tests. */
export interface FakeSmtpServer {
  /** `smtp://localhost:…` */
  url: string;
  port: number;
  /** The accepted e-mails, oldest first. */
  mails: ReceivedMail[];
  /** The number of connections. */
  connections(): number;
  close(): Promise<void>;
}

/** The reply of a refusal: a code of RFC 5321 §4.2.3 and a text. */
export function refusal(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode });
}

/**
 * Starts a mail server that accepts every e-mail.
 *
 * @param options of smtp-server; a handler in them replaces the one that accepts e-mails
 */
export async function startSmtpServer(options: SMTPServerOptions = {}, port = 0): Promise<FakeSmtpServer> {
  const mails: ReceivedMail[] = [];
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
  // A client that disconnects in the middle is not a server error.
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
