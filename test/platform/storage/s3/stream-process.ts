import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { s3 } from '../../../../src/platform/storage/s3/index.ts';

// Writes and reads a file of 300 MB, and prints by how much the memory of the process grew. The server, which keeps nothing, is a thread of
// this process, so its buffers are included.
const BYTES = 300_000_000;
const CHUNK = Buffer.alloc(65_536, 7);

async function serve(): Promise<void> {
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-length': BYTES });
      for (let left = BYTES; left > 0; left -= CHUNK.length) {
        if (!response.write(CHUNK.subarray(0, left))) await once(response, 'drain');
      }
      response.end();
    } else if (request.url!.includes('partNumber')) {
      response.writeHead(200, { etag: '"part"' }).end();
    } else {
      response.end('<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>');
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  parentPort!.postMessage((server.address() as AddressInfo).port);
}

async function* body() {
  for (let left = BYTES; left > 0; left -= CHUNK.length) yield CHUNK.subarray(0, left);
}

async function measure(): Promise<void> {
  const worker = new Worker(new URL(import.meta.url));
  const [port] = await once(worker, 'message');
  const storage = s3({
    bucket: 'test-bucket',
    region: 'eu-central-1',
    endpoint: `http://127.0.0.1:${port}`,
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  });
  const before = process.memoryUsage().rss;
  let highest = before;
  const watch = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage().rss);
  }, 20);
  await storage.write('file', body(), { type: 'application/octet-stream' });
  let bytes = 0;
  for await (const chunk of await storage.read('file')) bytes += chunk.length;
  clearInterval(watch);
  process.stdout.write(JSON.stringify({ bytes, growth: highest - before }));
  process.exit();
}

await (isMainThread ? measure() : serve());
