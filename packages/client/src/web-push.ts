import { createClientError } from './auth/context.ts';
import { decodeBase64url } from './request/base64url.ts';
import { ApiError } from './request/errors.ts';
import type { CallOptions, Requester } from './request/request.ts';

/** Where a page finds what Web Push needs. */
export interface WebPushOptions extends CallOptions {
  /**
   * The path of the service worker. Default: `/push/sw.js` of the app, if it has the origin of the page; on another origin, a file of yours with
   * the line `importScripts('https://api.example.com/push/sw.js')`.
   */
  serviceWorker?: string | undefined;
  /** The public VAPID key, base64url. Default: the client reads it from the app. */
  vapidPublicKey?: string | undefined;
}

/** A subscription of a browser. Its JSON is the token of the device. */
interface Subscription {
  options: { applicationServerKey: ArrayBuffer | null };
  unsubscribe(): Promise<boolean>;
}

interface Worker {
  readonly state: string;
  readonly scriptURL: string;
  addEventListener(type: 'statechange', listener: () => void): void;
}

interface Registration {
  active: Worker | null;
  installing: Worker | null;
  waiting: Worker | null;
  pushManager: {
    getSubscription(): Promise<Subscription | null>;
    subscribe(options: { userVisibleOnly: boolean; applicationServerKey: Uint8Array }): Promise<Subscription>;
  };
}

interface OpenedCache {
  keys(): Promise<object[]>;
  match(request: object): Promise<Response | undefined>;
  delete(request: object): Promise<boolean>;
  put(request: object, response: Response): Promise<void>;
}

type WorkerListener = (event: { data?: { type?: string } }) => void;

/** The parts of a browser's `window` that Web Push needs. */
interface PushWindow {
  location: { href: string; origin: string };
  navigator: {
    serviceWorker?: {
      register(url: string): Promise<Registration>;
      getRegistrations(): Promise<Registration[]>;
      addEventListener(type: 'message', listener: WorkerListener): void;
      removeEventListener(type: 'message', listener: WorkerListener): void;
    };
  };
  caches?: { open(name: string): Promise<OpenedCache> };
}

const page = globalThis as unknown as PushWindow;

/** The cache in which the service worker of the app stores opened notifications until a page reports them. */
const OPENED = 'belfry-push-opened';

/** Returns the URL of the service worker. @throws ApiError `PUSH_NO_WORKER` if the app has another origin than the page */
function workerUrl(apiUrl: string, serviceWorker: string | undefined): string {
  const url = new URL(serviceWorker ?? `${apiUrl}/push/sw.js`, page.location.href);
  if (url.origin === page.location.origin) return url.href;
  const line = `importScripts('${apiUrl}/push/sw.js')`;
  throw createClientError(
    'PUSH_NO_WORKER',
    `A service worker needs the origin of the page: create a file with the line ${line}, and pass its path as serviceWorker`,
  );
}

/** Registers the service worker and waits until it is active, because browsers refuse to subscribe before that. */
async function registerWorker(url: string): Promise<Registration> {
  const registration = await page.navigator.serviceWorker!.register(url).catch((cause: unknown) => {
    throw createClientError('PUSH_NO_WORKER', `The service worker ${url} could not be registered`, { cause });
  });
  const worker = registration.installing ?? registration.waiting;
  if (registration.active !== null || worker === null) return registration;
  await new Promise<void>((resolve, reject) => {
    const check = () => {
      if (worker.state === 'activated') resolve();
      if (worker.state === 'redundant')
        reject(createClientError('PUSH_NO_WORKER', `The service worker ${url} could not be installed`));
    };
    worker.addEventListener('statechange', check);
    check();
  });
  return registration;
}

/** Reads the public VAPID key of the app. */
async function readKey(apiUrl: string, { signal }: CallOptions): Promise<string> {
  const url = `${apiUrl}/push/key.js`;
  const text = await fetch(url, signal === undefined ? {} : { signal }).then(
    (response) => (response.ok ? response.text() : ''),
    (cause: unknown) => {
      signal?.throwIfAborted();
      throw createClientError('NETWORK_ERROR', `${url} could not be read`, { cause });
    },
  );
  const key = /vapidPublicKey = "([\w-]+)"/.exec(text)?.[1];
  if (key !== undefined) return key;
  throw createClientError('PUSH_UNSUPPORTED', `${url} has no key: the app is not set up for Web Push`);
}

function isSubscribedWith(subscription: Subscription, key: Uint8Array): boolean {
  const own = new Uint8Array(subscription.options.applicationServerKey ?? []);
  return own.length === key.length && own.every((byte, index) => byte === key[index]);
}

/** Subscribes this browser with the key of the app, which may have changed since the last time. */
export async function subscribe(apiUrl: string, options: WebPushOptions): Promise<Subscription> {
  const url = workerUrl(apiUrl, options.serviceWorker);
  const [registration, keyText] = await Promise.all([
    registerWorker(url),
    options.vapidPublicKey ?? readKey(apiUrl, options),
  ]);
  const { pushManager } = registration;
  const key = decodeBase64url(keyText);
  let subscription = await pushManager.getSubscription();
  if (subscription !== null && !isSubscribedWith(subscription, key)) {
    await subscription.unsubscribe();
    subscription = null;
  }
  try {
    return subscription ?? (await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }));
  } catch (cause) {
    throw createClientError('PUSH_FAILED', `The browser could not subscribe: ${(cause as Error)?.message}`, { cause });
  }
}

/** Returns the subscription of this browser; undefined without one. */
export async function findSubscription(
  apiUrl: string,
  serviceWorker: string | undefined,
): Promise<Subscription | undefined> {
  const registrations = (await page.navigator.serviceWorker?.getRegistrations()) ?? [];
  if (registrations.length === 0) return undefined;
  const url = workerUrl(apiUrl, serviceWorker);
  const registration = registrations.find(({ active }) => active?.scriptURL === url);
  return (await registration?.pushManager.getSubscription()) ?? undefined;
}

/** Reports opened notifications, those stored so far and each further one. See `ClientPush.reportOpened`. */
export async function reportOpened(requester: Requester, options?: CallOptions): Promise<() => void> {
  async function report(): Promise<void> {
    const cache = await page.caches?.open(OPENED);
    for (const request of (await cache?.keys()) ?? []) {
      const opened = await cache!.match(request);
      // If two pages receive the message at once, only the one that deletes the entry reports it.
      if (opened === undefined || !(await cache!.delete(request))) continue;
      try {
        const json = await opened.clone().json();
        await requester.send({ ...options, method: 'POST', path: '/auth/devices/opened', json });
      } catch (error) {
        await cache!.put(request, opened);
        throw error;
      }
    }
  }
  const onMessage: WorkerListener = ({ data }) => {
    if (data?.type !== OPENED) return;
    report().catch((error: unknown) => {
      // The entry stays, and the next page reports it.
      if (!(error instanceof ApiError)) throw error;
    });
  };
  page.navigator.serviceWorker?.addEventListener('message', onMessage);
  await report();
  return () => page.navigator.serviceWorker?.removeEventListener('message', onMessage);
}
