import type { Host, ResourceGateway } from '../../../declare/host.ts';
import { createGuardedAgent } from '../../../platform/address-guard/index.ts';
import type { RunningWorker } from '../../../platform/redis/queues.ts';
import { usersSql } from '../endpoints/endpoints-sql.ts';
import { createSigningKeyCache } from '../endpoints/signing.ts';
import type { WebhookMetrics } from '../metrics.ts';
import type { CheckReadability } from '../readability/readability.ts';
import { createGlobalAccessCheck } from '../readability/readability.ts';
import { globalRolesOf, type WebhookSettings } from '../settings.ts';
import { createClaimStatements } from './claim.ts';
import {
  endpointOf,
  enqueueEndpointJobs,
  enqueueEndpointsWithRequests,
  type JobName,
  LANE_QUEUES,
  type Lane,
  REQUESTED_QUEUE,
} from './endpoint-jobs.ts';
import { createEndpointLeaseRenewals, createLeaseReleaser } from './lease-store.ts';
import { processEndpoint, sendRequestedDeliveries, type WorkerParts } from './process-endpoint.ts';
import { createBatchedResultWriter } from './record-results.ts';
import { createRequestSlots } from './request-slots.ts';

const DELIVERIES_PER_CLAIM = 50;
const SLOW_DELIVERIES_PER_CLAIM = 10;
const CLAIMING_MS = 250;
// Times in ms, much shorter than BullMQ's defaults, so that the jobs of a dead worker are queued again by the time its leases expire.
const CRASH_DETECTION = { lockDuration: 4000, stalledInterval: 2000 };

/** Starts three workers: for healthy endpoints, for endpoints that fail or are slow, and for requested deliveries. */
export function startWebhookWorkers(
  host: Host,
  users: ResourceGateway,
  settings: WebhookSettings,
  metrics: WebhookMetrics,
  check: CheckReadability,
): RunningWorker {
  const { concurrency, timeoutMs, allowPrivate, nameServers } = settings;
  const slowConcurrency = Math.max(1, Math.floor(concurrency / 2));
  const requestedConcurrency = Math.max(1, Math.floor(concurrency / 4));
  const halve = (count: number) => Math.max(1, Math.ceil(count / 2));
  const agentOptions = { allowPrivate, nameServers, connectTimeoutMs: timeoutMs, connections: concurrency };
  const agents = [createGuardedAgent(agentOptions), createGuardedAgent(agentOptions)] as const;
  const renewals = createEndpointLeaseRenewals(host, users, settings);
  let stopping = false;

  const parts: WorkerParts = {
    host,
    sender: {
      agent: agents[0],
      freshAgent: agents[1],
      keys: createSigningKeyCache(host.keyring),
      log: host.log,
      settings,
    },
    check,
    slots: createRequestSlots(concurrency, {
      slow: slowConcurrency,
      untried: slowConcurrency,
      slowOrUntried: Math.max(1, concurrency - halve(slowConcurrency)),
      requested: requestedConcurrency,
    }),
    recordResult: metrics.wrapRecorderToCountResults(createBatchedResultWriter(host, settings)),
    releaseLease: createLeaseReleaser(host, (endpoints) => enqueueEndpointsWithRequests(host.queues, endpoints)),
    maxInFlight: { fast: halve(concurrency), slow: halve(slowConcurrency) },
    chunk: { fast: Math.max(DELIVERIES_PER_CLAIM, halve(concurrency)), slow: SLOW_DELIVERIES_PER_CLAIM },
    claimingMs: CLAIMING_MS,
    renewals,
    claimTexts: createClaimStatements(usersSql(users)),
    globalRoles: globalRolesOf(settings),
    checkGlobalAccess: createGlobalAccessCheck(host, users, settings),
    concurrencyLimits: new Map(),
    waitingEndpoints: new Set(),
    detached: new Set(),
    requestedSenders: new Map(),
    isStopping: () => stopping,
  };
  const startLaneWorker = (lane: Lane, concurrentJobs: number) =>
    host.queues.work(
      LANE_QUEUES[lane],
      ({ name, data }) => {
        const endpoint = endpointOf(data);
        return (name as JobName) === 'retry'
          ? enqueueEndpointJobs(host.queues, [{ ...endpoint, lane }])
          : processEndpoint(parts, endpoint, lane);
      },
      concurrentJobs,
      CRASH_DETECTION,
    );
  const workers = [
    // Twice as many jobs as requests, so that endpoints that have not responded yet cannot occupy all jobs.
    startLaneWorker('fast', 2 * concurrency),
    startLaneWorker('slow', slowConcurrency),
    host.queues.work(
      REQUESTED_QUEUE,
      ({ data }) => sendRequestedDeliveries(parts, endpointOf(data)),
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
