import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { bundleVerifyWebhook } from '../../scripts/package/bundle-verify-webhook.ts';
import {
  createSignatureHeader,
  generateSigningSecrets,
  parseSigningKeys,
} from '../../src/extensions/webhooks/endpoints/signing.ts';

const root = join(import.meta.dirname, '../..');
const examples = [
  ...readFileSync(join(root, 'docs/send/receive-webhooks.md'), 'utf8').matchAll(/```ts\n(import [\s\S]*?)```/g),
]
  .map((match) => match[1]!)
  .filter((example) => example.includes("'@belfry/verify-webhook'"));
const folder = mkdtempSync(join(root, 'test', '.examples-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const source = join(root, 'packages/verify-webhook/src/index.ts');
const browserBuild = join(folder, 'verify-webhook.browser.js');
writeFileSync(browserBuild, bundleVerifyWebhook());

/** Runs an example as it is on the page, with a build of `@belfry/verify-webhook`. */
async function example<Module>(holding: string, build: string): Promise<Module> {
  const [text, ...others] = examples.filter((one) => one.includes(holding));
  expect(others).toEqual([]);
  const file = join(folder, `${holding.replaceAll(/\W/g, '')}-${build === source ? 'source' : 'browser'}.ts`);
  writeFileSync(file, text!.replaceAll("'@belfry/verify-webhook'", JSON.stringify(build)));
  return import(file);
}

const { secret, publicKey, kept } = generateSigningSecrets('v1a');
const event = { type: 'note.created', timestamp: '2030-01-01T00:00:00.000Z', data: { text: 'Zoë '.repeat(50_000) } };
const body = JSON.stringify(event);
function headers(timestamp = Math.floor(Date.now() / 1000)): Record<string, string> {
  return {
    'content-type': 'application/json',
    'webhook-id': 'msg_abc',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': createSignatureHeader(parseSigningKeys(kept), 'msg_abc', timestamp, body),
  };
}

/** Sends a genuine message, a changed one, an old one and one without a signature. Returns the statuses. */
async function statuses(send: (body: string, headers: Record<string, string>) => Promise<Response>): Promise<number[]> {
  const { 'webhook-signature': _, ...unsigned } = headers();
  const answers = [
    await send(body, headers()),
    await send(body.replace('Zoë', 'Zoe'), headers()),
    await send(body, headers(1_700_000_000)),
    await send(body, unsigned),
  ];
  return answers.map(({ status }) => status);
}

describe.each([
  ['the secret', 'the source', secret, source],
  ['the secret', 'the build for browsers', secret, browserBuild],
  ['the public key', 'the source', publicKey!, source],
  ['the public key', 'the build for browsers', publicKey!, browserBuild],
])('with %s and %s', (_, __, key, build) => {
  const logged = () => {
    const log = vi.spyOn(console, 'log').mockReturnValue(undefined);
    onTestFinished(() => log.mockRestore());
    return log;
  };

  test('the express handler of the docs accepts genuine messages only', async () => {
    vi.stubEnv('WEBHOOK_SECRET', key);
    onTestFinished(() => void vi.unstubAllEnvs());
    const log = logged();
    const { app } = await example<{ app: RequestListener }>('express.raw', build);
    const server = createServer(app).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await vi.waitUntil(() => server.listening, { timeout: 60_000, interval: 20 });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
    expect(await statuses((text, sent) => fetch(url, { method: 'POST', headers: sent, body: text }))).toEqual([
      204, 400, 400, 400,
    ]);
    expect(log.mock.calls).toEqual([[event.type, event.data]]);
  });

  test('the fetch handler of the docs does too', async () => {
    const log = logged();
    const { default: handler } = await example<{
      default: { fetch(request: Request, env: object): Promise<Response> };
    }>('async fetch(request', build);
    const send = (text: string, sent: Record<string, string>) =>
      handler.fetch(new Request('https://receiver.example.com/', { method: 'POST', headers: sent, body: text }), {
        WEBHOOK_SECRET: key,
      });
    expect(await statuses(send)).toEqual([204, 400, 400, 400]);
    expect(log.mock.calls).toEqual([[event.type, event.data]]);
  });
});
