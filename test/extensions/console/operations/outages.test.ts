import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../../support/app.ts';
import { startAppBehindProxies } from './outage-app.ts';

const { url, admin, postgres, redis, noteId } = await startAppBehindProxies();
const visitor = createClient(url);
const patience = { timeout: 20_000 };

/** Reads the console's document, and returns the status of the document and of each of its files. */
async function readPage(path: string): Promise<number[]> {
  const response = await fetch(url + path);
  const files = [...(await response.text()).matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(
    ([, file]) => file!,
  );
  expect(files.length).toBeGreaterThan(2);
  const statuses = await Promise.all(files.map(async (file) => (await fetch(url + file)).status));
  return [response.status, ...statuses];
}

const withoutId = ({ status, body: { error } }: Awaited<ReturnType<typeof visitor>>) => [
  status,
  { ...error, requestId: undefined },
];

test('while Postgres is down, the console and its files load, its API responds 503, and visitors learn what /readyz says', async () => {
  const before = withoutId(await visitor('GET', '/console/api/app'));
  postgres.shut();
  onTestFinished(() => postgres.reopen());
  await expect
    .poll(async () => (await visitor('GET', '/readyz')).body, patience)
    .toEqual({
      status: 'failed',
      checks: { postgres: 'failed', redis: 'ok', migrations: 'failed' },
    });
  for (const path of ['/console/data', `/console/data/note/${noteId}`, '/console/operations/queues'])
    expect(new Set(await readPage(path))).toEqual(new Set([200]));
  expect(withoutId(await visitor('GET', '/console/api/app'))).toEqual(before);
  expect(before).toEqual([401, { code: 'UNAUTHORIZED', message: 'You must be signed in' }]);
  for (const path of ['/app', '/records/note', '/operations/overview', '/operations/limits', '/changes']) {
    const response = await admin.call('GET', `/console/api${path}`);
    expect([path, ...withoutId(response)]).toEqual([
      path,
      503,
      { code: 'UNAVAILABLE', message: 'The service is temporarily unavailable' },
    ]);
    expect(response.headers.get('retry-after')).toBe('5');
  }
  postgres.reopen();
  await expect.poll(async () => (await admin.call('GET', '/console/api/app')).status, patience).toBe(200);
});

test('while Redis is down, records can be read and changed in the console, and only what needs Redis responds 503', async () => {
  redis.shut();
  onTestFinished(() => redis.reopen());
  await expect
    .poll(async () => (await visitor('GET', '/readyz')).body, patience)
    .toMatchObject({
      status: 'degraded',
      checks: { postgres: 'ok', redis: 'failed' },
    });
  expect(new Set(await readPage('/console/data'))).toEqual(new Set([200]));
  expect((await admin.call('GET', '/console/api/app')).status).toBe(200);
  const changed = await admin.call('POST', '/console/api/records/note', { title: 'Without Redis' });
  expect(changed.status).toBe(201);
  expect((await admin.call('GET', '/console/api/operations/outbox')).status).toBe(200);
  const { body } = await admin.call('GET', '/console/api/operations/limits/clients');
  expect(body.error.code).toBe('UNAVAILABLE');
});
