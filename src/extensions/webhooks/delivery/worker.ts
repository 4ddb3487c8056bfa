import type { Host, ResourceGateway } from '../../../declare/host.ts';
import { createGuardedAgent } from '../../../platform/address-guard/index.ts';
import type { RunningWorker } from '../../../platform/redis/queues.ts';
import { usersSql } from '../endpoints/endpoints-sql.ts';
import { createSigningKeys } from '../endpoints/signing.ts';
import type { WebhookMetrics } from '../metrics.ts';
import type { CheckReadability } from '../readability/readability.ts';
import { createGlobalAccessCheck } from '../readability/readability.ts';
import { globalRoles, type WebhookSettings } from '../settings.ts';
import { createClaimTexts } from './claim.ts';
import {
  endpointOf,
  type JobName,
  type Lane,
  QUEUES,
  REQUESTED_QUEUE,
  wakeUp,
  wakeUpRequested,
} from './endpoint-jobs.ts';
import { createEndpointLeaseRenewals, createLeaseRelease } from './lease-store.ts';
import { processEndpoint, processRequested, type WorkerParts } from './process-endpoint.ts';
import { createResultRecorder } from './record-results.ts';
import { createRequestSlots } from './request-slots.ts';

const DELIVERIES_PER_CLAIM = 50;
const SLOW_DELIVERIES_PER_CLAIM = 10;
const CLAIMING_MS = 250;
// The queue's defaults are much longer. These values return the jobs of a dead worker by the time its leases expire.
const CRASH_DETECTION = { lockDuration: 4000, stalledInterval: 2000 };

/** Starts three workers: for healthy endpoints, for endpoints that fail or are slow, and for requested deliveries. */
export function startWebhookWorker(
  host: Host,
  users: ResourceGateway,
  settings: WebhookSettings,
  metrics: WebhookMetrics,
  check: CheckReadability,
): RunningWorker {
  const { concurrency, timeoutMs, allowPrivate, nameServers } = settings;
  const slowConcurrency = Math.max(1, Math.floor(concurrency / 2));
  const requestedConcurrency = Math.max(1, Math.floor(concurrency / 4));
  const halfOf = (count: number) => Math.max(1, Math.ceil(count / 2));
  const agentOptions = { allowPrivate, nameServers, connectTimeoutMs: timeoutMs, connections: concurrency };
  const agents = [createGuardedAgent(agentOptions), createGuardedAgent(agentOptions)] as const;
  const renewals = createEndpointLeaseRenewals(host, users, settings);
  let stopping = false;

  const parts: WorkerParts = {
    host,
    sender: { agent: agents[0], freshAgent: agents[1], keys: createSigningKeys(host.keyring), log: host.log, settings },
    check,
    slots: createRequestSlots(concurrency, {
      slow: slowConcurrency,
      untried: slowConcurrency,
      slowOrUntried: Math.max(1, concurrency - halfOf(slowConcurrency)),
      requested: requestedConcurrency,
    }),
    recordResult: metrics.counted(createResultRecorder(host, settings)),
    releaseLease: createLeaseRelease(host, (endpoints) => wakeUpRequested(host.queues, endpoints)),
    maxInFlight: { fast: halfOf(concurrency), slow: halfOf(slowConcurrency) },
    chunk: { fast: Math.max(DELIVERIES_PER_CLAIM, halfOf(concurrency)), slow: SLOW_DELIVERIES_PER_CLAIM },
    claimingMs: CLAIMING_MS,
    renewals,
    claimTexts: createClaimTexts(usersSql(users)),
    globalRoles: globalRoles(settings),
    mayBeGlobal: createGlobalAccessCheck(host, users, settings),
    concurrencyLimits: new Map(),
    waitingEndpoints: new Set(),
    detached: new Set(),
    leased: new Map(),
    isStopping: () => stopping,
  };
  const work = (lane: Lane, atOnce: number) =>
    host.queues.work(
      QUEUES[lane],
      ({ name, data }) => {
        const endpoint = endpointOf(data);
        return (name as JobName) === 'retry'
          ? wakeUp(host.queues, [{ ...endpoint, lane }])
          : processEndpoint(parts, endpoint, lane);
      },
      atOnce,
      CRASH_DETECTION,
    );
  const workers = [
    // Twice as many jobs as requests: jobs of untried endpoints must not fill all of them.
    work('fast', 2 * concurrency),
    work('slow', slowConcurrency),
    host.queues.work(
      REQUESTED_QUEUE,
      ({ data }) => processRequested(parts, endpointOf(data)),
      requestedConcurrency,
      CRASH_DETECTION,
    ),
  ];

  return {
    async stop() {
      stopping = true;
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all(parts.detached);
      renewals.stop();
      await Promise.all(agents.map((agent) => agent.destroy()));
    },
  };
}
