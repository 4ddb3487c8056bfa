import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { expect, test, vi } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

/** A door in front of a server: it can be shut, which cuts all connections, and opened again. */
async function door(target: URL) {
  const sockets = new Set<Socket>();
  let open = true;
  const server: Server = createServer((client) => {
    if (!open) return void client.destroy();
    const upstream = connect(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy()).on('close', () => sockets.delete(socket));
      socket.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(target);
  through.host = `127.0.0.1:${(server.address() as { port: number }).port}`;
  return {
    url: through.href,
    shut() {
      open = false;
      for (const socket of sockets) socket.destroy();
    },
    reopen() {
      open = true;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const note = defineResource('note', {
  fields: { text: f.string().required() },
  policies: { list: 'public', read: 'public', create: 'public' },
});
const postgres = await door(new URL(process.env.TEST_DATABASE_URL!));
const { call } = await startTestApp(
  { resources: [defineUser(), note] },
  { env: (own) => ({ DATABASE_URL: new URL(new URL(own.DATABASE_URL).pathname, postgres.url).href }) },
);

test('while Postgres is away every route answers 503 with Retry-After, and by itself works again when it is back', async () => {
  const { body } = await call('POST', '/api/notes', { text: 'kept' });
  postgres.shut();
  for (const [method, path] of [
    ['GET', `/api/notes/${body.data.id}`],
    ['GET', '/api/notes'],
    ['POST', '/api/notes'],
  ] as const) {
    const answer = await call(method, path, method === 'POST' ? { text: 'lost' } : undefined);
    expect(answer.status, `${method} ${path}`).toBe(503);
    expect(answer.body.error).toMatchObject({ code: 'UNAVAILABLE', message: 'The service is temporarily unavailable' });
    expect(answer.headers.get('retry-after')).toBe('5');
  }
  expect((await call('GET', '/readyz')).body.checks.postgres).toBe('failed');
  expect((await call('GET', '/healthz')).status).toBe(200);
  postgres.reopen();
  await vi.waitUntil(async () => (await call('GET', `/api/notes/${body.data.id}`)).status === 200, { timeout: 10_000 });
  expect((await call('POST', '/api/notes', { text: 'again' })).status).toBe(201);
});
