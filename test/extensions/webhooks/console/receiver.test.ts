import { expect, test } from 'vitest';
import { adminConsole, defineUser, webhooks } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';
import { startWebhooksConsole } from './app.ts';

const { ask, running, settle } = await startWebhooksConsole();
const { person, url } = running;

async function createEndpoint(owner: string): Promise<{ id: string; name: string; path: string }> {
  const { status, body } = await ask('POST', '/receiver/endpoints', { owner, events: ['note.*'] });
  expect([status, body.error]).toEqual([201, undefined]);
  const { pathname } = new URL(body.data.url);
  return { id: body.data.id, name: pathname.split('/').at(-1)!, path: pathname };
}

const received = async () => (await ask('GET', '/receiver')).body.data.requests;
const read = async (id: string) => (await ask('GET', `/receiver/requests/${id}`)).body.data;

test('the receiver shows what arrives, verifies signatures, and responds as chosen', async () => {
  const ada = await person('Ada');
  const { id, name, path } = await createEndpoint(ada.id);
  expect((await ask('POST', `/endpoints/${id}/test`)).body.data).toMatchObject({
    status: 'succeeded',
    statusCode: 204,
  });
  const [first] = await received();
  expect(first).toMatchObject({ endpoint: id, name, verification: { isValid: true, code: 'VALID' } });
  expect(first.type).toBe('webhook.test');

  expect((await ask('POST', '/receiver/answer', { name, answer: 'fail' })).status).toBe(200);
  await ada.call('POST', '/api/notes', { text: 'x' });
  const { error } = await settle(id, 'failed');
  expect(error).toBe('status 500');

  // Another body, another secret, an old timestamp, no headers.
  const { headers, body } = await read(first.id);
  expect(JSON.parse(body).type).toBe('webhook.test');
  const signed = {
    'webhook-id': headers['webhook-id'],
    'webhook-timestamp': headers['webhook-timestamp'],
    'webhook-signature': headers['webhook-signature'],
  };
  const send = (more: object, content = body) =>
    fetch(url + path, { method: 'POST', body: content, headers: { ...signed, ...more } as Record<string, string> });
  await send({}, `${body} `);
  await send({ 'webhook-timestamp': '1' });
  await fetch(url + path, { method: 'POST', body: '<script>' });
  const codes = (await received()).slice(0, 3).map(({ verification }: typeof first) => verification.code);
  expect(codes).toEqual(['MISSING_HEADER', 'TIMESTAMP_TOO_OLD', 'SIGNATURE_MISMATCH']);

  expect((await ask('POST', '/receiver/answer', { name, answer: 'gone' })).status).toBe(200);
  await ask('POST', `/endpoints/${id}/test`);
  expect((await ask('GET', `/endpoints/${id}`)).body.data).toMatchObject({
    status: 'disabled',
    disabledReason: 'gone',
  });
  expect((await ask('DELETE', '/receiver/requests')).status).toBe(204);
  expect(await received()).toEqual([]);
});

test('the receiver refuses pages, other machines, unknown names and large bodies', async () => {
  const { path, name } = await createEndpoint((await person('Eve')).id);
  const send = async (address: string, headers: Record<string, string> = {}, body = '{}') =>
    (await fetch(url + address, { method: 'POST', headers, body })).status;
  expect(await send(path)).toBe(204);
  expect(await send(path, { origin: url })).toBe(403);
  expect(await send(path, { 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await send(path, { 'x-forwarded-for': '203.0.113.7' })).toBe(403);
  expect(await send('/console/receiver/0123456789abcdef')).toBe(404);
  expect(await send('/console/receiver/%25')).toBe(404);
  expect(await send(path, {}, 'x'.repeat(256 * 1024 + 1))).toBe(413);
  expect((await fetch(url + path)).status).toBe(405);
  expect((await ask('POST', '/receiver/answer', { name, answer: 'explode' })).status).toBe(422);
  expect((await ask('POST', '/receiver/endpoints', { owner: 'x', events: ['nonsense'] })).status).toBe(422);
});

test('the receiver keeps the newest 100 requests', async () => {
  const { path } = await createEndpoint((await person('Max')).id);
  for (let sent = 0; sent < 101; sent += 1) await fetch(url + path, { method: 'POST', body: String(sent) });
  const kept = await received();
  const bodies = await Promise.all([kept[0], kept.at(-1)].map(async ({ id }) => (await read(id)).body));
  expect([kept.length, ...bodies]).toEqual([100, '100', '1']);
  expect((await ask('GET', '/receiver/requests/nonsense')).status).toBe(404);
});

test('an app that refuses private addresses says why no endpoint can lead to the receiver', async () => {
  const { call, person: register } = await startTestApp({
    resources: [defineUser()],
    extensions: [webhooks({ allowPrivate: false }), adminConsole()],
  });
  const { body } = await call('GET', '/console/api/webhooks/receiver');
  expect(body.data).toMatchObject({ obstacle: expect.stringContaining('allowPrivate: false'), requests: [] });
  const { id } = await register('Ada');
  const refused = await call('POST', '/console/api/webhooks/receiver/endpoints', { owner: id, events: ['*'] });
  expect([refused.status, refused.body.error.message]).toEqual([400, body.data.obstacle]);
});
