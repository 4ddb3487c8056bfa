import { Agent } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import type { EndpointLease } from '../../../../../../src/extensions/webhooks/engine/delivery/endpoint-lease.ts';
import { createRequestSlots } from '../../../../../../src/extensions/webhooks/engine/delivery/request-slots.ts';
import type { SendParts } from '../../../../../../src/extensions/webhooks/engine/delivery/send-parts.ts';
import { sendUnderLease } from '../../../../../../src/extensions/webhooks/engine/delivery/send-under-lease.ts';
import { createLogger } from '../../../../../../src/platform/observability/log.ts';
import { NO_TRACING } from '../../../../../../src/platform/observability/tracing.ts';
import { startReceiver } from '../../../../../fakes/receiver.ts';
import { createDelivery, createEndpoint } from './sending-fixtures.ts';

const CHUNK = 5;

const deliveries = (name: string) => Array.from({ length: CHUNK }, (_, i) => createDelivery(`${name}${i}`));

test('an endpoint that an API key redirects in the middle of a lease gets only records that the key may read', async () => {
  const [mine, theirs] = [await startReceiver(), await startReceiver()];
  const agent = new Agent();
  onTestFinished(async () => void (await Promise.all([mine.close(), theirs.close(), agent.close()])));
  const endpoint = createEndpoint({ url: mine.url });
  const key = { via: 'api-key' as const, id: 'key', scopes: ['webhooks:*'] };
  const redirected = (): EndpointLease => {
    const claims = [
      { endpoint: { ...endpoint, key, url: theirs.url }, deliveries: deliveries('second'), isFull: true },
    ];
    return {
      claim: async () => claims.shift(),
      claimRequestedDelivery: async () => undefined,
      onRequested: () => undefined,
      tryCountAgainstRateLimit: () => true,
      rateLimitWaitMs: () => 0,
      isOutdated: () => false,
      setLingering: () => undefined,
      setResultWritten: () => undefined,
      release: async () => undefined,
    };
  };
  const results: [id: string, error: string | null][] = [];
  const log = createLogger('silent', 'test');
  const parts: Partial<SendParts> = {
    host: { log, tracing: NO_TRACING } as SendParts['host'],
    sender: {
      agent,
      freshAgent: agent,
      keys: () => [],
      log,
      settings: { allowPrivate: true, requireHttps: false, timeoutMs: 5000 },
    },
    // The owner may read everything, and this key may read nothing.
    check: async ({ key }, bodies) => bodies.map(() => !key),
    slots: createRequestSlots(10, { slow: 5, untried: 5, slowOrUntried: 8, requested: 2 }),
    recordResult: async ({ id, outcome }) => void results.push([id, outcome.error]),
    maxInFlight: { fast: 1, slow: 1 },
    chunk: { fast: CHUNK, slow: CHUNK },
    claimingMs: 60_000,
    pacesOfGoodEndpoints: new Map(),
    activeLeases: new Map(),
    jobs: { isFull: () => false, countLingering: () => 0, addLingering: () => undefined },
    isStopping: () => false,
  };

  const refused = () => results.filter(([, error]) => error !== null);
  // If a response takes more than a second, as it may on a busy machine, the lease is released before the second claim.
  for (let leases = 0; leases < 20 && refused().length === 0; leases++) {
    await sendUnderLease(parts as SendParts, redirected(), 'fast', {
      endpoint,
      deliveries: deliveries('first'),
      isFull: true,
    });
  }
  expect(theirs.requests).toEqual([]);
  expect(mine.requests.length).toBeGreaterThan(0);
  expect(refused().length).toBeGreaterThan(0);
  for (const [, error] of refused()) expect(error).toBe("The endpoint's owner may no longer read this record");
});
