import type { Host, ResourceGateway } from '../../../declare/host.ts';
import { createGuardedAgent } from '../../../platform/address-guard.ts';
import type { RunningWorker } from '../../../platform/queues.ts';
import { usersSql } from '../endpoints/endpoints-sql.ts';
import { createSigningKeys } from '../endpoints/signing.ts';
import type { WebhookMetrics } from '../metrics.ts';
import type { CheckReadability } from '../readability/readability.ts';
import { createGlobalGate } from '../readability/readability.ts';
import { globalRoles, type WebhookSettings } from '../settings.ts';
import { claimOne, claims } from './claim.ts';
import { type JobName, type Lane, QUEUES, wakeUp } from './endpoint-jobs.ts';
import { createEndTurns, createTurnRenewals, deliveryLeaseMs } from './lease-store.ts';
import { processEndpoint, type WorkerParts } from './process-endpoint.ts';
import { createResultRecorder } from './record-results.ts';
import { createRequestSlots } from './request-slots.ts';
import { REQUESTED_QUEUE } from './requested-deliveries.ts';
import { sendRequested } from './send-requested.ts';

const CHUNK = 50;
const SLOW_CHUNK = 10;
const SLICE_MS = 250;
// The jobs of a worker that died come back with its turns, not only after the time that is usual.
const WATCH = { lockDuration: 4000, stalledInterval: 2000 };

/** Starts sending: a worker for healthy endpoints, one for those that fail or take long, one for what somebody asked for. */
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
  const half = (count: number) => Math.max(1, Math.ceil(count / 2));
  const agentOptions = { allowPrivate, nameServers, connectTimeoutMs: timeoutMs, connections: concurrency };
  const agents = [createGuardedAgent(agentOptions), createGuardedAgent(agentOptions)] as const;
  const renewals = createTurnRenewals(host, users, settings);
  let stopping = false;

  const parts: WorkerParts = {
    host,
    sender: { agent: agents[0], freshAgent: agents[1], keys: createSigningKeys(host.keyring), log: host.log, settings },
    check,
    slots: createRequestSlots(concurrency, {
      slow: slowConcurrency,
      untried: slowConcurrency,
      doubtful: Math.max(1, concurrency - half(slowConcurrency)),
      requested: requestedConcurrency,
    }),
    recordResult: metrics.counted(createResultRecorder(host, settings)),
    endTurn: createEndTurns(host),
    share: { fast: half(concurrency), slow: half(slowConcurrency) },
    chunk: { fast: Math.max(CHUNK, half(concurrency)), slow: SLOW_CHUNK },
    sliceMs: SLICE_MS,
    deliveryLeaseMs: deliveryLeaseMs(settings),
    renewals,
    claimTexts: claims(usersSql(users)),
    claimOneText: claimOne(usersSql(users)),
    globalRoles: globalRoles(settings),
    globalGate: createGlobalGate(host, users, settings),
    windows: new Map(),
    waitingEndpoints: new Set(),
    waitingTurns: new Set(),
    isStopping: () => stopping,
  };
  const work = (lane: Lane, atOnce: number) =>
    host.queues.work(
      QUEUES[lane],
      ({ name, data }) =>
        (name as JobName) === 'retry'
          ? wakeUp(host.queues, [{ id: data.id, lane }])
          : processEndpoint(parts, data.id, lane),
      atOnce,
      WATCH,
    );
  const workers = [
    // As many again as can be in flight: those of untried endpoints must not fill them all.
    work('fast', 2 * concurrency),
    work('slow', slowConcurrency),
    host.queues.work(REQUESTED_QUEUE, ({ data }) => sendRequested(parts, data.id), requestedConcurrency, WATCH),
  ];

  return {
    async stop() {
      stopping = true;
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all(parts.waitingTurns);
      renewals.stop();
      await Promise.all(agents.map((agent) => agent.destroy()));
    },
  };
}
