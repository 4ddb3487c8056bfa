// What only one of the entry points with a handler has.

import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import express, { type RequestHandler } from 'express';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createWebhookHandler as createExpressHandler } from '../../packages/verify-webhook/src/express.ts';
import { createWebhookHandler as createFetchHandler } from '../../packages/verify-webhook/src/fetch.ts';
import {
  createSignatureHeader,
  generateSigningSecrets,
  parseSigningKeys,
} from '../../src/extensions/webhooks/endpoints/signing.ts';
import { serve } from '../support/webhooks/handler-servers.ts';

const { secret, publicKey, kept } = generateSigningSecrets('v1a');
const BODY = JSON.stringify({ type: 'post.created', timestamp: '2030-01-01T00:00:00.000Z', data: { title: 'Zoë 😀' } });

function headersFor(body = BODY): Record<string, string> {
  const now = Math.floor(Date.now() / 1000);
  return {
    'content-type': 'application/json',
    'webhook-id': 'msg_a',
    'webhook-timestamp': String(now),
    'webhook-signature': createSignatureHeader(parseSigningKeys(kept), 'msg_a', now, body),
  };
}

describe('the entry point express', () => {
  async function post(...parsers: RequestHandler[]) {
    const onError = vi.fn();
    const handler = createExpressHandler({ secret, onError });
    const url = await serve(
      express()
        .use(...parsers)
        .post('/hooks', handler),
    );
    const response = await fetch(url, { method: 'POST', headers: headersFor(), body: BODY });
    return { answer: `${response.status} ${await response.text()}`, errors: onError.mock.calls.flat() as Error[] };
  }

  test('a body that was parsed before is a 500, and the error says how to mount the handler', async () => {
    const { answer, errors } = await post(express.json());
    expect(answer).toBe('500 {"code":"BODY_ALREADY_READ"}');
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringMatching(/before app\.use\(express\.json\(\)\)/),
    ]);
  });

  test.each<[string, RequestHandler]>([
    ['as bytes', express.raw({ type: '*/*' })],
    ['as text', express.text({ type: '*/*' })],
    [
      'by the hint of the error',
      express.json({ verify: (req, _res, bytes) => void Object.assign(req, { rawBody: bytes }) }),
    ],
    ['by a parser for another type', express.urlencoded({ extended: false })],
  ])('a raw body that another middleware has kept %s is verified', async (_, parser) => {
    expect(await post(parser)).toEqual({ answer: '204 ', errors: [] });
  });

  test('a client that leaves before its body ends does not keep the handler waiting', async () => {
    const finished = vi.fn();
    const handler = createExpressHandler({ secret });
    const url = await serve((req, res) => void handler(req, res).then(finished));
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{'));
      },
    });
    const leaving = new AbortController();
    const sent = fetch(url, { method: 'POST', headers: headersFor(), body, duplex: 'half', signal: leaving.signal });
    leaving.abort();
    await expect(sent).rejects.toThrow();
    const late = new AbortController();
    const other = fetch(url, {
      method: 'POST',
      headers: headersFor(),
      body: new ReadableStream(),
      duplex: 'half',
      signal: late.signal,
    });
    setImmediate(() => late.abort());
    await expect(other).rejects.toThrow();
    expect((await fetch(url, { method: 'POST', headers: headersFor(), body: BODY })).status).toBe(204);
    await vi.waitUntil(() => finished.mock.calls.length > 0);
  });
});

describe('the entry point fetch', () => {
  test('a body that was read before is a 500, and the error says what to do', async () => {
    const onError = vi.fn();
    const handle = createFetchHandler({ secret, onError });
    const request = new Request('https://receiver.example.com/', { method: 'POST', headers: headersFor(), body: BODY });
    await request.text();
    const response = await handle(request);
    expect([response.status, await response.json()]).toEqual([500, { code: 'BODY_ALREADY_READ' }]);
    expect(onError.mock.calls).toEqual([
      [expect.objectContaining({ message: expect.stringMatching(/Call the handler first/) })],
    ]);
  });

  test('a body that breaks off is a 400', async () => {
    const body = new ReadableStream({
      pull(controller) {
        controller.error(new Error('reset'));
      },
    });
    const given = new Request('https://a.example.com/', {
      method: 'POST',
      headers: headersFor(),
      body,
      duplex: 'half',
    });
    const response = await createFetchHandler({ secret })(given);
    expect([response.status, await response.json()]).toEqual([400, { code: 'BODY_INCOMPLETE' }]);
  });

  test('a runtime without Ed25519 reports that, and refuses nothing as forged', async () => {
    const missing = new DOMException('Unrecognized algorithm name', 'NotSupportedError');
    const spy = vi.spyOn(crypto.subtle, 'importKey').mockRejectedValue(missing);
    onTestFinished(() => spy.mockRestore());
    const onError = vi.fn();
    const given = new Request('https://a.example.com/', { method: 'POST', headers: headersFor(), body: BODY });
    const response = await createFetchHandler({ secret: publicKey!, onError })(given);
    expect(response.status).toBe(500);
    expect(onError.mock.calls).toEqual([[missing]]);
  });

  test('a public key whose bytes are no point matches no signature', async () => {
    const key = `whpk_${Buffer.alloc(32, 0xff).toString('base64')}`;
    const given = new Request('https://a.example.com/', { method: 'POST', headers: headersFor(), body: BODY });
    expect((await createFetchHandler({ secret: key })(given)).status).toBe(401);
  });

  test('its bundle for any platform imports nothing, and runs with the globals of the web platform alone', async () => {
    const { outputFiles, metafile } = await build({
      entryPoints: [fileURLToPath(new URL('../../packages/verify-webhook/src/fetch.ts', import.meta.url))],
      bundle: true,
      platform: 'neutral',
      format: 'iife',
      globalName: 'entry',
      write: false,
      metafile: true,
    });
    expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([]);
    // What the language itself does not have.
    const globals = { Request, Response, TextDecoder, TextEncoder, Uint8Array, atob, btoa, crypto, console };
    const context = createContext({ ...globals });
    const entry = runInContext(`${outputFiles[0]!.text}\nentry`, context) as {
      createWebhookHandler: typeof createFetchHandler;
    };
    for (const key of [secret, publicKey!]) {
      const onOther = vi.fn();
      const handle = entry.createWebhookHandler({ secret: key, onOther });
      const send = (body: string) =>
        handle(new Request('https://a.example.com/', { method: 'POST', headers: headersFor(), body }));
      expect((await send(BODY)).status).toBe(204);
      expect((await send(`${BODY} `)).status).toBe(401);
      expect(onOther.mock.calls).toEqual([[JSON.parse(BODY), { id: 'msg_a' }]]);
    }
  });
});
