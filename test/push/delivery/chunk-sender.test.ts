import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ChunkSender, nextRetryAt } from '../../../src/push/delivery/chunk-sender.ts';
import { createChunkClaimer } from '../../../src/push/delivery/claim-chunks.ts';
import type { Transport } from '../../../src/push/message/transport.ts';

const KEY = { pushId: 'p', chunk: 0, size: 1 };
const CHUNK = ['p', 0, 1, 'hanging', 0, 1, false, 1, new Date().toISOString(), null, { title: 'Hi' }];
const DEVICE = [1, 0, null, 'web', null, null, 'token', null, 0];

/** A sender whose claim completes when `claim` is called, and whose transport never responds. */
function hangingSender() {
  const claimed = Promise.withResolvers<unknown[]>();
  const asked: string[] = [];
  const hanging: Transport = {
    name: 'hanging',
    send: (_message, _devices, { id }) => {
      asked.push(id);
      return new Promise(() => undefined);
    },
  };
  const parts = {
    database: { write: () => claimed.promise, read: async () => [DEVICE] },
    log: { warn: () => undefined },
    claims: { add: () => undefined, remove: () => undefined, stop: () => undefined },
    claimChunks: createChunkClaimer(undefined),
    handleResults: async () => undefined,
    getTransportOrResult: () => hanging,
  };
  const sender = new ChunkSender(parts as unknown as ConstructorParameters<typeof ChunkSender>[0]);
  return { sender, asked, claim: () => claimed.resolve([CHUNK]) };
}

test('a job that arrives while the worker stops is left to other workers at once', async () => {
  const { sender } = hangingSender();
  sender.dropUnclaimedChunks();
  await sender.sendChunk(KEY);
});

test('a chunk claimed after the sender gave up waiting is not passed to the transport, and its job ends', async () => {
  const { sender, asked, claim } = hangingSender();
  const sent = sender.sendChunk(KEY);
  sender.dropUnclaimedChunks();
  sender.abandonSends();
  claim();
  await sent;
  expect(asked).toEqual([]);
});

test('a chunk that the transport holds when the sender gives up waiting ends its job as failed', async () => {
  const { sender, asked, claim } = hangingSender();
  const sent = sender.sendChunk(KEY);
  claim();
  await expect.poll(() => asked).toEqual(['p']);
  sender.abandonSends();
  await expect(sent).rejects.toThrow('stopped before the transport returned its results');
});

const NOW = 1_800_000_000_000;
const failed = { attempts: 1, retryAfterMs: undefined, createdAt: NOW, expiresAt: undefined };

test.each([
  [1, 1000],
  [2, 5000],
  [3, 30_000],
  [4, 120_000],
  [5, 600_000],
])('after try %i the next one is %i ms later, plus or minus a fifth', (attempts, wait) => {
  const at = (random: number) => nextRetryAt({ ...failed, attempts }, NOW, random)! - NOW;
  expect([at(0), at(0.5), at(1)]).toEqual([wait * 0.8, wait, wait * 1.2]);
});

test('no try follows the sixth', () => {
  expect(nextRetryAt({ ...failed, attempts: 6 }, NOW, 0.5)).toBeUndefined();
});

test('a retry that would fall on the end of the ttl is dropped; 1 ms earlier it is made', () => {
  expect(nextRetryAt({ ...failed, expiresAt: NOW + 1000 }, NOW, 0.5)).toBeUndefined();
  expect(nextRetryAt({ ...failed, expiresAt: NOW + 1001 }, NOW, 0.5)).toBe(NOW + 1000);
});

test('a retry is never before the time that the provider allows, never at or after the end of the ttl, and never after 28 days', () => {
  const some = fc.record({
    attempts: fc.integer({ min: 1, max: 8 }),
    retryAfterMs: fc.option(fc.integer({ min: 1, max: 10 ** 10 }), { nil: undefined }),
    ttl: fc.option(fc.integer({ min: 0, max: 10 ** 7 }), { nil: undefined }),
    age: fc.integer({ min: 0, max: 10 ** 6 }),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  const property = fc.property(some, ({ attempts, retryAfterMs, ttl, age, random }) => {
    const createdAt = NOW - age;
    const expiresAt = ttl === undefined ? undefined : createdAt + ttl;
    const at = nextRetryAt({ attempts, retryAfterMs, createdAt, expiresAt }, NOW, random);
    if (at === undefined) return;
    expect(at).toBeGreaterThanOrEqual(NOW + (retryAfterMs ?? 800));
    expect(at).toBeLessThan(expiresAt ?? createdAt + 28 * 86_400_000);
  });
  fc.assert(property, { numRuns: 1000 });
});
