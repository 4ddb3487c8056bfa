import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { app as sheets } from '../../fixtures/sheets/app.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';
import { createRoleEnv, startProcess } from '../../support/processes/app-process.ts';

// Each test starts a process, and some put it under load, which takes long on a busy machine.
vi.setConfig({ testTimeout: 480_000, hookTimeout: 60_000 });

const database = await createTestDatabase();
const env = createRoleEnv(database);
const app = sheets({ ...env, NODE_ENV: 'test' });
afterAll(async () => {
  await app.close();
  await database.drop();
});
await app.migrate({ mode: 'sync' });

const MEBIBYTE = 2 ** 20;
const READERS = 200;
const MAX_RESIDENT = 768 * MEBIBYTE;
// Long, so that even a busy machine checks the state before stalled connections are destroyed.
const PATIENT = { STALL_MS: '3600000' };
const isLinux = process.platform === 'linux';

const startWeb = (more: Record<string, string> = {}) =>
  startProcess('test/fixtures/sheets/process.ts', { ...env, ...more });

/** The peak resident memory of a process, in bytes. */
function peakMemoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}

/** Opens a connection, sends requests and reads no response. */
function stall(url: string, paths: readonly string[], from = '127.0.0.1'): Socket {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress: from });
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
  onTestFinished(() => {
    socket.destroy();
  });
  return socket;
}

/** Reads a whole response, from a local address. */
async function readFrom(
  url: string,
  path: string,
  from: string,
): Promise<{ status: number; bytes: number; retryAfter: string | undefined }> {
  const sent = request(url + path, { localAddress: from, agent: false }).end();
  const [response] = await once(sent, 'response');
  let bytes = 0;
  for await (const chunk of response) bytes += chunk.length;
  return { status: response.statusCode, bytes, retryAfter: response.headers['retry-after'] };
}

/** Creates records of a kind. */
async function makeSheets(kind: string, count: number, values: object): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push((await app.service('sheet').create({ kind, ...values })).id);
  return ids;
}

const list = (kind: string) => `/api/sheets?limit=100&kind=${kind}`;

test.skipIf(!isLinux)(
  'with 200 stalled readers a web process stays below 768 MB and serves other clients, whatever makes the responses large',
  async () => {
    // JSON encodes a control character in six bytes.
    await makeSheets('control', 100, { text: '\u0001'.repeat(20_000) });
    await makeSheets('json', 10, { json: { text: 'x'.repeat(1_000_000) } });
    const included = await makeSheets('included', 40, { text: '\u0001'.repeat(100_000) });
    await app.service('folder').create({ sheets: included });
    const paths = [list('control'), list('json'), '/api/folders?include=sheets'];
    const web = startWeb();
    const url = await web.url();

    const readers = Array.from({ length: READERS }, (_, i) => stall(url, [paths[i % paths.length]!]));
    await Promise.all(readers.map((socket) => once(socket, 'readable')));

    for (const path of paths) {
      // Another client gets the same page.
      const other = await readFrom(url, path, '127.0.0.2');
      expect(other.status).toBe(200);
      expect(other.bytes).toBeGreaterThan(MEBIBYTE);
    }
    // The address of the readers may still get small responses.
    expect((await readFrom(url, '/healthz', '127.0.0.1')).status).toBe(200);
    expect((await readFrom(url, '/api/sheets?limit=100&kind=none', '127.0.0.1')).status).toBe(200);
    expect(peakMemoryOf(web.child.pid!)).toBeLessThan(MAX_RESIDENT);
  },
);

test.skipIf(!isLinux)(
  'readers from many addresses together hold no more than the process limit, and small responses are still sent',
  async () => {
    await makeSheets('many', 100, { text: '\u0001'.repeat(20_000) });
    const web = startWeb(PATIENT);
    const url = await web.url();
    // Their pages have 2 MiB each, 600 MiB together.
    let count = 0;
    const addReader = () => stall(url, Array(3).fill(list('many')), `127.0.1.${++count}`);
    const readers = Array.from({ length: READERS / 2 }, addReader);
    await Promise.all(readers.map((socket) => once(socket, 'readable')));

    // If requests of these readers were refused for each other's sake, the kernel may hold all that the others do not read. More readers fill
    // what is left of the limit.
    let refused: Awaited<ReturnType<typeof readFrom>> | undefined;
    while (refused === undefined && count < 254) {
      const response = await readFrom(url, list('many'), '127.0.0.2');
      if (response.status === 200) await once(addReader(), 'readable');
      else refused = response;
    }
    expect(refused).toMatchObject({ status: 503, retryAfter: expect.stringMatching(/^[1-9]\d*$/) });
    expect((await readFrom(url, '/api/sheets?limit=1&kind=many', '127.0.0.2')).status).toBe(200);
    expect(peakMemoryOf(web.child.pid!)).toBeLessThan(MAX_RESIDENT);
  },
);

test.skipIf(!isLinux)(
  'pipelined requests of a client that does not read are refused once it exceeds its share of memory',
  async () => {
    await makeSheets('behind', 40, { text: 'x'.repeat(50_000) });
    const web = startWeb(PATIENT);
    const url = await web.url();
    stall(url, Array(READERS).fill(list('behind')));
    // The kernel may have taken the first response after the last request was refused. More requests fill what is left of the share.
    await vi.waitUntil(
      async () => {
        if ((await readFrom(url, list('behind'), '127.0.0.1')).status === 503) return true;
        stall(url, Array(3).fill(list('behind')));
        return false;
      },
      { timeout: 400_000 },
    );
    expect((await readFrom(url, list('behind'), '127.0.0.2')).status).toBe(200);
    expect(peakMemoryOf(web.child.pid!)).toBeLessThan(MAX_RESIDENT);
  },
);

test.skipIf(!isLinux)(
  'a connection whose client reads nothing, or a byte now and then, is destroyed; a slow reader gets its whole response',
  async () => {
    // More than the kernel buffers on both sides hold.
    const length = 10 * MEBIBYTE;
    const { id } = await app.service('sheet').create({ kind: 'slow', text: 'x'.repeat(length) });
    // Responses of this size crowd their clients: each must read 64 KiB in any 4 s, a sixth of `STALL_MS`.
    const web = startWeb({ STALL_MS: '24000' });
    const url = await web.url();
    const [stalled, trickling, slow] = ['127.0.0.3', '127.0.0.4', '127.0.0.5'].map((from) =>
      stall(url, [`/api/sheets/${id}`], from),
    ) as [Socket, Socket, Socket];
    const idle = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('utf8');
    onTestFinished(() => {
      idle.destroy();
    });

    let taken = 0;
    slow.on('data', (chunk: Buffer) => {
      taken += chunk.length;
      slow.pause();
    });
    const clock = setInterval(() => {
      trickling.read(1);
      slow.resume();
      // A client that does not read notices a closed connection only when it writes. Line ends between requests are ignored.
      for (const socket of [stalled, trickling]) if (!socket.destroyed) socket.write('\r\n');
    }, 50);
    onTestFinished(() => clearInterval(clock));
    await vi.waitUntil(() => stalled.destroyed && trickling.destroyed, { timeout: 100_000 });
    await vi.waitUntil(() => taken >= length - 32_768, { timeout: 100_000 });
    expect(slow.destroyed).toBe(false);

    idle.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    expect((await once(idle, 'data'))[0]).toMatch(/^HTTP\/1.1 200/);
  },
);
