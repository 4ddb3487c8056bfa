// The app and the pages around the portal that its browser tests use.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContextOptions, Frame, Page } from 'playwright-core';
import { afterAll, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type createApp, defineResource, defineUser, f, webhooks } from '../../src/index.ts';
import { startReceiver } from '../fakes/receiver.ts';
import { startTestApp } from '../support/app.ts';

/** Starts a page of another origin that shows the portal in a frame. `show` sets what it embeds; it keeps the messages that it receives. */
async function startEmbeddingPage(): Promise<{ origin: string; show(url: string): void }> {
  let embedded = '';
  const server = createServer((_req, res) => {
    res.setHeader('content-type', 'text/html');
    res.end(`<!doctype html><html lang="en"><head><title>App</title></head><body><h1>App</h1>
      <iframe title="Webhooks" src="${embedded}" width="600" height="300"></iframe>
      <script>messages = []; addEventListener('message', ({ data, origin }) => messages.push({ data, origin }));</script></body></html>`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => void server.close());
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    show(url) {
      embedded = url;
    },
  };
}

export const allowed = await startEmbeddingPage();
export const refused = await startEmbeddingPage();
export const receiver = await startReceiver();
afterAll(() => receiver.close());

const order = defineResource('order', {
  description: 'An order of a customer',
  fields: {
    title: f.string().required().max(80),
    total: f.number().min(0).filterable(),
    state: f.enum(['open', 'paid']).default('open').filterable(),
    customer: f.ref('user').owner(),
  },
  policies: { read: 'owner' },
});
const paid = z.object({ invoice: z.string(), amount: z.number().positive() });

const options = {
  resources: [defineUser(), order],
  extensions: [
    webhooks({
      retrySchedule: ['1h'],
      pollMs: 100,
      keepEventsDays: 7,
      events: { 'invoice.paid': { schema: paid, description: 'An invoice was <b>paid</b>' } },
      portal: {
        frameAncestors: [allowed.origin],
        title: 'Acme',
        colors: { accent: '#0f766e', dark: { accent: '#5eead4' } },
      },
    }),
  ],
} as const;
const running = await startTestApp(options, { roles: 'all' });
const app = running.app as unknown as ReturnType<typeof createApp<typeof options.resources, typeof options.extensions>>;

/** The app that the tests share. */
export const portalApp = { ...running, app };

/** Creates a link, at the address where the test's app listens. */
export async function createLinkUrl(userId: string, options = {}, query = ''): Promise<string> {
  const { url } = await portalApp.app.webhooks.portalLink(userId, options);
  const { pathname, hash } = new URL(url);
  return `${portalApp.url}${pathname}${query}${hash}`;
}

/** Opens a page. Also returns its errors; the browser logs violations of its content security policy there. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; pageErrors: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce', ...options });
  onTestFinished(() => page.close());
  const pageErrors: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) pageErrors.push(message.text());
  });
  page.on('pageerror', (error) => pageErrors.push(String(error)));
  await page.goto(url);
  return { page, pageErrors };
}

/** Returns the frame of an embedding page. */
export const frameOf = (page: Page): Frame => page.frames().find((one) => one !== page.mainFrame())!;
