// `npm run receiver -- <secret>`: a receiver to try webhooks with. Verifies every message and prints it.
// RECEIVER_PORT says where (default 4000).
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { verifyWebhook } from '../src/extensions/webhooks/verify-webhook.ts';

const secret = process.argv[2];
const port = Number(process.env.RECEIVER_PORT ?? 4000);
if (!secret?.startsWith('whsec_')) {
  console.error('Say the secret of the endpoint: npm run receiver -- whsec_…');
  process.exit(1);
}

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
server.on('error', (error: NodeJS.ErrnoException) => {
  console.error(
    error.code === 'EADDRINUSE' ? `Port ${port} is in use; choose another with RECEIVER_PORT` : error.message,
  );
  process.exit(1);
});
server.listen(port, () => console.log(`Waiting for webhooks at http://localhost:${port}/`));
