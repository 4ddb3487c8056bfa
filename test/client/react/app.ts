import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { build } from 'esbuild';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, expect } from 'vitest';
import { defineResource, defineUser, f, realtime } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const post = defineResource('post', {
  fields: {
    title: f.string().required().max(40).filterable(),
    status: f.enum(['draft', 'published']).default('published').filterable(),
    views: f.integer().default(0).filterable().sortable(),
    author: f.ref('user').filterable(),
  },
  policies: { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' },
});
const note = defineResource('note', {
  fields: { text: f.string().required(), author: f.ref('user').owner().filterable() },
  policies: { list: 'authenticated', read: 'owner', create: 'authenticated', update: 'owner', delete: 'owner' },
  scope: ({ user }) => ({ author: user?.id }),
});

const bundle = build({
  entryPoints: [`${import.meta.dirname}/page.ts`],
  bundle: true,
  write: false,
  format: 'esm',
  platform: 'browser',
  define: { 'process.env.NODE_ENV': '"development"' },
}).then(({ outputFiles }) => outputFiles[0]!.text);

const EMPTY_PAGE = '<!doctype html><div id="root"></div><script type="module" src="/page.js"></script>';

/** Starts the app of the tests, and a site whose pages use it. `pages`: the HTML of rendered pages by path. */
export async function startReactApp() {
  const pages = new Map<string, string>();
  const site = createServer(async (req, res) => {
    const { pathname } = new URL(req.url!, 'http://site');
    const isScript = pathname === '/page.js';
    res.writeHead(200, { 'Content-Type': `text/${isScript ? 'javascript' : 'html'}; charset=utf-8` });
    res.end(isScript ? await bundle : (pages.get(pathname) ?? EMPTY_PAGE));
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  afterAll(() => void site.close());
  const siteUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const started = await startTestApp(
    {
      resources: [defineUser(), post, note],
      extensions: [realtime()],
      settings: { rateLimit: { enabled: false } },
    },
    { roles: 'all', env: () => ({ CORS_ORIGINS: siteUrl }) },
  );
  return { ...started, pages, siteUrl, posts: started.app.service(post), notes: started.app.service(note) };
}

/** The app of the tests, for the types of a client. */
export type ReactApi = Awaited<ReturnType<typeof startReactApp>>['app'];

/** An open page of the tests. */
export interface TestPage {
  page: Page;
  /** The requests to the API that were sent: `GET /posts`. */
  requests: string[];
  /** The errors of the page, and what React has complained about. */
  errors: string[];
  /** Runs code in the page, with what its hooks return. */
  // biome-ignore lint/suspicious/noExplicitAny: what the hooks return is typed in the page
  run<T>(code: (hooks: any, input: any) => T | Promise<T>, input?: unknown): Promise<T>;
  /** Waits until an element has a text. */
  has(id: string, text: string): Promise<void>;
}

/** Opens the page of the tests. */
export async function openPage(context: BrowserContext, address: string): Promise<TestPage> {
  const page = await context.newPage();
  const [requests, errors]: string[][] = [[], []];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith('/api/') && request.method() !== 'OPTIONS')
      requests!.push(`${request.method()} ${pathname.slice(4)}`);
  });
  page.on('pageerror', (error) => errors!.push(String(error)));
  page.on('console', (message) => {
    // The browser logs each refused request as well.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      errors!.push(message.text());
  });
  await page.goto(address);
  await page.locator('#session').waitFor();
  return {
    page,
    requests: requests!,
    errors: errors!,
    run: (code, input) => page.evaluate(`(${code})(globalThis.page, ${JSON.stringify(input) ?? 'undefined'})`) as never,
    has: (id, text) => expect.poll(() => page.locator(`#${id}`).textContent()).toBe(text),
  };
}
