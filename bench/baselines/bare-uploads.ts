// The least that an upload costs: a Node server that pipes each body into a file, which is durable before the response.
import { createWriteStream } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { reportReady } from '../processes/child.ts';

let count = 0;
const server = createServer(async (req, res) => {
  await pipeline(req, createWriteStream(join(process.env.FILES!, `bare-${++count}`), { flush: true }));
  res.statusCode = 201;
  res.end('{}');
});
server.listen(0, '127.0.0.1', () => reportReady(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
