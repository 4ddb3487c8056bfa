import { getHeapStatistics } from 'node:v8';
import {
  type AddToBatch,
  createGuardedAgent,
  type ExtensionHost,
  type JobData,
  type QueueWorker,
  type RunningWorker,
} from '../../../../extension/index.ts';
import { Settled } from '../../../../platform/data/postgres/settled.ts';
import {
  enqueueEndpointJobs,
  enqueueEndpointsWithRequests,
  type JobName,
  LANE_QUEUES,
  type Lane,
  REQUESTED_QUEUE,
  readJobEndpoint,
} from '../../endpoints/endpoint-jobs.ts';
import { ownersSql } from '../../endpoints/endpoints-sql.ts';
import { decryptHeaders } from '../../endpoints/headers.ts';
import type { EndpointOwners } from '../../endpoints/owners.ts';
import { createSigningKeyCache } from '../../endpoints/signing.ts';
import { listGlobalRoles, type WebhookSettings } from '../../settings/settings.ts';
import type { CheckReadability } from '../readability/readability.ts';
import { createGlobalAccessCheck } from '../readability/readability.ts';
import type { Sender } from './attempt.ts';
import { computeBodyBytes, createBodyBudget } from './body-budget.ts';
import { createClaimStatements } from './claim.ts';
import { createEndpointLeaseRenewals, createLeaseReleaser, createLeaseRows } from './lease-store.ts';
import type { JobCapacity } from './linger.ts';
import { processEndpoint, sendRequestedDeliveries, type WebhookWorkerDependencies } from './process-endpoint.ts';
import { createLoadCheck } from './process-load.ts';
import { type CompletedAttempt, createBatchedResultWriter } from './record-results.ts';
import { computeSlotLimits, createRequestSlots, type RequestSlots } from './request-slots.ts';

const DELIVERIES_PER_CLAIM = 100;
const SLOW_DELIVERIES_PER_CLAIM = 10;
const CLAIMING_MS = 250;
/** Concurrent requests of a worker that has got no response yet. */
const START_CONCURRENCY = 10;
// Times in ms, much shorter than BullMQ's defaults, so that the jobs of a dead worker are queued again by the time its leases expire.
const CRASH_DETECTION = { lockDuration: 4000, stalledInterval: 2000 };

/** The jobs of the fast lane. */
interface FastJobs extends JobCapacity {
  /** Returns how many jobs may run, with those that wait for new deliveries. */
  countAllowed(): number;
  run(job: () => Promise<void>): Promise<void>;
}

/** @param onChange called when the number of allowed jobs may have changed */
function createFastJobs(slots: RequestSlots, onChange: () => void): FastJobs {
  let running = 0;
  let lingering = 0;
  // Twice as many jobs as requests, so that endpoints that have not responded yet cannot occupy all jobs.
  const countWorking = () => 2 * slots.countSlots('fast');
  return {
    countAllowed: () => countWorking() + lingering,
    isFull: (woken = 0) => running - lingering + woken >= countWorking(),
    countLingering: () => lingering,
    addLingering(count) {
      lingering += count;
      onChange();
    },
    async run(job) {
      running += 1;
      try {
        await job();
      } finally {
        running -= 1;
      }
    },
  };
}

/** The metrics of attempts to deliver webhooks. */
export interface WebhookMetrics {
  /** Wraps the function that records results of attempts, so that the results are also counted in the metrics. */
  wrapRecorderToCountResults(recordResult: AddToBatch<CompletedAttempt>): AddToBatch<CompletedAttempt>;
}

/** The slots of a worker, which begins with few and gets more while receivers respond well. @param concurrency their maximum number */
function createWorkerSlots(concurrency: number): RequestSlots {
  const startSize = Math.min(concurrency, START_CONCURRENCY);
  const maxLimits = computeSlotLimits(concurrency);
  return createRequestSlots(
    startSize,
    computeSlotLimits(startSize),
    { size: concurrency, limits: maxLimits },
    createLoadCheck(),
  );
}

/** What a worker creates before its parts. */
interface WorkerBasis extends Pick<WebhookWorkerDependencies, 'check' | 'slots' | 'jobs' | 'isStopping'> {
  metrics: WebhookMetrics;
  /** The second one opens a new connection for each request. */
  agents: readonly [agent: Sender['agent'], freshAgent: Sender['freshAgent']];
}

function createWorkerParts(
  host: ExtensionHost,
  owners: EndpointOwners,
  settings: WebhookSettings,
  { metrics, check, agents, slots, jobs, isStopping }: WorkerBasis,
): WebhookWorkerDependencies {
  const { concurrency } = settings;
  const leaseRows = createLeaseRows();
  const halve = (count: number) => Math.max(1, Math.ceil(count / 2));
  return {
    host,
    sender: {
      agent: agents[0],
      freshAgent: agents[1],
      keys: createSigningKeyCache(host.keyring),
      readHeaders: (endpointId, stored) => decryptHeaders(host.keyring, endpointId, stored),
      log: host.log,
      settings,
    },
    check,
    slots,
    recordResult: metrics.wrapRecorderToCountResults(createBatchedResultWriter(host, settings)),
    releaseLease: createLeaseReleaser(host, leaseRows, (endpoints) =>
      enqueueEndpointsWithRequests(host.queues, endpoints),
    ),
    maxInFlight: { fast: halve(concurrency), slow: halve(computeSlotLimits(concurrency).slow) },
    chunk: { fast: DELIVERIES_PER_CLAIM, slow: SLOW_DELIVERIES_PER_CLAIM },
    bodies: createBodyBudget(computeBodyBytes(getHeapStatistics().heap_size_limit)),
    claimingMs: CLAIMING_MS,
    renewals: createEndpointLeaseRenewals(host, owners, settings, leaseRows),
    claimStatements: createClaimStatements(ownersSql(owners)),
    leaseRows,
    settled: new Settled(),
    globalRoles: listGlobalRoles(settings),
    checkGlobalAccess: createGlobalAccessCheck(host, owners.users, settings),
    pacesOfGoodEndpoints: new Map(),
    activeLeases: new Map(),
    claimingEndpoints: new Map(),
    jobs,
    waitingEndpoints: new Set(),
    detached: new Set(),
    isStopping,
  };
}

/** @param adapt called before each job, so that the numbers of concurrent jobs follow the slots */
function startQueueWorkers(
  host: ExtensionHost,
  parts: WebhookWorkerDependencies,
  slots: RequestSlots,
  jobs: FastJobs,
  adapt: () => void,
) {
  const startWorker = (
    queue: string,
    process: (name: JobName, data: JobData) => Promise<void>,
    countJobs: () => number,
  ) => {
    const worker: QueueWorker = host.queues.work(
      queue,
      ({ name, data }) => {
        adapt();
        return process(name as JobName, data);
      },
      countJobs(),
      CRASH_DETECTION,
    );
    return { ...worker, adapt: () => worker.setConcurrency(countJobs()) };
  };
  const startLaneWorker = (lane: Lane, run: FastJobs['run'], countJobs: () => number) =>
    startWorker(
      LANE_QUEUES[lane],
      (name, data) =>
        name === 'retry'
          ? enqueueEndpointJobs(host.queues, [{ ...readJobEndpoint(data), lane }])
          : run(() => processEndpoint(parts, readJobEndpoint(data), lane)),
      countJobs,
    );
  // Twice as many jobs as slots, too: the slots grow only while calls wait for them.
  return [
    startLaneWorker('fast', jobs.run, jobs.countAllowed),
    startLaneWorker(
      'slow',
      (job) => job(),
      () => 2 * slots.countSlots('slow'),
    ),
    startWorker(
      REQUESTED_QUEUE,
      (_, data) => sendRequestedDeliveries(parts, readJobEndpoint(data)),
      () => 2 * slots.countSlots('requested'),
    ),
  ];
}

/** Passes announcements of new and of requested deliveries on to the leases of their endpoints. */
function listenForDeliveries({ queues }: ExtensionHost, parts: WebhookWorkerDependencies) {
  return [
    queues.listen(LANE_QUEUES.fast, (id) => {
      const claiming = parts.claimingEndpoints.get(id);
      if (claiming !== undefined) claiming.hasNew = true;
      parts.activeLeases.get(id)?.onNewDeliveries();
    }),
    queues.listen(REQUESTED_QUEUE, (id) => parts.activeLeases.get(id)?.sendRequested()),
  ];
}

/** Starts three workers: for healthy endpoints, for endpoints that fail or are slow, and for requested deliveries. */
export function startWebhookWorkers(
  host: ExtensionHost,
  owners: EndpointOwners,
  settings: WebhookSettings,
  metrics: WebhookMetrics,
  check: CheckReadability,
): RunningWorker {
  const { concurrency, timeoutMs, allowPrivate, nameServers } = settings;
  const agentOptions = { allowPrivate, nameServers, connectTimeoutMs: timeoutMs, connections: concurrency };
  const agents = [createGuardedAgent(agentOptions), createGuardedAgent(agentOptions)] as const;
  const slots = createWorkerSlots(concurrency);
  const jobs = createFastJobs(slots, () => adaptWorkers());
  let stopping = false;

  const parts = createWorkerParts(host, owners, settings, {
    metrics,
    check,
    agents,
    slots,
    jobs,
    isStopping: () => stopping,
  });
  const workers = startQueueWorkers(host, parts, slots, jobs, () => adaptWorkers());
  function adaptWorkers(): void {
    for (const worker of workers) worker.adapt();
  }
  const stopListening = listenForDeliveries(host, parts);

  return {
    async stop() {
      stopping = true;
      for (const stop of stopListening) stop();
      for (const lease of parts.activeLeases.values()) lease.endLinger();
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all(parts.detached);
      parts.renewals.stop();
      await Promise.all(agents.map((agent) => agent.destroy()));
    },
  };
}
