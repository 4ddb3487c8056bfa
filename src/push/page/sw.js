// The service worker for push notifications. It shows each notification, and opens its link on a click.

/** The cache of opened notifications. Pages report them, because a service worker has no session. */
const OPENED = 'belfry-push-opened';

function parsePushMessage(data) {
  try {
    return data?.json() ?? {};
  } catch {
    return { body: data.text() };
  }
}

async function showNotification({ pushId, title, body, image, icon, url, badge, tag, silent, data }) {
  // Browsers revoke the subscription of a worker that shows nothing.
  await self.registration.showNotification(title ?? '', {
    ...{ body, image, icon, tag },
    silent: silent === true,
    data: { pushId, url, data },
  });
  if (badge > 0) await self.navigator.setAppBadge?.(badge);
  if (badge === 0) await self.navigator.clearAppBadge?.();
}

/** Returns the URL that a click opens, resolved against this site; undefined if the URL is not http or https. */
function clickTargetOf(url) {
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

async function focusOrOpenPage(target) {
  if (target === undefined) return;
  const pages = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  const openPage = pages.find((page) => page.url === target);
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
