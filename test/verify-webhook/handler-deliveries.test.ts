// Handlers as the receivers of an app that sends.
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { type createApp, defineResource, defineUser, f, webhooks } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { handlerServers } from '../support/webhooks/handler-servers.ts';

interface Delivery {
  type: string;
  status: string;
  attempts: number;
  statusCode: number;
}

const options = {
  resources: [
    defineUser(),
    defineResource('post', {
      fields: { title: f.string().required(), author: f.ref('user').owner() },
      policies: { read: 'owner' },
    }),
  ],
  extensions: [
    webhooks({
      retrySchedule: [0, 0, 0],
      pollMs: 50,
      events: { 'invoice.paid': { schema: z.object({ amount: z.number() }) } },
    }),
  ],
} as const;
const running = await startTestApp(options, { roles: ['web', 'relay', 'webhook-worker'] });
const { person } = running;
// The type of the test helper does not know the APIs that extensions add.
const app = running.app as unknown as ReturnType<
  typeof createApp<(typeof options)['resources'], (typeof options)['extensions']>
>;

describe.each(handlerServers)('the entry point %s', (_, start) => {
  test('handles records, published events and tests that an app sends, and a failed handler gets its event again', async () => {
    const ada = await person('Ada');
    const events = ['post.created', 'invoice.paid'];
    const { body } = await ada.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events });
    const { id, secret } = body.data;
    const handled: string[] = [];
    const onError = vi.fn();
    const url = await start({
      secret,
      onError,
      on: {
        'post.created': ({ data }, { id: messageId }) => {
          handled.push(`${(data as { title: string }).title} ${messageId}`);
          if (handled.length === 1) throw new Error('once');
        },
        'invoice.paid': ({ data }) => void handled.push(`paid ${(data as { amount: number }).amount}`),
      },
    });
    // The server starts with the secret, which the app returns when the endpoint is created.
    expect((await ada.call('PATCH', `/api/webhooks/${id}`, { url })).status).toBe(200);
    await ada.call('POST', '/api/posts', { title: 'Hello' });
    await vi.waitUntil(() => handled.length === 2);
    expect(handled[0]).toMatch(/^Hello msg_/);
    expect(handled[1]).toBe(handled[0]);
    expect(onError).toHaveBeenCalledTimes(1);
    await app.webhooks.publish('invoice.paid', { amount: 7 }, { owner: ada.id });
    await vi.waitUntil(() => handled.includes('paid 7'));
    expect((await ada.call('POST', `/api/webhooks/${id}/test`)).status).toBe(200);
    const expected = [
      ['invoice.paid', 'succeeded', 1, 204],
      ['post.created', 'succeeded', 2, 204],
      ['webhook.test', 'succeeded', 1, 204],
    ];
    await vi.waitFor(async () => {
      const { body } = await ada.call('GET', `/api/webhooks/${id}/deliveries`);
      const deliveries = (body.data as Delivery[]).map((one) => [one.type, one.status, one.attempts, one.statusCode]);
      expect(deliveries.sort()).toEqual(expected);
    });
  });
});
