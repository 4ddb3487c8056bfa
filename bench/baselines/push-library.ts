// The push baselines: each provider's library alone, used in its fastest way.
import { Agent } from 'node:https';
import apn from '@parse/node-apn';
import { cert, initializeApp } from 'firebase-admin/app';
import { getMessaging } from 'firebase-admin/messaging';
import webpush from 'web-push';
import { ready } from '../processes/child.ts';

const { FCM_SERVICE_ACCOUNT, APNS_KEY, APNS_KEY_ID, APNS_TEAM_ID, APNS_TOPIC } = process.env;
const { VAPID_PUBLIC_KEY, VAPID_PRIVATE_KEY, VAPID_SUBJECT } = process.env;
const env = (value: string | undefined) => value ?? '';

/** Runs `next` for every item, this many concurrently. */
async function each<Item>(
  items: readonly Item[],
  atOnce: number,
  next: (item: Item) => Promise<unknown>,
): Promise<void> {
  let at = 0;
  const one = async () => {
    while (at < items.length) await next(items[at++]!);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

const app = initializeApp({ credential: cert(JSON.parse(env(FCM_SERVICE_ACCOUNT))), projectId: 'bench' });
const provider = new apn.Provider({
  token: { key: env(APNS_KEY), keyId: env(APNS_KEY_ID), teamId: env(APNS_TEAM_ID) },
  production: true,
  ...{ connectionRetryLimit: 0, requestTimeout: 15_000, maxSessionMemory: 100 },
});
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const signed = new Map<string, string>();

const send = {
  /** Four concurrent calls with 500 messages each. */
  async fcm(tokens: string[], title: string) {
    const calls = Array.from({ length: Math.ceil(tokens.length / 500) }, (_, i) =>
      tokens.slice(i * 500, i * 500 + 500),
    );
    await each(calls, 4, (call) =>
      getMessaging(app).sendEach(
        call.map((token) => ({ token, notification: { title }, android: { priority: 'high' } })),
      ),
    );
  },
  /** 500 concurrent notifications on one connection. */
  async apns(tokens: string[], title: string) {
    const notification = new apn.Notification({
      topic: env(APNS_TOPIC),
      pushType: 'alert',
      rawPayload: { aps: { alert: { title }, sound: 'default' } },
    });
    await each(tokens, 500, (token) => provider.send(notification, token));
  },
  /** 64 concurrent requests on kept-alive connections, with one signature per origin instead of one per message. */
  async web(tokens: string[], title: string) {
    const payload = JSON.stringify({ title });
    await each(tokens, 64, (token) => {
      const subscription = JSON.parse(token);
      const { origin } = new URL(subscription.endpoint);
      const Authorization =
        signed.get(origin) ??
        webpush.getVapidHeaders(origin, env(VAPID_SUBJECT), env(VAPID_PUBLIC_KEY), env(VAPID_PRIVATE_KEY), 'aes128gcm')
          .Authorization;
      signed.set(origin, Authorization);
      return webpush.sendNotification(subscription, payload, {
        agent,
        headers: { Authorization },
        TTL: 60,
        timeout: 10_000,
      });
    });
  },
};

ready('', {
  send: ({ provider: name, tokens, title }: { provider: keyof typeof send; tokens: string[]; title: string }) =>
    send[name](tokens, title),
});
