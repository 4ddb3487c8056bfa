import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type ListeningServer, startHttpServer } from '../../../src/platform/http/server.ts';

const GRACE_MS = 30_000;
const LINGER_MS = 1000;

/** Starts a server whose responses the test sends itself. */
async function startServer() {
  const waiting: { req: IncomingMessage; res: ServerResponse }[] = [];
  const handler = (req: IncomingMessage, res: ServerResponse) => {
    if (req.url === '/slow') waiting.push({ req, res });
    else res.end('fast');
  };
  const server = await startHttpServer(handler, { port: 0, setting: 'PORT', host: '127.0.0.1' }, { stallMs: 30_000 });
  onTestFinished(() => server.close(0));
  const nextWaiting = () => vi.waitUntil(() => waiting.shift(), { interval: 5 });
  return { server, nextWaiting };
}

/** Opens a kept-alive connection, and collects what the server sends. */
async function open(server: ListeningServer) {
  const socket: Socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  await once(socket, 'connect');
  onTestFinished(() => void socket.destroy());
  let received = '';
  socket.on('error', () => undefined);
  socket.setEncoding('utf8').on('data', (text: string) => (received += text));
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const request = (path: string) => socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  const countResponses = () => received.split('HTTP/1.1 200').length - 1;
  const waitForResponses = (count: number) => vi.waitUntil(() => countResponses() === count, { interval: 5 });
  return { socket, request, waitForResponses, countResponses, received: () => received, ended };
}

test('a draining server goes on serving, and every response closes its connection', async () => {
  const { server, nextWaiting } = await startServer();
  const [kept, busy] = [await open(server), await open(server)];
  kept.request('/fast');
  await kept.waitForResponses(1);
  expect(kept.received()).not.toContain('Connection: close');
  busy.request('/slow');
  const { res } = await nextWaiting();

  server.startDraining();
  kept.request('/fast');
  await kept.ended;
  expect(kept.countResponses()).toBe(2);
  expect(kept.received().match(/Connection: close/g)).toHaveLength(1);
  res.end('slow');
  await busy.ended;
  expect(busy.received()).toContain('Connection: close');
  const late = await open(server);
  late.request('/fast');
  await late.ended;
  expect(late.received()).toMatch(/Connection: close.*fast/s);
});

test('a closing server refuses connections, lets the request in progress finish, and ends with it', async () => {
  const { server, nextWaiting } = await startServer();
  const [busy, idle] = [await open(server), await open(server)];
  idle.request('/fast');
  await idle.waitForResponses(1);
  busy.request('/slow');
  const { res } = await nextWaiting();
  let isClosed = false;
  const closed = server.close(GRACE_MS).then(() => (isClosed = true));
  await idle.ended;
  await expect(open(server)).rejects.toThrow(/ECONNREFUSED/);
  expect(isClosed).toBe(false);
  res.end('done');
  await Promise.all([closed, busy.ended]);
  expect(busy.received()).toMatch(/Connection: close.*done/s);
});

test('a request on a connection that was used a moment ago is served while the server closes', async () => {
  const { server, nextWaiting } = await startServer();
  const one = await open(server);
  one.request('/slow');
  const { res } = await nextWaiting();
  // The head of the response is sent before the drain: it promises a connection that stays open.
  res.writeHead(200, { 'Content-Length': 4 });
  res.flushHeaders();
  await one.waitForResponses(1);
  const closed = server.close(GRACE_MS, GRACE_MS);
  res.end('done');
  await vi.waitUntil(() => one.received().endsWith('done'), { interval: 5 });
  one.request('/fast');
  await Promise.all([closed, one.ended]);
  expect(one.received()).toMatch(/done.*Connection: close.*fast/s);
});

test('a connection without any request does not hold up the end', async () => {
  const { server } = await startServer();
  const unused = await open(server);
  const begun = await open(server);
  await server.close(GRACE_MS, LINGER_MS);
  await Promise.all([unused.ended, begun.ended]);
});

test('after the grace time, the remaining connections are closed', async () => {
  const { server, nextWaiting } = await startServer();
  const busy = await open(server);
  busy.request('/slow');
  await nextWaiting();
  await server.close(50);
  await busy.ended;
  expect(busy.countResponses()).toBe(0);
});

test('clients that send one request after the other on kept-alive connections lose none of them', async () => {
  const { server } = await startServer();
  let isClosed = false;
  /** Sends requests until a response closes the connection. */
  async function useConnection(): Promise<void> {
    const one = await open(server);
    for (let sent = 1; ; sent++) {
      one.request('/fast');
      await Promise.race([one.waitForResponses(sent), one.ended]);
      // A connection that the server has never accepted is reset when it stops listening.
      if (sent > 1) expect(one.countResponses()).toBe(sent);
      if (one.countResponses() < sent || one.received().includes('Connection: close')) return;
    }
  }
  async function runClient(): Promise<void> {
    while (!isClosed) await useConnection().catch((error) => expect(error.code).toBe('ECONNREFUSED'));
  }
  const clients = Promise.all(Array.from({ length: 20 }, runClient));
  const first = await open(server);
  first.request('/fast');
  await first.waitForResponses(1);
  server.startDraining();
  await server.close(GRACE_MS, LINGER_MS);
  isClosed = true;
  await clients;
});
