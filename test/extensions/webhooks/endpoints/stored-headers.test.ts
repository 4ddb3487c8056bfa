import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { createApp, defineUser, privacy, webhooks } from '../../../../src/index.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { createClient, startTestApp } from '../../../support/app.ts';
import { generateKey, getKeyId } from '../../../support/database/encrypted-patients.ts';
import { exportOf } from '../../privacy/export/app.ts';

const [old, next] = [generateKey(), generateKey()];
const made = {
  resources: [defineUser()],
  extensions: [webhooks({ retrySchedule: [], pollMs: 50 }), privacy()],
} as const;
const { app, person, env, url } = await startTestApp(made, {
  roles: 'all',
  env: () => ({ SVC_ENCRYPTION_KEYS: old }),
});
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const receiver = await startReceiver();
afterAll(() => Promise.all([client.end(), receiver.close()]));

const KEY = 'key-3f1c9b6a20d84e57';
const PASSWORD = 'correct horse battery';
const subscribe = async (call: ReturnType<typeof createClient>): Promise<string> => {
  const body = { url: receiver.url, events: ['user.*'], headers: { 'X-Api-Key': KEY } };
  return (await call('POST', '/api/webhooks', body)).body.data.id;
};
const stored = async (id: string) =>
  (await client.query('select headers, header_masks, removed_at from webhook_endpoints where id = $1', [id])).rows[0];

test('the database stores headers encrypted, and a ciphertext that was copied to another endpoint does not decrypt there', async () => {
  const [ann, bob] = [await person('Ann'), await person('Bob')];
  const [id, copy] = [await subscribe(ann.call), await subscribe(bob.call)];
  const { headers } = await stored(id);
  expect(headers).toMatch(/^v1\./);
  expect((await stored(copy)).headers).not.toBe(headers);
  await client.query('update webhook_endpoints set headers = $1 where id = $2', [headers, copy]);
  const before = receiver.requests.length;
  const { body } = await bob.call('POST', `/api/webhooks/${copy}/test`);
  expect(body.data).toMatchObject({ status: 'failed', error: 'headers not readable', statusCode: null });
  expect(receiver.requests).toHaveLength(before);
  const more = await bob.call('PATCH', `/api/webhooks/${copy}`, { headers: { 'X-More': 'v' } });
  expect([more.status, more.body.error.code]).toEqual([409, 'CONFLICT']);
  const again = await bob.call('PATCH', `/api/webhooks/${copy}`, { headers: { 'X-Api-Key': 'new' } });
  expect(again.status).toBe(200);
  expect((await bob.call('POST', `/api/webhooks/${copy}/test`)).body.data.status).toBe('succeeded');
});

test('a password reset disables the endpoint and keeps its headers', async () => {
  const cy = await person('Cy');
  const id = await subscribe(cy.call);
  await cy.call('POST', '/api/auth/password', { currentPassword: PASSWORD, newPassword: 'another horse battery' });
  const { rows } = await client.query('select enabled, headers from webhook_endpoints where id = $1', [id]);
  expect(rows).toEqual([{ enabled: false, headers: expect.stringMatching(/^v1\./) }]);
});

test('deleting an endpoint deletes its headers at once, and so does the erasure of its owner', async () => {
  const [dan, eve] = [await person('Dan'), await person('Eve')];
  const [deleted, erased] = [await subscribe(dan.call), await subscribe(eve.call)];
  expect((await dan.call('DELETE', `/api/webhooks/${deleted}`)).status).toBe(204);
  expect((await eve.call('POST', '/api/auth/me/erase', { password: PASSWORD })).status).toBe(202);
  await vi.waitUntil(async () => (await stored(erased))?.removed_at !== null, { timeout: 60_000, interval: 25 });
  for (const id of [deleted, erased]) {
    const row = await stored(id);
    if (row !== undefined) expect(row).toMatchObject({ headers: null, header_masks: null });
  }
});

test('the export of a user has the endpoint without the values of its headers', async () => {
  const fay = await person('Fay');
  const id = await subscribe(fay.call);
  const files = await exportOf(fay, { url });
  const rows = files['account/webhook-endpoints.ndjson'];
  expect(rows).toMatchObject([{ id, url: receiver.url }]);
  expect(JSON.stringify(files)).not.toContain(KEY);
});

test('a key rotation re-encrypts headers with the newest key, and they are sent as before', async () => {
  const gil = await person('Gil');
  const id = await subscribe(gil.call);
  expect((await stored(id)).headers).toContain(`.${getKeyId(old)}.`);
  await app.close();
  const rotator = createApp(made, { ...env, SVC_ENCRYPTION_KEYS: `${next},${old}` });
  onTestFinished(() => rotator.close());
  await rotator.start({ roles: ['web'], port: 0 });
  const { left, undecryptable } = await rotator.encryption.rotate();
  expect([left, undecryptable]).toEqual([0, []]);
  await rotator.close();
  expect((await stored(id)).headers).toContain(`.${getKeyId(next)}.`);
  const own = createApp(made, { ...env, SVC_ENCRYPTION_KEYS: next });
  onTestFinished(() => own.close());
  const { url: ownUrl } = await own.start({ port: 0 });
  expect(ownUrl).not.toBe(url);
  const before = receiver.requests.length;
  const call = createClient(ownUrl, gil.token);
  expect((await call('POST', `/api/webhooks/${id}/test`)).body.data.status).toBe('succeeded');
  expect((await receiver.received(before + 1)).at(-1)!.headers['x-api-key']).toBe(KEY);
});
