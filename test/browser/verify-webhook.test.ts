// @belfry/verify-webhook in a page, without a bundler.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { transformSync } from 'esbuild';
import type { Browser } from 'playwright-core';
import { beforeAll, expect, onTestFinished, vi } from 'vitest';
import { bundleVerifyWebhook } from '../../scripts/package/bundle-verify-webhook.ts';
import {
  createSignatureHeader,
  generateSigningSecrets,
  parseSigningKeys,
} from '../../src/extensions/webhooks/endpoints/signing.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const SECURITY_POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'";
const BUILD = '/verify-webhook.browser.js';

/** The example of docs/send/receive-webhooks.md for pages, as JavaScript. */
function readExample(): string {
  const page = readFileSync(new URL('../../docs/send/receive-webhooks.md', import.meta.url), 'utf8');
  const examples = Array.from(page.matchAll(/```ts\n(import [\s\S]*?)```/g), (match) => match[1]!);
  const example = examples.find((text) => text.includes('readDelivery'))!;
  return transformSync(example.replace("'@belfry/verify-webhook'", `'${BUILD}'`), { loader: 'ts' }).code;
}

/** Shows the result for each delivery, or the code of its error. */
const PAGE_SCRIPT = `
  import { readDelivery } from '/delivery.js';
  const { keys } = await (await fetch('/keys')).json();
  const results = [];
  for (const key of keys)
    for (const url of ['/genuine', '/changed']) results.push(await readDelivery(url, key).then(({ data }) => data, ({ code }) => code));
  document.querySelector('output').textContent = JSON.stringify(results);`;

/** Serves files with a strict policy. Returns the address, and the paths that were requested. */
async function startSite(files: Record<string, [type: string, text: string]>) {
  const requested: string[] = [];
  const server = createServer((req, res) => {
    requested.push(req.url!);
    const [type, text] = files[req.url!] ?? [];
    res.setHeader('content-security-policy', SECURITY_POLICY);
    res.setHeader('x-content-type-options', 'nosniff');
    res.writeHead(text === undefined ? 404 : 200, { 'content-type': type ?? 'text/plain' }).end(text);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await vi.waitUntil(() => server.listening);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requested };
}

browserTest(
  'a page with a strict Content Security Policy verifies deliveries with the one file, by the example of the docs',
  60_000,
  async () => {
    const { secret, publicKey, kept } = generateSigningSecrets('v1a');
    const body = JSON.stringify({ type: 'post.created', timestamp: '2030-01-01T00:00:00.000Z', data: 'Zoë 😀' });
    const now = Math.floor(Date.now() / 1000);
    const headers = {
      'webhook-id': 'msg_abc',
      'webhook-timestamp': String(now),
      'webhook-signature': createSignatureHeader(parseSigningKeys(kept), 'msg_abc', now, body),
    };
    const json = (value: unknown): [string, string] => ['application/json', JSON.stringify(value)];
    const script = (code: string): [string, string] => ['text/javascript', code];
    const { url, requested } = await startSite({
      '/': ['text/html', '<!doctype html><output></output><script type="module" src="/page.js"></script>'],
      '/page.js': script(PAGE_SCRIPT),
      '/delivery.js': script(readExample()),
      [BUILD]: script(bundleVerifyWebhook()),
      '/keys': json({ keys: [publicKey, secret] }),
      '/genuine': json({ headers, body }),
      '/changed': json({ headers, body: body.replace('Zoë', 'Zoe') }),
    });

    const page = await browser.newPage();
    const errors: string[] = [];
    page.on('pageerror', ({ message }) => errors.push(message));
    page.on('console', (message) => errors.push(message.text()));
    await page.goto(url);
    await page.locator('output:not(:empty)').waitFor();
    expect(JSON.parse((await page.locator('output').textContent())!)).toEqual([
      'Zoë 😀',
      'SIGNATURE_MISMATCH',
      'Zoë 😀',
      'SIGNATURE_MISMATCH',
    ]);
    const modules = requested.filter((path) => path.endsWith('.js'));
    expect(modules).toEqual(['/page.js', '/delivery.js', BUILD]);
    expect(errors).toEqual([]);
  },
);
