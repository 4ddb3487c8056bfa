// `npm run receiver -- <secret>`: a receiver for trying out webhooks. It verifies every message and prints it.
// RECEIVER_PORT sets the port (default 4000).
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { verifyWebhook } from '../src/extensions/webhooks/verify-webhook.ts';
import { readReceiverArguments } from './receiver/arguments.ts';

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

function read() {
  try {
    return readReceiverArguments(process.argv.slice(2), process.env.RECEIVER_PORT);
  } catch (error) {
    return fail((error as Error).message);
  }
}

const { secret, port } = read();
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
