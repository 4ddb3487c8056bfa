import { expect, test, vi } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

const note = defineResource('note', {
  fields: { text: f.string().required() },
  policies: { list: 'public', read: 'public', create: 'public' },
});
const postgres = await startTcpProxy(new URL(process.env.TEST_DATABASE_URL!));
const { call } = await startTestApp(
  { resources: [defineUser(), note] },
  { env: (own) => ({ DATABASE_URL: new URL(new URL(own.DATABASE_URL).pathname, postgres.url).href }) },
);

test('while Postgres is down every route responds 503 with Retry-After, and recovers by itself afterwards', async () => {
  const { body } = await call('POST', '/api/notes', { text: 'kept' });
  postgres.shut();
  for (const [method, path] of [
    ['GET', `/api/notes/${body.data.id}`],
    ['GET', '/api/notes'],
    ['POST', '/api/notes'],
  ] as const) {
    const response = await call(method, path, method === 'POST' ? { text: 'lost' } : undefined);
    expect(response.status, `${method} ${path}`).toBe(503);
    expect(response.body.error).toMatchObject({
      code: 'UNAVAILABLE',
      message: 'The service is temporarily unavailable',
    });
    expect(response.headers.get('retry-after')).toBe('5');
  }
  expect((await call('GET', '/readyz')).body.checks.postgres).toBe('failed');
  expect((await call('GET', '/healthz')).status).toBe(200);
  postgres.reopen();
  await vi.waitUntil(async () => (await call('GET', `/api/notes/${body.data.id}`)).status === 200, { timeout: 60_000 });
  expect((await call('POST', '/api/notes', { text: 'again' })).status).toBe(201);
});
