import type { Page, Worker } from 'playwright-core';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { defineExtension, defineUser } from '../../src/index.ts';
import { startDesktop } from '../fakes/push/desktop.ts';
import { startGooglePush } from '../fakes/push/google-push.ts';
import { redirect } from '../fakes/push/redirect.ts';
import { ca } from '../fakes/push/tls.ts';
import { startTestApp } from '../support/app.ts';
import { generateVapidKeys } from '../support/vapid-keys.ts';
import { browserTest, startProfile } from './browser.ts';

// A Chromium with a real subscription. It registers with a push service on this machine that speaks Google's protocol, decrypts the
// messages that the app's real transport sends there, runs the service worker of the app, and shows notifications on a desktop, where
// the tests click them. Only the push service and the desktop are fakes.
const vapid = generateVapidKeys();
const [google, desktop] = await Promise.all([startGooglePush(), startDesktop()]);
const undo = redirect({ 'jmt17.google.com': google.address, 'fcm.googleapis.com': google.address }, ca);
afterAll(async () => {
  undo();
  await Promise.all([google.close(), desktop.close()]);
});
const opened: Record<string, unknown>[] = [];
const html = '<!doctype html><title>Shop</title><h1>Shop</h1>';
const shop = defineExtension({
  name: 'shop',
  setup: () => ({
    pages: ['/shop', '/shop/orders'].map((path) => ({
      method: 'GET',
      path,
      policy: 'public',
      handler: ({ res }) => void res.type('html').end(html),
    })),
  }),
});
const { app, url, call, person } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [shop],
    listeners: (app) => app.on('push.opened', (event) => opened.push(event)),
  },
  {
    roles: 'all',
    env: () => ({
      VAPID_PUBLIC_KEY: vapid.publicKey,
      VAPID_PRIVATE_KEY: vapid.privateKey,
      VAPID_SUBJECT: 'mailto:push@example.com',
    }),
  },
);

/** Calls a function of the client in the page. */
const inPage = <T>(page: Page, name: string, options: object): Promise<T> =>
  page.evaluate(`import('/push/client.js').then((client) => client.${name}(${JSON.stringify(options)}))`);

/** Waits until the notifications on the desktop have these titles. */
const onDesktop = (titles: string[]) =>
  expect.poll(() => desktop.shown().map((one) => one.title), { timeout: 60_000 }).toEqual(titles);

/**
 * The notifications of the service worker. Call this only when the desktop shows them: between storing and showing a notification,
 * Chromium treats one that is queried as gone, and forgets it.
 */
const shown = (worker: Worker) =>
  worker.evaluate(async () => {
    // biome-ignore lint/suspicious/noExplicitAny: runs in the worker
    const list = await (globalThis as any).registration.getNotifications();
    return list.map(({ title, body, tag, data }: { title: string; body: string; tag: string; data: unknown }) => ({
      ...{ title, body, tag, data },
    }));
  });

/** Clicks the only notification on the desktop. */
async function clickShown(title: string): Promise<void> {
  await onDesktop([title]);
  desktop.click(desktop.shown()[0]!.id);
  await onDesktop([]);
}

browserTest(
  'a subscribed browser shows its user’s pushes; a click opens the link and is reported; then the browser unsubscribes',
  150_000,
  async () => {
    // A push sent before the browser is connected is shown once it is.
    google.hold();
    const context = await startProfile({
      args: google.browserArgs,
      withoutArgs: ['--disable-background-networking'],
      env: { DBUS_SESSION_BUS_ADDRESS: desktop.busAddress },
    });
    onTestFinished(() => context.close());
    await context.grantPermissions(['notifications'], { origin: url });
    const page = await context.newPage();
    await page.goto(`${url}/shop`);
    const ada = await person('Ada');

    const device = await inPage<{ id: string }>(page, 'subscribe', { token: ada.token, name: 'Laptop' });
    expect(device).toMatchObject({ platform: 'web', name: 'Laptop', signedIn: true });
    const again = await inPage<{ id: string }>(page, 'subscribe', { token: ada.token, name: 'Laptop' });
    expect(again.id).toBe(device.id);
    await inPage(page, 'reportOpened', { token: ada.token });

    const sent = await app.push.send({
      to: ada.id,
      title: 'It is on its way',
      body: 'Grüße – 🎁',
      url: '/shop/orders',
      collapseId: 'order',
      data: { order: 7 },
    });
    expect(sent).toMatchObject({ status: 'sent', results: [{ device: device.id, ok: true }] });
    expect(google.requests).toHaveLength(1);
    const [worker] = context.serviceWorkers() as [Worker];
    expect(await shown(worker)).toEqual([]);
    google.release();
    await onDesktop(['It is on its way']);
    expect(await shown(worker)).toMatchObject([
      { title: 'It is on its way', body: 'Grüße – 🎁', tag: 'order', data: { pushId: sent.id, url: '/shop/orders' } },
    ]);
    expect(google.requests.map(({ body }) => body.includes('on its way'))).toEqual([false]);
    const newer = await app.push.send({ to: ada.id, title: 'It is there', url: '/shop/orders', collapseId: 'order' });
    await onDesktop(['It is there']);
    expect(await shown(worker)).toMatchObject([{ title: 'It is there' }]);

    const addresses = () => context.pages().map((one) => one.url().replace(url, ''));
    const before = addresses();
    await clickShown('It is there');
    await expect.poll(addresses, { timeout: 60_000 }).toEqual([...before, '/shop/orders']);
    await expect
      .poll(() => opened, { timeout: 60_000 })
      .toEqual([
        {
          ...{ id: newer.id, user: ada.id, device: device.id, url: '/shop/orders', simulated: false },
          data: { url: '/shop/orders' },
        },
      ]);
    // A page that is already open is reused, and a link that is not a web address opens nothing; both clicks are reported.
    for (const link of ['/shop/orders', 'javascript:alert(1)']) {
      opened.length = 0;
      await app.push.send({ to: ada.id, title: 'Again', url: link });
      await clickShown('Again');
      await expect.poll(() => opened.map((one) => one.url), { timeout: 60_000 }).toEqual([link]);
      expect(addresses()).toEqual([...before, '/shop/orders']);
    }

    await inPage(page, 'unsubscribe', { token: ada.token });
    const readSubscription =
      "navigator.serviceWorker.getRegistration('/push/').then((one) => one.pushManager.getSubscription())";
    expect(await page.evaluate(readSubscription)).toBeNull();
    expect((await ada.call('GET', '/api/auth/devices')).body.data).toEqual([]);
    expect(await app.push.send({ to: ada.id, title: 'Hi' })).toMatchObject({ status: 'no-devices' });
  },
);

test('the client and the worker are served as scripts that caches must revalidate', async () => {
  for (const name of ['client.js', 'sw.js', 'key.js']) {
    const response = await fetch(`${url}/push/${name}`);
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(await response.text()).not.toContain(vapid.privateKey);
  }
  expect((await call('GET', '/push/routes.ts')).status).toBe(404);
});
