import type { RequestOptions } from 'web-push';
import { createSemaphore } from '../../../platform/helpers/concurrency/semaphore.ts';
import type { VapidCredentials } from './vapid.ts';

/**
 * Creates a limit of concurrent tasks per origin. A slow push service then does not delay the others.
 *
 * @param size maximum concurrent tasks per origin
 * @returns a function that runs a task once its origin has a free slot
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

/** A browser's push subscription, as `PushSubscription.toJSON()` returns it in the browser. */
interface Subscription {
  endpoint: string;
  keys: { p256dh: string; auth: string };
}

/** An encrypted and signed request to a push service. */
interface WebPushRequest {
  url: URL;
  headers: Record<string, string>;
  body: Buffer;
}

/** Builds encrypted and signed requests with the library. */
export interface WebPushClient {
  /** @throws Error if the keys of the subscription are invalid */
  createRequest(subscription: Subscription, payload: string, options: RequestOptions): WebPushRequest;
}

// ms for which a VAPID signature is reused. It is valid for 12 hours, and signing takes a fifth of the time of a whole message.
const RENEW_AFTER_MS = 6 * 3_600_000;
/** Maximum cached VAPID signatures, one per origin. Only a few push services exist, but clients can register endpoints at other origins. */
const MAX_CACHED_ORIGINS = 1000;

/** Opens the client. The library is loaded here: processes without Web Push do not load it. */
export async function openWebPushClient({ publicKey, privateKey, subject }: VapidCredentials): Promise<WebPushClient> {
  const { default: webpush } = await import('web-push');
  const authorizations = new Map<string, { authorization: string; until: number }>();

  function findOrCreateAuthorization(origin: string): string {
    const known = authorizations.get(origin);
    if (known !== undefined && known.until > Date.now()) return known.authorization;
    if (authorizations.size >= MAX_CACHED_ORIGINS) authorizations.clear();
    const { Authorization: authorization } = webpush.getVapidHeaders(
      origin,
      subject,
      publicKey,
      privateKey,
      'aes128gcm',
    );
    authorizations.set(origin, { authorization, until: Date.now() + RENEW_AFTER_MS });
    return authorization;
  }

  return {
    createRequest(subscription, payload, options) {
      const url = new URL(subscription.endpoint);
      const requestDetails = webpush.generateRequestDetails(subscription, payload, {
        ...options,
        // Otherwise the library signs every message again, with VAPID details that any code in the process can set globally.
        vapidDetails: null as never,
        headers: { Authorization: findOrCreateAuthorization(url.origin) },
      });
      // undici sets the content length itself.
      const { 'Content-Length': _length, ...headers } = requestDetails.headers as Record<string, string | number>;
      const texts = Object.entries(headers).map(([name, value]) => [name, String(value)]);
      return { url, headers: Object.fromEntries(texts), body: requestDetails.body };
    },
  };
}
