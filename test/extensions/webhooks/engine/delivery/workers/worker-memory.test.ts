import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test, vi } from 'vitest';
import { startReceiver } from '../../../../../fakes/receiver.ts';
import { startRawReceiver } from '../../../../../fakes/receiver-raw.ts';
import { notes } from '../../../../../fixtures/notes/app.ts';
import { startTestApp } from '../../../../../support/app.ts';
import { startProcess } from '../../../../../support/processes/app-process.ts';

const MB = 2 ** 20;
const EACH = 3;
const { env, person } = await startTestApp(notes, { roles: ['web', 'relay'] });
const closing: (() => unknown)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

/** Returns the resident memory of a process in MB: the peak if the system reports it, otherwise the current value. */
function memoryOf(pid: number): { now: number; most: number } {
  if (process.platform === 'linux') {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const [now, most] = ['VmRSS', 'VmHWM'].map((name) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)![1]));
    return { now: now! / 1024, most: most! / 1024 };
  }
  const now = Number(spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).stdout) / 1024;
  return { now, most: now };
}

/** Writes as fast as the other side reads, until the end or until the other side stops reading. */
function pour(socket: Socket, head: string, chunk: Buffer, times: number): void {
  socket.write(head);
  let left = times;
  const more = () => {
    while (left > 0 && !socket.destroyed) {
      left -= 1;
      if (!socket.write(chunk)) return;
    }
  };
  socket.on('drain', more);
  more();
}

function drip(socket: Socket, head: string): void {
  socket.write(head);
  const timer = setInterval(() => socket.write('a'), 50);
  socket.on('close', () => clearInterval(timer));
}

const block = Buffer.alloc(MB, 'a');
const chunked = Buffer.concat([Buffer.from(`${MB.toString(16)}\r\n`), block, Buffer.from('\r\n')]);
const bomb = gzipSync(Buffer.alloc(100 * MB));
const hostile: Record<string, [script: (socket: Socket) => void, status: string, error: string | null]> = {
  '100 MB of a known length': [
    (s) => pour(s, `HTTP/1.1 200 OK\r\ncontent-length: ${100 * MB}\r\n\r\n`, block, 100),
    'succeeded',
    null,
  ],
  '100 MB in chunks': [
    (s) => pour(s, 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', chunked, 100),
    'succeeded',
    null,
  ],
  'a gzip bomb': [
    (s) => pour(s, `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`, bomb, 1),
    'succeeded',
    null,
  ],
  '100 MB of headers': [(s) => pour(s, 'HTTP/1.1 200 OK\r\nx: ', block, 100), 'failed', 'invalid answer'],
  'dripped headers': [(s) => drip(s, 'HTTP/1.1 200 OK\r\nx: '), 'failed', 'timeout'],
  'a dripped body': [(s) => drip(s, 'HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n'), 'failed', 'timeout'],
};

test('a worker with a heap of 64 MB survives 100 MB bodies, gzip bombs and slow responses, and its memory stays flat', {
  timeout: 240_000,
}, async () => {
  const worker = startProcess('test/fixtures/notes/webhook-worker.ts', {
    ...env,
    LOG_LEVEL: 'error',
    NODE_OPTIONS: '--max-old-space-size=64',
  });
  const ann = await person('Ann');
  const endpoints = new Map<string, string>();
  const subscribe = async (name: string, url: string) => {
    const { body } = await ann.call('POST', '/api/webhooks', { url, events: ['note.created'] });
    endpoints.set(name, body.data.id);
  };
  const log = async (name: string): Promise<{ status: string; error: string | null; response: string | null }[]> =>
    (await ann.call('GET', `/api/webhooks/${endpoints.get(name)}/deliveries?limit=100`)).body.data;
  const areDone = async (name: string, count: number) => {
    const list = await log(name);
    return list.length === count && list.every(({ status }) => status === 'succeeded' || status === 'failed');
  };
  const healthy = await startReceiver();
  closing.push(healthy.close);
  await subscribe('healthy', healthy.url);
  await ann.call('POST', '/api/notes', { text: 'warm-up' });
  await vi.waitUntil(() => areDone('healthy', 1), { timeout: 60_000, interval: 200 });

  for (const [name, [script]] of Object.entries(hostile)) {
    const receiver = await startRawReceiver(script);
    closing.push(receiver.close);
    await subscribe(name, receiver.url);
  }
  const before = memoryOf(worker.child.pid!).now;
  let most = before;
  await Promise.all(Array.from({ length: EACH }, (_, i) => ann.call('POST', '/api/notes', { text: `note ${i}` })));
  for (const name of Object.keys(hostile)) {
    for (const end = Date.now() + 60_000; !(await areDone(name, EACH)); await sleep(200)) {
      expect(worker.child.exitCode, worker.output()).toBeNull();
      expect(Date.now()).toBeLessThan(end);
      most = Math.max(most, memoryOf(worker.child.pid!).most);
    }
    const [, status, error] = hostile[name]!;
    const list = await log(name);
    expect(list.map((one) => [name, one.status, one.error])).toEqual(list.map(() => [name, status, error]));
    for (const { response } of list) expect(Buffer.byteLength(response ?? '')).toBeLessThanOrEqual(1024);
  }
  // Buffers are not on the heap, so bodies that were read would show here.
  expect(most - before).toBeLessThan(150);
  await vi.waitUntil(() => areDone('healthy', 1 + EACH), { timeout: 60_000, interval: 200 });
  expect((await log('healthy')).every(({ status }) => status === 'succeeded')).toBe(true);
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toBe(0);
});
