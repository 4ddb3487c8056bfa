import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { s3 } from '../../../../../src/platform/data/storage/s3/index.ts';

// Writes and reads a file of 300 MB, and prints how much more memory was in use than with a file of 60 MB. Runs with --expose-gc: garbage that was
// not collected yet, of which a busy machine has much, does not count. The server is a thread of this process, with memory of its own.
const SMALL_BYTES = 60_000_000;
const LARGE_BYTES = 300_000_000;
const CHUNK = Buffer.alloc(65_536, 7);

async function serve(): Promise<void> {
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    if (request.method === 'GET') {
      const length = request.url!.includes('small') ? SMALL_BYTES : LARGE_BYTES;
      response.writeHead(200, { 'content-length': length });
      for (let left = length; left > 0; left -= CHUNK.length) {
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

async function* body(length: number) {
  for (let left = length; left > 0; left -= CHUNK.length) yield CHUNK.subarray(0, left);
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
  let highest = 0;
  setInterval(() => {
    gc!();
    const { heapUsed, external } = process.memoryUsage();
    highest = Math.max(highest, heapUsed + external);
  }, 50).unref();
  const pass = async (key: string, length: number) => {
    await storage.write(key, body(length), { type: 'application/octet-stream' });
    let bytes = 0;
    for await (const chunk of await storage.read(key)) bytes += chunk.length;
    return bytes;
  };
  await pass('small', SMALL_BYTES);
  const before = highest;
  const bytes = await pass('large', LARGE_BYTES);
  process.stdout.write(JSON.stringify({ bytes, growth: highest - before }));
  process.exit();
}

await (isMainThread ? measure() : serve());
