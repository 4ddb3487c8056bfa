// The push baselines: each provider's library alone, used in its fastest way.
import { Agent } from 'node:https';
import apn from '@parse/node-apn';
import { cert, initializeApp } from 'firebase-admin/app';
import { getMessaging } from 'firebase-admin/messaging';
import webpush from 'web-push';
import { reportReady } from '../processes/child.ts';

const { FCM_SERVICE_ACCOUNT, APNS_KEY, APNS_KEY_ID, APNS_TEAM_ID, APNS_TOPIC } = process.env;
const { VAPID_PUBLIC_KEY, VAPID_PRIVATE_KEY, VAPID_SUBJECT } = process.env;
const orEmpty = (value: string | undefined) => value ?? '';

/** Runs `next` for every item, this many concurrently. */
async function runConcurrently<Item>(
  items: readonly Item[],
  concurrency: number,
  next: (item: Item) => Promise<unknown>,
): Promise<void> {
  let nextIndex = 0;
  const runWorker = async () => {
    while (nextIndex < items.length) await next(items[nextIndex++]!);
  };
  await Promise.all(Array.from({ length: concurrency }, runWorker));
}

const app = initializeApp({ credential: cert(JSON.parse(orEmpty(FCM_SERVICE_ACCOUNT))), projectId: 'bench' });
const provider = new apn.Provider({
  token: { key: orEmpty(APNS_KEY), keyId: orEmpty(APNS_KEY_ID), teamId: orEmpty(APNS_TEAM_ID) },
  production: true,
  ...{ connectionRetryLimit: 0, requestTimeout: 15_000, maxSessionMemory: 100 },
});
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const authorizationByOrigin = new Map<string, string>();

const send = {
  /** Four concurrent calls with 500 messages each. */
  async fcm(tokens: string[], title: string) {
    const calls = Array.from({ length: Math.ceil(tokens.length / 500) }, (_, i) =>
      tokens.slice(i * 500, i * 500 + 500),
    );
    await runConcurrently(calls, 4, (call) =>
      getMessaging(app).sendEach(
        call.map((token) => ({ token, notification: { title }, android: { priority: 'high' } })),
      ),
    );
  },
  /** 500 concurrent notifications on one connection. */
  async apns(tokens: string[], title: string) {
    const notification = new apn.Notification({
      topic: orEmpty(APNS_TOPIC),
      pushType: 'alert',
      rawPayload: { aps: { alert: { title }, sound: 'default' } },
    });
    await runConcurrently(tokens, 500, (token) => provider.send(notification, token));
  },
  /** 64 concurrent requests on kept-alive connections, with one signature per origin instead of one per message. */
  async web(tokens: string[], title: string) {
    const payload = JSON.stringify({ title });
    await runConcurrently(tokens, 64, (token) => {
      const subscription = JSON.parse(token);
      const { origin } = new URL(subscription.endpoint);
      const Authorization =
        authorizationByOrigin.get(origin) ??
        webpush.getVapidHeaders(
          origin,
          orEmpty(VAPID_SUBJECT),
          orEmpty(VAPID_PUBLIC_KEY),
          orEmpty(VAPID_PRIVATE_KEY),
          'aes128gcm',
        ).Authorization;
      authorizationByOrigin.set(origin, Authorization);
      return webpush.sendNotification(subscription, payload, {
        agent,
        headers: { Authorization },
        TTL: 60,
        timeout: 10_000,
      });
    });
  },
};

reportReady('', {
  send: ({ provider: name, tokens, title }: { provider: keyof typeof send; tokens: string[]; title: string }) =>
    send[name](tokens, title),
});
