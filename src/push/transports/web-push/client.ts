import type { RequestOptions } from 'web-push';
import { createSemaphore } from '../../../platform/semaphore.ts';
import type { Vapid } from './vapid.ts';

/**
 * Bounds work by origin: at most `size` at once for each, so that a push service that is slow holds up no other.
 *
 * @returns runs a task when its origin has a place for it
 */
export function createOriginLimit(size: number): <T>(origin: string, task: () => Promise<T>) => Promise<T> {
  const origins = new Map<string, { semaphore: ReturnType<typeof createSemaphore>; tasks: number }>();
  return async (origin, task) => {
    const own = origins.get(origin) ?? { semaphore: createSemaphore(size), tasks: 0 };
    origins.set(origin, own);
    own.tasks += 1;
    try {
      return await own.semaphore.run(task);
    } finally {
      own.tasks -= 1;
      if (own.tasks === 0) origins.delete(origin);
    }
  };
}

/** A subscription of a browser. */
interface Subscription {
  endpoint: string;
  keys: { p256dh: string; auth: string };
}

/** A request to a push service, encrypted and signed. */
interface WebPushRequest {
  url: URL;
  headers: Record<string, string>;
  body: Buffer;
}

/** The library, which encrypts and signs. */
export interface WebPushClient {
  /** @throws Error when the subscription's keys are none */
  request(subscription: Subscription, payload: string, options: RequestOptions): WebPushRequest;
}

// A signature is good for 12 hours, and costs a fifth of what a whole message costs.
const RENEW_AFTER_MS = 6 * 3_600_000;
/** Origins whose signature is kept. There are a handful of push services, and clients that name others. */
const ORIGINS_MAX = 1000;

/** Opens the client. The library is loaded here: who does not send to browsers does not pay for it. */
export async function openWebPushClient({ publicKey, privateKey, subject }: Vapid): Promise<WebPushClient> {
  const { default: webpush } = await import('web-push');
  const signed = new Map<string, { authorization: string; until: number }>();

  function authorizationFor(origin: string): string {
    const known = signed.get(origin);
    if (known !== undefined && known.until > Date.now()) return known.authorization;
    if (signed.size >= ORIGINS_MAX) signed.clear();
    const { Authorization: authorization } = webpush.getVapidHeaders(
      origin,
      subject,
      publicKey,
      privateKey,
      'aes128gcm',
    );
    signed.set(origin, { authorization, until: Date.now() + RENEW_AFTER_MS });
    return authorization;
  }

  return {
    request(subscription, payload, options) {
      const url = new URL(subscription.endpoint);
      const made = webpush.generateRequestDetails(subscription, payload, {
        ...options,
        // The library would sign anew for each message, with details that any code of the process may have set.
        vapidDetails: null as never,
        headers: { Authorization: authorizationFor(url.origin) },
      });
      // undici counts the body itself.
      const { 'Content-Length': _length, ...headers } = made.headers as Record<string, string | number>;
      const texts = Object.entries(headers).map(([name, value]) => [name, String(value)]);
      return { url, headers: Object.fromEntries(texts), body: made.body };
    },
  };
}
