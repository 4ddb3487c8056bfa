import { expect, test } from 'vitest';
import { verifyWebhook } from '../../../../src/index.ts';
import { startWebhooksConsole } from './app.ts';

const { ask, receiver, running, settle, subscribe } = await startWebhooksConsole();
const { person, app } = running;

test('the list has the deliveries of all endpoints, newest first, filtered and page by page, without content', async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const [one, two] = [await subscribe(ada), await subscribe(bob)];
  await ada.call('POST', '/api/notes', { text: 'of Ada' });
  await settle(one, 'succeeded');
  receiver.answer(503);
  await bob.call('POST', '/api/notes', { text: 'of Bob' });
  await settle(two, 'failed');
  receiver.answer(204);
  await ask('POST', `/endpoints/${one}/test`);

  const list = async (query: string) => (await ask('GET', `/deliveries?${query}`)).body;
  const all = await list('');
  expect(all.data.map(({ type }: { type: string }) => type)).toEqual(['webhook.test', 'note.created', 'note.created']);
  expect(all.data[1]).toMatchObject({
    status: 'failed',
    statusCode: 503,
    error: 'status 503',
    endpoint: { id: two, url: receiver.url, owner: bob.id },
  });
  expect(JSON.stringify(all)).not.toContain('of Ada');
  expect((await list('status=failed')).data).toHaveLength(1);
  expect((await list('event=note.created&status=succeeded')).data).toHaveLength(1);
  const page = await list('limit=2');
  const rest = await list(`limit=2&after=${page.meta.next}`);
  expect([rest.data.length, rest.meta.next]).toEqual([1, null]);
  for (const query of ['status=x', 'event=%3Cb%3E', 'after=x', 'limit=101', 'x=1'])
    expect((await ask('GET', `/deliveries?${query}`)).status, query).toBe(400);
  expect((await ask('GET', `/endpoints/${one}/deliveries?status=succeeded&event=note.created`)).body.data).toHaveLength(
    1,
  );
});

test('a delivery shows its request as it was sent, with a signature that its receiver accepts, and its attempts', async () => {
  const eve = await person('Eve');
  const id = await subscribe(eve);
  const { body: created } = await ask('POST', `/endpoints/${id}/rotate-secret`, {});
  const before = receiver.requests.length;
  await eve.call('POST', '/api/notes', { text: '<b>bold</b>' });
  const { id: delivery } = await settle(id, 'succeeded');
  const { data } = (await ask('GET', `/deliveries/${delivery}`)).body;
  expect(data).toMatchObject({ status: 'succeeded', isEncrypted: false, endpoint: { id, owner: eve.id } });
  expect(data.attemptLog).toHaveLength(1);
  const sent = receiver.requests[before]!;
  expect(data.content.body).toBe(sent.body);
  expect(data.content.headers).toMatchObject({
    'webhook-id': sent.headers['webhook-id'],
    'webhook-timestamp': sent.headers['webhook-timestamp'],
    'webhook-signature': sent.headers['webhook-signature'],
  });
  expect(verifyWebhook(created.data.secret, data.content.headers, data.content.body).type).toBe('note.created');
  expect(JSON.stringify(data)).not.toContain('whsec_');
});

test('a body with encrypted values is shown only on request', async () => {
  const mia = await person('Mia');
  const id = await subscribe(mia);
  await mia.call('POST', '/api/notes', { text: 'x', pin: 'door word' });
  const { id: delivery } = await settle(id, 'succeeded');
  const { body } = await ask('GET', `/deliveries/${delivery}`);
  expect(body.data).toMatchObject({ isEncrypted: true, content: null });
  expect(JSON.stringify(body)).not.toContain('door word');
  const revealed = await ask('POST', `/deliveries/${delivery}/reveal`);
  expect(JSON.parse(revealed.body.data.content.body).data.pin).toBe('door word');
});

test('a body that its owner may no longer read is not shown', async () => {
  const ann = await person('Ann');
  const id = await subscribe(ann);
  const { body: note } = await ann.call('POST', '/api/notes', { text: 'secret' });
  const { id: delivery } = await settle(id, 'succeeded');
  await app.service('note').update(note.data.id, { hidden: true });
  const { data } = (await ask('GET', `/deliveries/${delivery}`)).body;
  expect([data.isEncrypted, data.content]).toEqual([false, null]);
});

test('unknown deliveries are not found', async () => {
  for (const path of ['/deliveries/x', `/deliveries/${'0'.repeat(24)}`, '/deliveries/__proto__'])
    expect((await ask('GET', path)).status).toBe(404);
  for (const action of ['retry', 'reveal'])
    expect((await ask('POST', `/deliveries/${'0'.repeat(24)}/${action}`)).status).toBe(404);
});
