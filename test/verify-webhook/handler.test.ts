// The handlers of @belfry/verify-webhook/express and /fetch, over real sockets.
import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { SeenStore, WebhookHandlerOptions, WebhookPayload } from '../../packages/verify-webhook/src/fetch.ts';
import { createMemoryStore } from '../../packages/verify-webhook/src/seen-store.ts';
import {
  createSignatureHeader,
  generateSecret,
  generateSigningSecrets,
  parseSigningKeys,
  parseSigningSecret,
} from '../../src/extensions/webhooks/endpoints/signing.ts';
import keyPairVector from '../data/webhook-key-pair-vector.json' with { type: 'json' };
import vectors from '../data/webhook-vectors.json' with { type: 'json' };
import { handlerServers } from '../support/webhooks/handler-servers.ts';

const SECRET = generateSecret();
const EVENT = { type: 'post.created', timestamp: '2030-01-01T00:00:00.000Z', data: { title: 'Zoë 😀' } };
const BODY = JSON.stringify(EVENT);
const seconds = () => Math.floor(Date.now() / 1000);

/** A handler that must not run. */
const unreachable = () => expect.unreachable();

interface Sent {
  body?: string;
  id?: string;
  timestamp?: number;
  secret?: string;
  headers?: Record<string, string>;
}

/** The headers of a delivery. */
function sign({ body = BODY, id = 'msg_a', timestamp = seconds(), secret = SECRET, headers }: Sent) {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': createSignatureHeader([parseSigningSecret(secret)], id, timestamp, body),
    ...headers,
  };
}

async function send(url: string, sent: Sent = {}) {
  const response = await fetch(url, { method: 'POST', headers: sign(sent), body: sent.body ?? BODY });
  const text = await response.text();
  return {
    status: response.status,
    code: text === '' ? undefined : JSON.parse(text).code,
    text,
    headers: response.headers,
  };
}

const outcomeOf = async (url: string, sent: Sent = {}) => {
  const { status, code } = await send(url, sent);
  return code === undefined ? status : `${status} ${code}`;
};

describe.each(handlerServers)('the entry point %s', (_, start) => {
  const startWith = (options: Partial<WebhookHandlerOptions<WebhookPayload>> = {}) =>
    start({ secret: SECRET, ...options });

  test('a genuine webhook reaches the handler of its event, with its id, and gets a 204', async () => {
    const onCreated = vi.fn();
    const url = await startWith({ on: { 'post.created': onCreated, 'post.deleted': unreachable } });
    const { status, text } = await send(url);
    expect([status, text]).toEqual([204, '']);
    expect(onCreated.mock.calls).toEqual([[EVENT, { id: 'msg_a' }]]);
  });

  test('a request that is no genuine recent webhook gets a short code, and no handler runs', async () => {
    const url = await startWith({ onOther: unreachable });
    const { 'webhook-signature': _signature, ...unsigned } = sign({});
    expect(await outcomeOf(url, { secret: generateSecret() })).toBe('401 SIGNATURE_MISMATCH');
    expect(await outcomeOf(url, { headers: { 'webhook-id': 'msg_b' } })).toBe('401 SIGNATURE_MISMATCH');
    expect(await outcomeOf(url, { timestamp: seconds() - 400 })).toBe('400 TIMESTAMP_TOO_OLD');
    expect(await outcomeOf(url, { timestamp: seconds() + 400 })).toBe('400 TIMESTAMP_TOO_NEW');
    expect(await outcomeOf(url, { id: 'msg.a' })).toBe('400 INVALID_HEADER');
    for (const body of ['', '{', 'null', '[]', '7', '{"type":7}'])
      expect(await outcomeOf(url, { body })).toBe('400 INVALID_PAYLOAD');
    const missing = await fetch(url, { method: 'POST', headers: unsigned, body: BODY });
    expect([missing.status, await missing.text()]).toEqual([400, '{"code":"MISSING_HEADER"}']);
  });

  test('the tolerance of timestamps can be changed', async () => {
    const url = await startWith({ toleranceSeconds: 1000 });
    expect(await outcomeOf(url, { timestamp: seconds() - 900 })).toBe(204);
    expect(await outcomeOf(url, { timestamp: seconds() - 1100 })).toBe('400 TIMESTAMP_TOO_OLD');
  });

  test.each([...vectors, { ...keyPairVector, secret: keyPairVector.publicKey }])(
    'the signature of the published vector $id $body is verified',
    async ({ secret, id, timestamp, body, signature }) => {
      const url = await startWith({ secret, toleranceSeconds: Number.POSITIVE_INFINITY });
      const post = async (header: string) => {
        const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': header };
        return (await fetch(url, { method: 'POST', headers, body })).status;
      };
      // The bodies of the vectors have no type, which is checked only if the signature matches.
      const genuine = body.includes('"type"') ? 204 : 400;
      expect([await post(signature), await post(signature.replace(/[A-Za-z0-9](?=.{5}$)/, '/'))]).toEqual([
        genuine,
        401,
      ]);
    },
  );

  test('a signature of one of several secrets or public keys is enough', async () => {
    const pair = generateSigningSecrets('v1a');
    const old = generateSecret();
    const url = await startWith({ secret: [SECRET, old, pair.publicKey!] });
    const timestamp = seconds();
    const header = createSignatureHeader(parseSigningKeys(pair.kept), 'msg_c', timestamp, BODY)
      .split(' ')
      .find((one) => one.startsWith('v1a,'))!;
    expect(await outcomeOf(url, { id: 'msg_a' })).toBe(204);
    expect(await outcomeOf(url, { id: 'msg_b', secret: old })).toBe(204);
    expect(await outcomeOf(url, { id: 'msg_c', timestamp, headers: { 'webhook-signature': header } })).toBe(204);
    expect(await outcomeOf(url, { id: 'msg_d', secret: generateSecret() })).toBe('401 SIGNATURE_MISMATCH');
  });

  test.each([undefined, '', 'whsec_***', [], [SECRET, 'whpk_AAAA']])(
    'the secret %j is refused at once',
    async (secret) => {
      await expect((async () => startWith({ secret: secret as string }))()).rejects.toMatchObject({
        code: 'INVALID_SECRET',
      });
    },
  );

  test('another method than POST gets a 405 with Allow', async () => {
    const url = await startWith();
    for (const method of ['GET', 'PUT', 'HEAD']) {
      const { status, headers } = await fetch(url, { method });
      expect([status, headers.get('allow')]).toEqual([405, 'POST']);
    }
  });

  test('a body over the limit gets a 413, whether or not its length is announced', async () => {
    const url = await startWith({ maxBodyBytes: 1000, onOther: unreachable });
    expect(await outcomeOf(url, { body: 'x'.repeat(1001) })).toBe('413 BODY_TOO_LARGE');
    const unfinished = request(url, { method: 'POST', headers: sign({}) });
    for (let i = 0; i < 3; i++) unfinished.write('x'.repeat(400));
    const [response] = await once(unfinished, 'response');
    unfinished.destroy();
    expect(response.statusCode).toBe(413);
    const longest = JSON.stringify({ ...EVENT, data: 'x'.repeat(1000) }).slice(0, 1000);
    expect(await outcomeOf(url, { body: longest })).toBe('400 INVALID_PAYLOAD');
  });

  test('a request without valid headers is refused before its body has arrived', async () => {
    const url = await startWith({ onOther: unreachable });
    for (const headers of [{}, sign({ timestamp: seconds() - 400 })]) {
      const unfinished = request(url, { method: 'POST', headers });
      unfinished.write('x');
      const [response] = await once(unfinished, 'response');
      unfinished.destroy();
      expect(response.statusCode).toBe(400);
    }
  });

  test('an event without a handler gets a 204, even if its name is that of a member of all objects', async () => {
    const url = await startWith({ on: { 'post.created': unreachable } });
    for (const type of ['webhook.test', 'constructor', '__proto__'])
      expect(await outcomeOf(url, { body: JSON.stringify({ ...EVENT, type }) })).toBe(204);
  });

  test('onOther handles the events that have no handler', async () => {
    const onOther = vi.fn();
    const url = await startWith({ on: { 'post.created': unreachable }, onOther });
    const event = { ...EVENT, type: 'post.archived' };
    expect(await outcomeOf(url, { body: JSON.stringify(event) })).toBe(204);
    expect(onOther.mock.calls).toEqual([[event, { id: 'msg_a' }]]);
  });

  test('a webhook that was handled gets a 204 when it arrives again, and is not handled again', async () => {
    const onOther = vi.fn();
    const url = await startWith({ onOther });
    const ids = ['msg_a', 'msg_a', 'msg_b', 'msg_a'];
    for (const id of ids) expect(await outcomeOf(url, { id })).toBe(204);
    expect(onOther.mock.calls.map(([, { id }]) => id)).toEqual(['msg_a', 'msg_b']);
  });

  test('while a webhook is handled, its other attempts get a 409 with Retry-After, so that the sender tries again', async () => {
    const [started, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const onOther = vi.fn(() => {
      started.resolve();
      return finish.promise;
    });
    const url = await startWith({ onOther });
    const first = outcomeOf(url);
    await started.promise;
    const second = await send(url);
    expect([second.status, second.code, second.headers.get('retry-after')]).toEqual([409, 'BEING_HANDLED', '5']);
    finish.resolve();
    expect([await first, await outcomeOf(url)]).toEqual([204, 204]);
    expect(onOther).toHaveBeenCalledTimes(1);
  });

  test('of many attempts at the same time, one is handled', async () => {
    const onOther = vi.fn(async () => undefined);
    const url = await startWith({ onOther });
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => outcomeOf(url)));
    expect(outcomes.filter((one) => one !== 204 && one !== '409 BEING_HANDLED')).toEqual([]);
    expect(outcomes).toContain(204);
    expect(onOther).toHaveBeenCalledTimes(1);
  });

  test.each(['throws', 'rejects'])(
    'if a handler %s, the sender gets a 500, and the next attempt is handled',
    async (how) => {
      const failure = new Error('the database is down');
      const onError = vi.fn();
      const onOther = vi
        .fn()
        .mockImplementationOnce(() => {
          if (how === 'throws') throw failure;
          return Promise.reject(failure);
        })
        .mockResolvedValue(undefined);
      const url = await startWith({ onOther, onError });
      const { status, text } = await send(url);
      expect([status, text]).toEqual([500, '{"code":"HANDLER_FAILED"}']);
      expect(onError.mock.calls).toEqual([[failure]]);
      expect(await outcomeOf(url)).toBe(204);
      expect(await outcomeOf(url)).toBe(204);
      expect(onOther).toHaveBeenCalledTimes(2);
    },
  );

  test('without onError, errors are printed', async () => {
    const print = vi.spyOn(console, 'error').mockReturnValue(undefined);
    onTestFinished(() => print.mockRestore());
    const failure = new Error('no');
    const url = await startWith({ onOther: () => Promise.reject(failure) });
    expect(await outcomeOf(url)).toBe('500 HANDLER_FAILED');
    expect(print.mock.calls).toEqual([[failure]]);
  });

  test('a store of the app decides which webhooks were handled', async () => {
    const calls: unknown[][] = [];
    const states = new Map<string, 'handling' | 'handled'>([['msg_old', 'handled']]);
    const seen: SeenStore = {
      async claim(id, ttlMs) {
        calls.push(['claim', id, ttlMs > 0]);
        const state = states.get(id) ?? 'claimed';
        if (state === 'claimed') states.set(id, 'handling');
        return state;
      },
      async complete(id, ttlMs) {
        calls.push(['complete', id, ttlMs > 60_000]);
        states.set(id, 'handled');
      },
      async release(id) {
        calls.push(['release', id]);
        states.delete(id);
      },
    };
    const onOther = vi.fn().mockRejectedValueOnce(new Error('no')).mockResolvedValue(undefined);
    const url = await startWith({ onOther, seen, onError: () => undefined });
    expect(await outcomeOf(url, { id: 'msg_old' })).toBe(204);
    expect(await outcomeOf(url, { id: 'msg_new' })).toBe('500 HANDLER_FAILED');
    expect(await outcomeOf(url, { id: 'msg_new' })).toBe(204);
    // A request that is not genuine does not reach the store.
    expect(await outcomeOf(url, { id: 'msg_x', secret: generateSecret() })).toBe('401 SIGNATURE_MISMATCH');
    expect(calls).toEqual([
      ['claim', 'msg_old', true],
      ['claim', 'msg_new', true],
      ['release', 'msg_new'],
      ['claim', 'msg_new', true],
      ['complete', 'msg_new', true],
    ]);
  });

  test('if the store fails, the webhook is not handled; if it fails afterwards, the sender does not send it again', async () => {
    const onError = vi.fn();
    const onOther = vi.fn();
    const seen: SeenStore = {
      claim: vi.fn<SeenStore['claim']>().mockRejectedValueOnce(new Error('claim')).mockResolvedValue('claimed'),
      complete: () => Promise.reject(new Error('complete')),
      release: () => Promise.resolve(),
    };
    const url = await startWith({ onOther, onError, seen });
    expect(await outcomeOf(url)).toBe('500 HANDLER_FAILED');
    expect(onOther).not.toHaveBeenCalled();
    expect(await outcomeOf(url)).toBe(204);
    expect(onError.mock.calls.map(([error]) => error.message)).toEqual(['claim', 'complete']);
  });
});

test('the default store forgets the oldest of more than 10,000 ids, but none that could still be replayed', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 0 });
  onTestFinished(() => void vi.useRealTimers());
  const store = createMemoryStore(600_000);
  const handle = async (id: string) => {
    expect(await store.claim(id, 1000)).toBe('claimed');
    await store.complete(id, 3_600_000);
  };
  await handle('first');
  for (let i = 0; i < 10_000; i++) await handle(`${i}`);
  expect(await store.claim('first', 1000)).toBe('handled');
  vi.setSystemTime(600_001);
  await handle('later');
  expect(await store.claim('first', 1000)).toBe('claimed');
  expect(await store.claim('9999', 1000)).toBe('handled');
});
