// The app of the tests of the tab: an app in development with a receiver.
import { afterAll, vi } from 'vitest';
import { z } from 'zod';
import { adminConsole, apiKeys, audit, defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../support/app.ts';

const note = defineResource('note', {
  fields: {
    text: f.text(),
    pin: f.string().encrypted(),
    hidden: f.boolean(),
    owner: f.ref('user').owner(),
  },
  policies: { read: 'owner' },
  scope: ({ user }) => (user?.roles?.includes('admin') ? undefined : { hidden: { ne: true } }),
});

/** The routes of the tab. */
const TAB = '/console/api/webhooks';

/** Starts the app of a test file, and a receiver. */
export async function startWebhooksConsole() {
  const receiver = await startReceiver();
  afterAll(() => receiver.close());
  const running = await startTestApp(
    {
      resources: [defineUser(), note],
      extensions: [
        audit(),
        apiKeys(),
        webhooks({
          retrySchedule: [],
          pollMs: 100,
          disableAfterFailures: 5,
          maxEndpointsPerUser: 3,
          events: { 'invoice.paid': { schema: z.object({ invoice: z.string() }), description: 'An invoice was paid' } },
        }),
        adminConsole(),
      ],
    },
    { roles: 'all' },
  );

  /** Calls a route of the tab, as the page of the console does in development. */
  const ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    running.call(method, TAB + path, body, headers);

  /** Creates an endpoint of a user. Returns its id. */
  async function subscribe(person: Person, events = ['note.*'], url = receiver.url): Promise<string> {
    const { body } = await person.call('POST', '/api/webhooks', { url, events });
    return body.data.id;
  }

  /** Waits until the newest delivery of an endpoint has this status, after an attempt, and returns it. */
  async function settle(endpoint: string, status: string) {
    const read = async () => (await ask('GET', `/endpoints/${endpoint}/deliveries?limit=1`)).body.data[0];
    return vi.waitUntil(
      async () => {
        const delivery = await read();
        return delivery?.status === status && delivery.attempts > 0 && delivery;
      },
      { timeout: 30_000, interval: 20 },
    );
  }

  return { receiver, running, ask, subscribe, settle };
}
