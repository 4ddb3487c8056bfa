import { Agent } from 'undici';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { EndpointLease } from '../../../../../../src/extensions/webhooks/engine/delivery/endpoint-lease.ts';
import { createRequestSlots } from '../../../../../../src/extensions/webhooks/engine/delivery/request-slots.ts';
import type { SendDependencies } from '../../../../../../src/extensions/webhooks/engine/delivery/send-parts.ts';
import { sendUnderLease } from '../../../../../../src/extensions/webhooks/engine/delivery/send-under-lease.ts';
import { createLogger } from '../../../../../../src/platform/observability/log.ts';
import { NO_TRACING } from '../../../../../../src/platform/observability/tracing.ts';
import { startReceiver } from '../../../../../fakes/receiver.ts';
import { createDelivery, createEndpoint } from './sending-fixtures.ts';

const CHUNK = 5;

const deliveries = (name: string) => Array.from({ length: CHUNK }, (_, i) => createDelivery(`${name}${i}`));

/** A lease without further deliveries. `claim` replaces what its claims return. */
function createLease(claim: EndpointLease['claim'] = async () => undefined): EndpointLease {
  return {
    claim,
    claimRequestedDelivery: async () => undefined,
    getDueFrom: () => null,
    onRequested: () => undefined,
    tryCountAgainstRateLimit: () => true,
    rateLimitWaitMs: () => 0,
    isOutdated: () => false,
    setLingering: () => undefined,
    setResultWritten: () => undefined,
    release: async () => undefined,
  };
}

function createParts(agent: Agent, parts: Partial<SendDependencies>): SendDependencies {
  const log = createLogger('silent', 'test');
  const common: Partial<SendDependencies> = {
    host: { log, tracing: NO_TRACING } as SendDependencies['host'],
    sender: {
      agent,
      freshAgent: agent,
      keys: () => [],
      readHeaders: () => [],
      log,
      settings: { allowPrivate: true, requireHttps: false, timeoutMs: 5000 },
    },
    slots: createRequestSlots(10, { slow: 5, untried: 5, slowOrUntried: 8, requested: 2 }),
    maxInFlight: { fast: 1, slow: 1 },
    chunk: { fast: CHUNK, slow: CHUNK },
    claimingMs: 60_000,
    pacesOfGoodEndpoints: new Map(),
    activeLeases: new Map(),
    jobs: { isFull: () => false, countLingering: () => 0, addLingering: () => undefined },
    isStopping: () => false,
  };
  return { ...common, ...parts } as SendDependencies;
}

test('an endpoint that an API key redirects in the middle of a lease gets only records that the key may read', async () => {
  const [mine, theirs] = [await startReceiver(), await startReceiver()];
  const agent = new Agent();
  onTestFinished(async () => void (await Promise.all([mine.close(), theirs.close(), agent.close()])));
  const endpoint = createEndpoint({ url: mine.url });
  const key = { via: 'api-key' as const, id: 'key', scopes: ['webhooks:*'] };
  const redirected = () => {
    const claims = [
      { endpoint: { ...endpoint, key, url: theirs.url }, deliveries: deliveries('second'), isFull: true },
    ];
    return createLease(async () => claims.shift());
  };
  const results: [id: string, error: string | null][] = [];
  const parts = createParts(agent, {
    // The owner may read everything, and this key may read nothing.
    check: async ({ key }, bodies) => bodies.map(() => !key),
    recordResult: async ({ id, outcome }) => void results.push([id, outcome.error]),
  });

  const refused = () => results.filter(([, error]) => error !== null);
  // If a response takes more than a second, as it may on a busy machine, the lease is released before the second claim.
  for (let leases = 0; leases < 20 && refused().length === 0; leases++) {
    await sendUnderLease(parts, redirected(), 'fast', { endpoint, deliveries: deliveries('first'), isFull: true });
  }
  expect(theirs.requests).toEqual([]);
  expect(mine.requests.length).toBeGreaterThan(0);
  expect(refused().length).toBeGreaterThan(0);
  for (const [, error] of refused()) expect(error).toBe("The endpoint's owner may no longer read this record");
});

test('a waiting lease that takes the last free job when it is woken leaves new deliveries to a job of their own', async () => {
  const receiver = await startReceiver();
  const agent = new Agent();
  onTestFinished(async () => void (await Promise.all([receiver.close(), agent.close()])));
  let passedMs = 0;
  const realNow = performance.now.bind(performance);
  const now = vi.spyOn(performance, 'now').mockImplementation(() => realNow() + passedMs);
  onTestFinished(() => now.mockRestore());
  const endpoint = createEndpoint({ url: receiver.url });
  const claim = vi.fn(async () => undefined);
  let lingering = 0;
  const parts = createParts(agent, {
    check: async (_caller, bodies) => bodies.map(() => true),
    recordResult: async () => undefined,
    claimingMs: 1000,
    // Two jobs of two, of which this one waits.
    jobs: {
      isFull: (woken = 0) => 2 - lingering + woken >= 2,
      countLingering: () => lingering,
      addLingering(count) {
        lingering += count;
      },
    },
  });
  const sent = sendUnderLease(
    parts,
    createLease(claim),
    'fast',
    { endpoint, deliveries: [createDelivery('only')] },
    { allowLinger: true },
  );
  await vi.waitUntil(() => lingering === 1);
  passedMs = 2000;
  parts.activeLeases.get(endpoint.id)!.onNewDeliveries();
  expect((await sent).more).toBe(true);
  expect(claim).not.toHaveBeenCalled();
});
