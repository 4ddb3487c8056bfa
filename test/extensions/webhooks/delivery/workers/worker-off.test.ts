import { expect, onTestFinished, test, vi } from 'vitest';
import { createApp, defineResource, defineUser, f, webhooks } from '../../../../../src/index.ts';
import { startReceiver } from '../../../../fakes/receiver.ts';
import { startTestApp } from '../../../../support/app.ts';

const note = defineResource('note', { fields: { text: f.text(), owner: f.ref('user').owner() } });
const declared = { resources: [defineUser(), note], extensions: [webhooks()] };

test('with WEBHOOKS_WORKER=off, web processes create deliveries and send none; a separate worker sends them', async () => {
  const { person, env } = await startTestApp(declared, { roles: 'all', env: () => ({ WEBHOOKS_WORKER: 'off' }) });
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const ann = await person('Ann');
  const { id } = (await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'] })).body.data;
  const states = async () =>
    (await ann.call('GET', `/api/webhooks/${id}/deliveries`)).body.data.map(({ status }: { status: string }) => status);
  await ann.call('POST', '/api/notes', { text: 'x' });
  await vi.waitUntil(async () => (await states()).length === 1, { timeout: 60_000, interval: 20 });
  expect(await states()).toEqual(['pending']);
  expect(receiver.requests).toHaveLength(0);

  const worker = createApp(declared, { ...env, WEBHOOKS_WORKER: 'on' });
  onTestFinished(() => worker.close());
  await worker.start({ roles: ['webhook-worker'] });
  await receiver.received(1);
});
