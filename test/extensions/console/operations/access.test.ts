import { expect, test } from 'vitest';
import { createClient } from '../../../support/app.ts';
import { API, startOperationsApp } from './operations-app.ts';

const { call, person, url, admin } = await startOperationsApp();
const ada = await person('Ada');

const HASH = 'a'.repeat(64);
const ROUTES: [method: string, path: string, body?: unknown][] = [
  ['GET', '/overview'],
  ['GET', '/checks'],
  ['GET', '/processes'],
  ['GET', '/queues'],
  ['GET', '/jobs'],
  ['GET', '/queues/mail/failed'],
  ['POST', '/queues/mail/failed/1/retry'],
  ['DELETE', '/queues/mail/failed/1'],
  ['GET', '/outbox'],
  ['POST', '/outbox/retry'],
  ['POST', '/outbox/1/retry'],
  ['GET', '/limits'],
  ['GET', '/limits/clients'],
  ['GET', '/limits/lockouts'],
  ['GET', '/limits/lookup?q=127.0.0.1'],
  ['POST', '/limits/clients/clear', { name: 'all', windowMs: 60_000, client: '127.0.0.1' }],
  ['POST', `/limits/lockouts/${HASH}/clear`],
  ['POST', `/limits/accounts/${ada.id}/unlock`],
  ['GET', '/slow'],
  ['GET', '/slow/statistics'],
  ['POST', '/slow/clear'],
];

test.each(ROUTES)('%s %s is refused without a session of an administrator', async (method, path, body) => {
  expect((await call(method, API + path, body)).status).toBe(401);
  expect((await ada.call(method, API + path, body)).body.error.code).toBe('FORBIDDEN');
  const { body: made } = await admin.call('POST', '/api/auth/api-keys', { name: 'key', scopes: ['*'] });
  expect((await createClient(url, made.data.key)(method, API + path, body)).body.error.code).toBe('FORBIDDEN');
  await admin.call('DELETE', `/api/auth/api-keys/${made.data.id}`);
});

test('the log is not available in production', async () => {
  expect((await admin.call('GET', `${API}/log`)).status).toBe(404);
});
