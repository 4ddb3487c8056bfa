// The service worker for push notifications. It shows each notification, and opens its link on a click.
import { OPENED, type OpenedMessage } from './opened.ts';

interface PushMessage {
  pushId?: string;
  title?: string;
  body?: string;
  image?: string;
  icon?: string;
  url?: string;
  badge?: number;
  tag?: string;
  silent?: boolean;
  data?: Record<string, unknown>;
}

/** What a shown notification remembers of its message. */
type OpenedNotification = Pick<PushMessage, 'pushId' | 'url' | 'data'>;

// The types of the compiler for service workers contradict those for pages, so these are the parts that are used.
interface WorkerEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface WindowClient {
  url: string;
  focus(): Promise<unknown>;
  postMessage(message: OpenedMessage): void;
}
interface WorkerEvents {
  install: WorkerEvent;
  push: WorkerEvent & { data: { json(): PushMessage; text(): string } | null };
  notificationclick: WorkerEvent & { notification: Notification & { data: OpenedNotification | null } };
}
declare const self: {
  registration: ServiceWorkerRegistration;
  location: Location;
  navigator: Partial<Pick<Navigator, 'setAppBadge' | 'clearAppBadge'>>;
  clients: {
    matchAll(filter: { type: 'window'; includeUncontrolled: boolean }): Promise<WindowClient[]>;
    openWindow(url: string): Promise<unknown>;
  };
  skipWaiting(): Promise<void>;
  addEventListener<Name extends keyof WorkerEvents>(name: Name, listener: (event: WorkerEvents[Name]) => void): void;
};

function parsePushMessage(data: WorkerEvents['push']['data']): PushMessage {
  try {
    return data?.json() ?? {};
  } catch {
    return data === null ? {} : { body: data.text() };
  }
}

async function showNotification({ pushId, title, body, image, icon, url, badge, tag, silent, data }: PushMessage) {
  // The types of the compiler lack `image`, which some browsers show.
  const options: NotificationOptions & { image?: string | undefined } = {
    ...{ body, image, icon, tag },
    silent: silent === true,
    data: { pushId, url, data } satisfies OpenedNotification,
  };
  // Browsers revoke the subscription of a worker that shows nothing.
  await self.registration.showNotification(title ?? '', options);
  if (badge === undefined) return;
  if (badge > 0) await self.navigator.setAppBadge?.(badge);
  if (badge === 0) await self.navigator.clearAppBadge?.();
}

/** Returns the URL that a click opens, resolved against this site; undefined if the URL is not http or https. */
function clickTargetOf(url: string | undefined): string | undefined {
  if (!URL.canParse(url ?? '/', self.location.origin)) return undefined;
  const target = new URL(url ?? '/', self.location.origin);
  return ['http:', 'https:'].includes(target.protocol) ? target.href : undefined;
}

const listPages = () => self.clients.matchAll({ type: 'window', includeUncontrolled: true });

async function storeOpened({ pushId, url, data }: OpenedNotification): Promise<void> {
  if (pushId === undefined) return;
  const store = await caches.open(OPENED);
  const opened = { pushId, data: { ...data, ...(url === undefined ? {} : { url }) } };
  await store.put(new Request(`/${OPENED}/${pushId}`), new Response(JSON.stringify(opened)));
  for (const page of await listPages()) page.postMessage({ type: OPENED });
}

async function focusOrOpenPage(target: string | undefined): Promise<void> {
  if (target === undefined) return;
  const openPage = (await listPages()).find((page) => page.url === target);
  await (openPage === undefined ? self.clients.openWindow(target) : openPage.focus());
}

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('push', (event) => event.waitUntil(showNotification(parsePushMessage(event.data))));
self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const opened = event.notification.data ?? {};
  // Two separate promises: if no window may be opened, the click is still stored.
  event.waitUntil(focusOrOpenPage(clickTargetOf(opened.url)));
  event.waitUntil(storeOpened(opened));
});
