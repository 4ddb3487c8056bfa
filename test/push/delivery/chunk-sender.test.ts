import { expect, test } from 'vitest';
import { createChunkSender } from '../../../src/push/delivery/chunk-sender.ts';
import { createChunkClaimer } from '../../../src/push/delivery/claim-chunks.ts';
import type { Transport } from '../../../src/push/transport.ts';

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
    handleAnswers: async () => undefined,
  };
  const sender = createChunkSender(parts as unknown as Parameters<typeof createChunkSender>[0], () => hanging);
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
