import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, expect, test } from 'vitest';
import { app as createFilms } from '../fixtures/uploads/app.ts';
import { createClient } from '../support/app.ts';
import { createTestDatabase } from '../support/database/test-database.ts';
import { createRoleEnv, startProcess } from '../support/processes/app-process.ts';
import { createTestStorage } from './support.ts';

const { directory, listStored } = await createTestStorage();
const database = await createTestDatabase();
afterAll(() => database.drop());
const env = { ...createRoleEnv(database), FILES: directory };
const films = createFilms({ ...env, NODE_ENV: 'test' });
await films.migrate({ mode: 'sync' });
await films.close();

const GIGABYTE = 1_000_000_000;
const CHUNK = Buffer.alloc(50_000, 0x81);

function* generate() {
  for (let left = GIGABYTE; left > 0; left -= CHUNK.length) yield CHUNK;
}

const peakMemoryOf = (pid: number) =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

test.runIf(process.platform === 'linux')(
  'a file of 1 GB is uploaded and read with constant memory',
  {
    timeout: 240_000,
  },
  async () => {
    const web = startProcess('test/fixtures/uploads/process.ts', env);
    const url = (await web.url()).replace('localhost', '127.0.0.1');
    const call = createClient(url);
    await call('GET', '/api/films');
    const before = peakMemoryOf(web.child.pid!);
    const req = request(`${url}/api/files/uploads?field=film.video`, { method: 'POST' });
    const response = once(req, 'response');
    await pipeline(Readable.from(generate(), { objectMode: false }), req);
    const [answer] = await response;
    const body = JSON.parse(Buffer.concat(await answer.toArray()).toString());
    expect(body.data).toMatchObject({ bytes: GIGABYTE, type: 'application/octet-stream' });
    const { id, token } = body.data;
    const created = await call('POST', '/api/films', { video: { id, token } });
    const file = await fetch(url + created.body.data.video.url);
    let bytes = 0;
    for await (const chunk of file.body!) bytes += chunk.length;
    expect(bytes).toBe(GIGABYTE);
    expect(peakMemoryOf(web.child.pid!) - before).toBeLessThan(200_000_000);
  },
);

test('a client that stops sending is disconnected, and leaves nothing behind', { timeout: 120_000 }, async () => {
  const web = startProcess('test/fixtures/uploads/process.ts', { ...env, STALL_MS: '400' });
  const url = (await web.url()).replace('localhost', '127.0.0.1');
  const before = (await listStored()).length;
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk)).on('error', () => undefined);
  socket.write(
    `POST /api/files/uploads?field=film.video HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n${'a'.repeat(30_000)}`,
  );
  await once(socket, 'close');
  expect(Buffer.concat(chunks).toString()).toContain('REQUEST_TIMEOUT');
  await expect.poll(async () => (await listStored()).length).toBe(before);
});
