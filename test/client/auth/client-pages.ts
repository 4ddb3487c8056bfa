import { basename } from 'node:path';
import { build } from 'esbuild';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { Extension } from '../../../src/declare/extension.ts';
import { defineExtension } from '../../../src/index.ts';

/** Bundles the client as a front end does, with the parts that it loads on use in files of their own. */
async function bundleClient(): Promise<Map<string, string>> {
  const { outputFiles } = await build({
    entryPoints: [`${import.meta.dirname}/../../../packages/client/src/index.ts`],
    bundle: true,
    splitting: true,
    format: 'esm',
    minify: true,
    outdir: '/client',
    write: false,
  });
  return new Map(outputFiles.map(({ path, text }) => [`/client/${basename(path)}`, text]));
}

const scripts = await bundleClient();

/** Returns the files that pages with a client need, by path. @param options of the client, as JavaScript */
export function clientFiles(options = '{}'): Map<string, { type: string; text: string }> {
  const html = `<!doctype html><title>Shop</title><input autocomplete="username webauthn">
    <script type="module">
      import * as belfry from '/client/index.js';
      window.belfry = belfry;
      window.client = belfry.createClient(${options});
      document.body.dataset.ready = '';
    </script>`;
  const files = new Map([['/shop', { type: 'text/html', text: html }]]);
  for (const [path, text] of scripts) files.set(path, { type: 'text/javascript', text });
  return files;
}

/** An extension whose page `/shop` has a client. */
export function clientPages(options?: string): Extension {
  return defineExtension({
    name: 'shop',
    setup: () => ({
      pages: Array.from(clientFiles(options), ([path, { type, text }]) => ({
        method: 'GET' as const,
        path,
        policy: 'public',
        handler: ({ res }) => void res.type(type).end(text),
      })),
    }),
  });
}

/** Opens a page of the origin with a client, in a tab of its own. */
export async function openShop(context: BrowserContext, origin: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${origin}/shop`);
  await page.locator('body[data-ready]').waitFor();
  return page;
}

/** Opens a browser profile that ends with the test. */
export async function newProfile(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  return context;
}

/**
 * Runs an expression in a page, in which `client` is its client and `given` the values. Returns the result, or the code of the error, or its
 * message if it has none.
 */
export function run<T>(page: Page, expression: string, given: Record<string, unknown> = {}): Promise<T> {
  return page.evaluate(
    `(async (given) => (${expression}))(${JSON.stringify(given)})
      .then((result) => JSON.parse(JSON.stringify(result ?? null)))
      .catch(({ code, message }) => ({ failed: code ?? message }))`,
  );
}

/** The id of the user whose session a page has; null without one. */
export const userOf = (page: Page) => run<string | null>(page, 'client.auth.session?.user.id');
