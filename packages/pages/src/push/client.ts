// The client for pages: subscribe, unsubscribe, and report opened notifications. docs/send/push-setup.md has an example.
import { vapidPublicKey } from './key.js';
import { OPENED, type OpenedMessage } from './opened.ts';

const api = new URL('../api/auth/devices', import.meta.url).href;
const SERVICE_WORKER = '/push/sw.js';

interface CallOptions {
  /** Of the session. */
  token: string;
}

interface WorkerOptions extends CallOptions {
  /** The URL of the service worker. Default: /push/sw.js */
  serviceWorker?: string;
}

interface SubscribeOptions extends WorkerOptions {
  name?: string;
  appVersion?: string;
  /** Default: the language of the browser. */
  locale?: string;
}

/** A failed call. */
export class PushError extends Error {
  /** `denied`: by the user; `refused`: by the server. */
  readonly reason: 'unsupported' | 'denied' | 'no-worker' | 'refused';

  constructor(reason: PushError['reason'], message: string) {
    super(message);
    this.name = 'PushError';
    this.reason = reason;
  }
}

async function postToApi(token: string, path: string, body: unknown): Promise<unknown> {
  const response = await fetch(api + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  if (response.status === 204) return undefined;
  const { data, error } = await response.json();
  if (response.ok) return data;
  const details = Object.values(error.details ?? {}).join(' ');
  throw new PushError('refused', `${error.message} ${details}`.trim());
}

/** Registers the service worker and waits until it is active, because browsers refuse to subscribe before that. */
async function registerServiceWorker(serviceWorker: string): Promise<ServiceWorkerRegistration> {
  const registration = await navigator.serviceWorker.register(serviceWorker);
  const worker = registration.installing ?? registration.waiting;
  if (registration.active !== null || worker === null) return registration;
  await new Promise<void>((resolve, reject) => {
    worker.addEventListener('statechange', () => {
      if (worker.state === 'activated') resolve();
      if (worker.state === 'redundant') reject(new PushError('no-worker', 'The service worker could not be installed'));
    });
  });
  return registration;
}

const decodeBase64url = (base64url: string) =>
  Uint8Array.from(atob(base64url.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0));

function isSubscribedWithKey(subscription: PushSubscription, key: Uint8Array): boolean {
  const own = new Uint8Array(subscription.options.applicationServerKey ?? []);
  return own.length === key.length && own.every((byte, i) => byte === key[i]);
}

/**
 * Subscribes this browser and registers it as a device of the signed-in user. Asks for permission, so call it on a click. Call it again
 * after every login and once per visit: it updates the subscription and the device if they have changed.
 *
 * @returns the device
 * @throws PushError
 */
export async function subscribe({
  token,
  name,
  appVersion,
  locale = navigator.language,
  serviceWorker = SERVICE_WORKER,
}: SubscribeOptions): Promise<unknown> {
  if (!('serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window)) {
    throw new PushError(
      'unsupported',
      'This browser does not support push notifications, or the page is not served over https',
    );
  }
  if ((await Notification.requestPermission()) !== 'granted') {
    throw new PushError('denied', 'Notifications are not allowed for this site');
  }
  const { pushManager } = await registerServiceWorker(serviceWorker);
  const applicationServerKey = decodeBase64url(vapidPublicKey);
  let subscription = await pushManager.getSubscription();
  if (subscription !== null && !isSubscribedWithKey(subscription, applicationServerKey)) {
    await subscription.unsubscribe();
    subscription = null;
  }
  subscription ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
  return postToApi(token, '', { token: JSON.stringify(subscription), platform: 'web', name, appVersion, locale });
}

/**
 * Ends the subscription of this browser and removes the device. Does nothing without a subscription.
 *
 * @throws PushError
 */
export async function unsubscribe({ token, serviceWorker = SERVICE_WORKER }: WorkerOptions): Promise<void> {
  const registrations = (await navigator.serviceWorker?.getRegistrations()) ?? [];
  const { href } = new URL(serviceWorker, location.href);
  const registration = registrations.find(({ active }) => active?.scriptURL === href);
  const subscription = await registration?.pushManager.getSubscription();
  if (!subscription) return;
  await postToApi(token, '/unregister', { token: JSON.stringify(subscription) });
  await subscription.unsubscribe();
}

/**
 * Reports opened notifications to the server: now the notifications that were opened before this page, and later each further one. Call it
 * once on each page, as soon as the session is known.
 */
export async function reportOpened({ token }: CallOptions): Promise<void> {
  const report = async () => {
    const cache = await caches.open(OPENED);
    for (const request of await cache.keys()) {
      const opened = await cache.match(request);
      // If two pages receive the message at once, only the one that deletes the entry reports it.
      if (opened === undefined || !(await cache.delete(request))) continue;
      try {
        await postToApi(token, '/opened', await opened.clone().json());
      } catch (error) {
        await cache.put(request, opened);
        throw error;
      }
    }
  };
  navigator.serviceWorker?.addEventListener('message', ({ data }: MessageEvent<OpenedMessage | undefined>) => {
    if (data?.type === OPENED)
      report().catch((error) => console.warn('An opened notification could not be reported.', error));
  });
  await report();
}
