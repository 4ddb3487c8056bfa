// `npm run receiver -- <secret>`: a receiver to try webhooks with. Verifies every message and prints it.
// RECEIVER_PORT says where (default 4000).
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { verifyWebhook, type WebhookVerificationError } from '../src/extensions/webhooks/verify-webhook.ts';

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

/** Whether a text has the form of an endpoint's secret: a request without headers is refused for them, not for it. */
function isSecret(secret: string): boolean {
  try {
    verifyWebhook(secret, {}, '');
  } catch (error) {
    return secret.startsWith('whsec_') && (error as WebhookVerificationError).code !== 'INVALID_SECRET';
  }
  return true;
}

const [secret, ...more] = process.argv.slice(2);
if (!secret) fail('Say the secret of the endpoint: npm run receiver -- whsec_…');
if (more.length > 0) fail(`Unknown argument ${more.join(' ')}. There is one: npm run receiver -- whsec_…`);
if (!isSecret(secret)) fail('That is no secret of an endpoint: it should be whsec_ followed by base64.');
const wanted = process.env.RECEIVER_PORT || '4000';
const port = Number(wanted);
if (!/^\d{1,5}$/.test(wanted) || port > 65_535) fail(`RECEIVER_PORT must be from 0 to 65535, not ${wanted}.`);

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
  fail(error.code === 'EADDRINUSE' ? `Port ${port} is in use; choose another with RECEIVER_PORT.` : error.message),
);
server.listen(port, () => {
  const { port: taken } = server.address() as { port: number };
  console.log(`Waiting for webhooks at http://localhost:${taken}/`);
});
