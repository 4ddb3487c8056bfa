// The service worker of push notifications: it shows what arrives, and opens its link when it is clicked.

/** Where a page finds what was opened: a worker has no session to tell it with. */
const OPENED = 'belfry-push-opened';

function readMessage(data) {
  try {
    return data?.json() ?? {};
  } catch {
    return { body: data.text() };
  }
}

async function show({ pushId, title, body, image, icon, url, badge, tag, silent, data }) {
  // A browser takes the subscription back of a worker that shows nothing.
  await self.registration.showNotification(title ?? '', {
    ...{ body, image, icon, tag },
    silent: silent === true,
    data: { pushId, url, data },
  });
  if (badge > 0) await self.navigator.setAppBadge?.(badge);
  if (badge === 0) await self.navigator.clearAppBadge?.();
}

/** The address that a notification opens: one of this site where it names no other. */
function targetOf(url) {
  if (!URL.canParse(url ?? '/', self.location.origin)) return undefined;
  const target = new URL(url ?? '/', self.location.origin);
  return ['http:', 'https:'].includes(target.protocol) ? target.href : undefined;
}

async function storeOpened({ pushId, url, data }) {
  if (pushId === undefined) return;
  const store = await caches.open(OPENED);
  const opened = { pushId, data: { ...data, ...(url === undefined ? {} : { url }) } };
  await store.put(new Request(`/${OPENED}/${pushId}`), new Response(JSON.stringify(opened)));
  const pages = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  for (const page of pages) page.postMessage({ type: OPENED });
}

async function open(target) {
  if (target === undefined) return;
  const pages = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  const there = pages.find((page) => page.url === target);
  await (there === undefined ? self.clients.openWindow(target) : there.focus());
}

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('push', (event) => event.waitUntil(show(readMessage(event.data))));
self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const opened = event.notification.data ?? {};
  // Each by itself: where no window may be opened, what was opened is told all the same.
  event.waitUntil(open(targetOf(opened.url)));
  event.waitUntil(storeOpened(opened));
});
