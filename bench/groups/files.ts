import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Bench, createRatio, type Figure, type Group } from '../figure.ts';
import { runInterleaved } from '../measure/interleave.ts';
import { withOwnDatabase } from '../setup/database.ts';
import { createBelfryEnvironment } from '../setup/environment.ts';

const BELFRY = new URL('../processes/uploads.ts', import.meta.url);
const BARE = new URL('../baselines/bare-uploads.ts', import.meta.url);
const MEBIBYTE = 2 ** 20;
const BYTES = 256 * MEBIBYTE;
// Binary data that no type is recognized in.
const CHUNK = Buffer.alloc(64 * 1024, 0x81);

function* body() {
  for (let left = BYTES; left > 0; left -= CHUNK.length) yield CHUNK;
}

/** Uploads the body once. Returns MiB per second. */
async function upload(url: string): Promise<number> {
  const begin = performance.now();
  const headers = { 'content-length': BYTES, 'content-type': 'application/octet-stream' };
  const req = request(url, { method: 'POST', headers });
  const response = new Promise<number>((resolve, reject) => {
    req.once('error', reject).once('response', (res) => {
      res.resume().once('end', () => resolve(res.statusCode!));
    });
  });
  await pipeline(Readable.from(body(), { objectMode: false }), req);
  const status = await response;
  if (status !== 201) throw new Error(`the upload was answered with ${status}`);
  return BYTES / MEBIBYTE / ((performance.now() - begin) / 1000);
}

async function measureUploads(bench: Bench, directory: string): Promise<Figure> {
  const environment = { ...createBelfryEnvironment(bench.servers), FILES: directory };
  await (await bench.children.start(BELFRY, { ...environment, BENCH_MIGRATE: 'on' })).stop();
  const belfry = await bench.children.start(BELFRY, environment);
  const bare = await bench.children.start(BARE, { FILES: directory });
  const sides = {
    belfry: () => upload(`${belfry.url}/api/files/uploads?field=film.video`),
    bare: () => upload(bare.url),
  };
  await runInterleaved(sides, 1);
  const rates = await runInterleaved(sides, bench.reps);
  await Promise.all([belfry.stop(), bare.stop()]);
  return createRatio('files.upload', rates.belfry, rates.bare, 'MiB; uploads of 256 MiB to the disk');
}

/** Measures uploads of 256 MiB to the disk, compared with a bare Node server that pipes the body into a file. */
export const files: Group = {
  name: 'files',
  async run(bench: Bench): Promise<Figure[]> {
    if (!bench.isRequested('files.upload')) return [];
    bench.logProgress('files …');
    const directory = await mkdtemp(join(tmpdir(), 'belfry-bench-'));
    try {
      return [await withOwnDatabase(bench, 'uploads', (own) => measureUploads(own, directory))];
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
};
