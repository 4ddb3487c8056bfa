// Web Push of the client, in a real Chromium. Only the push service and the desktop are fakes: see test/browser/web-push.test.ts.
import type { Page } from 'playwright-core';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../../packages/client/src/index.ts';
import { defineUser } from '../../../src/index.ts';
import { browserTest, closePages, startBrowser, startProfile } from '../../browser/browser.ts';
import { startDesktop } from '../../fakes/push/desktop.ts';
import { startGooglePush } from '../../fakes/push/google-push.ts';
import { redirect } from '../../fakes/push/redirect.ts';
import { ca } from '../../fakes/push/tls.ts';
import { startTestApp } from '../../support/app.ts';
import { generateVapidKeys } from '../../support/vapid-keys.ts';
import { clientPages, openShop, run } from './client-pages.ts';

const PASSWORD = 'correct horse battery';
const [vapid, otherVapid] = [generateVapidKeys(), generateVapidKeys()];
const [google, desktop] = await Promise.all([startGooglePush(), startDesktop()]);
const undo = redirect({ 'jmt17.google.com': google.address, 'fcm.googleapis.com': google.address }, ca);
afterAll(async () => {
  undo();
  await Promise.all([google.close(), desktop.close()]);
});
const opened: Record<string, unknown>[] = [];
const { app, url, person } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [clientPages()],
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

/** Signs a user in, in a page. */
async function signIn(page: Page, name: string) {
  const user = await person(name);
  await run(page, 'client.auth.signIn(given)', { email: user.email, password: PASSWORD });
  return user;
}

browserTest(
  'a page subscribes with one call, renews a subscription of another key, reports opened notifications, and unsubscribes',
  150_000,
  async () => {
    const context = await startProfile({
      args: google.browserArgs,
      withoutArgs: ['--disable-background-networking'],
      env: { DBUS_SESSION_BUS_ADDRESS: desktop.busAddress },
    });
    onTestFinished(() => context.close());
    await context.grantPermissions(['notifications'], { origin: url });
    const page = await openShop(context, url);
    const ada = await signIn(page, 'Ada');
    const given = { name: 'Laptop', vapidPublicKey: otherVapid.publicKey };
    expect(await run(page, 'client.push.registerWebPush(given)', given)).toMatchObject({ platform: 'web' });
    const device = await run<{ id: string }>(page, 'client.push.registerWebPush({ name: "Laptop" })');
    expect(device).toMatchObject({ name: 'Laptop', platform: 'web', signedIn: true });
    expect(await run(page, 'client.push.registerWebPush({ name: "Laptop" })')).toMatchObject({ id: device.id });
    await run(page, 'client.push.reportOpened().then(() => null)');

    const sent = await app.push.send({ to: ada.id, title: 'It is on its way', url: '/shop' });
    expect(sent.results).toContainEqual(expect.objectContaining({ device: device.id, ok: true }));
    await expect
      .poll(() => desktop.shown().map(({ title }) => title), { timeout: 60_000 })
      .toEqual(['It is on its way']);
    desktop.click(desktop.shown()[0]!.id);
    await expect
      .poll(() => opened, { timeout: 60_000 })
      .toMatchObject([{ id: sent.id, user: ada.id, device: device.id, url: '/shop' }]);

    await run(page, 'client.push.unregisterWebPush()');
    const ids = (await run<{ id: string }[]>(page, 'client.push.devices()')).map(({ id }) => id);
    expect(ids).not.toContain(device.id);
    expect(await run(page, 'client.push.unregisterWebPush()')).toBeNull();
  },
);

browserTest(
  'a denied permission, a worker of another origin and a missing feature are clear errors',
  60_000,
  async () => {
    const browser = await startBrowser();
    onTestFinished(() => closePages(browser));
    const context = await browser.newContext();
    await context.grantPermissions([], { origin: url });
    const page = await openShop(context, url);
    await signIn(page, 'Bob');
    expect(await run(page, 'client.push.registerWebPush()')).toEqual({ failed: 'PUSH_DENIED' });
    await context.grantPermissions(['notifications'], { origin: url });
    const elsewhere = `belfry.createClient({ url: 'https://api.example.com' }).push.registerWebPush({ vapidPublicKey: 'AA' })`;
    expect(await run(page, elsewhere)).toEqual({ failed: 'PUSH_NO_WORKER' });
    expect(await run(page, `client.push.registerWebPush({ serviceWorker: '/none.js' })`)).toEqual({
      failed: 'PUSH_NO_WORKER',
    });
    await page.evaluate('delete window.PushManager');
    expect(await run(page, 'client.push.registerWebPush()')).toEqual({ failed: 'PUSH_UNSUPPORTED' });
  },
);

test('a native app registers its device, lists it, and removes it', async () => {
  const ada = await person('Ada');
  const client = createClient({ url });
  await client.auth.signIn({ email: ada.email, password: PASSWORD });
  const device = await client.push.register({ platform: 'android', token: 'token-of-a-phone', name: 'Pixel' });
  expect(await client.push.devices()).toMatchObject([{ id: device.id, name: 'Pixel', signedIn: true }]);
  await client.push.unregister({ token: 'token-of-a-phone' });
  expect(await client.push.devices()).toEqual([]);
  const tablet = await client.push.register({ platform: 'ios', token: 'a'.repeat(64) });
  await client.push.delete(tablet.id);
  expect(await client.push.devices()).toEqual([]);
  await expect(client.push.registerWebPush()).rejects.toMatchObject({ code: 'PUSH_UNSUPPORTED' });
});
