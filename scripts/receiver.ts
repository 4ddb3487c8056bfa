// `npm run receiver -- <secret>`: a receiver for trying out webhooks. It verifies every message and prints it.
// RECEIVER_PORT sets the port (default 4000).
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { verifyWebhook, type WebhookVerificationError } from '../packages/verify-webhook/src/index.ts';

/** Returns whether a secret is well-formed: if it is, verifying a request without headers fails because of the headers. */
function isSecret(secret: string): boolean {
  try {
    verifyWebhook(secret, {}, '');
  } catch (error) {
    return secret.startsWith('whsec_') && (error as WebhookVerificationError).code !== 'INVALID_SECRET';
  }
  return true;
}

/**
 * Reads the command line of `npm run receiver`.
 *
 * @param portText RECEIVER_PORT
 * @throws Error with a message for the terminal
 */
export function readReceiverArguments(
  given: readonly string[],
  portText: string | undefined,
): { secret: string; port: number } {
  const [secret, ...more] = given;
  if (!secret) throw new Error('The secret of the endpoint is missing. Usage: npm run receiver -- whsec_…');
  if (more.length > 0) {
    throw new Error(`Unknown argument ${more.join(' ')}. Usage: npm run receiver -- whsec_…`);
  }
  if (!isSecret(secret)) throw new Error('Invalid secret: it must be whsec_ followed by base64.');
  const port = Number(portText || '4000');
  if ((portText && !/^\d{1,5}$/.test(portText)) || port > 65_535) {
    throw new Error(`RECEIVER_PORT must be a number from 0 to 65535, not ${portText}.`);
  }
  return { secret, port };
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

function readArguments() {
  try {
    return readReceiverArguments(process.argv.slice(2), process.env.RECEIVER_PORT);
  } catch (error) {
    return fail((error as Error).message);
  }
}

if (import.meta.main) {
  const { secret, port } = readArguments();
  const server = createServer(async (req, res) => {
    if (req.method !== 'POST') return void res.writeHead(200).end();
    const body = await text(req);
    try {
      const message = verifyWebhook<{ type: string; data: unknown }>(secret, req.headers, body);
      console.log(`verified ${req.headers['webhook-id']}: ${message.type} ${JSON.stringify(message.data)}`);
      res.writeHead(204).end();
    } catch (error) {
      console.log(`refused: ${(error as Error).message}`);
      res.writeHead(400).end();
    }
  });
  server.on('error', (error: NodeJS.ErrnoException) =>
    fail(error.code === 'EADDRINUSE' ? `Port ${port} is in use. Choose another with RECEIVER_PORT.` : error.message),
  );
  server.listen(port, () => {
    const { port: taken } = server.address() as { port: number };
    console.log(`Waiting for webhooks at http://localhost:${taken}/`);
  });
}
