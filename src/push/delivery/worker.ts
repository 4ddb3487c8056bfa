import { createFindDevices } from '../../accounts/devices/index.ts';
import type { UserTable } from '../../accounts/users/user-state.ts';
import { withTimeoutFallback } from '../../platform/helpers/concurrency/deadline.ts';
import { StartupError } from '../../platform/helpers/config-errors.ts';
import type { Platform } from '../../platform/platform.ts';
import type { RunningWorker } from '../../platform/work/queues/queues.ts';
import { runJobInSpan } from '../../platform/work/queues/tracing.ts';
import type { Transport, TransportResult } from '../message/transport.ts';
import { AudiencePages } from '../send/audience-pages.ts';
import type { FinishedSignals } from '../send/finished.ts';
import {
  AUDIENCE_QUEUE,
  enqueueChunks,
  PUSH_QUEUE,
  parseAudienceJobId,
  parseChunkJobId,
  queueOfTransport,
} from '../send/jobs.ts';
import { emitPushOutcome } from '../send/status.ts';
import { ChunkSender } from './chunk-sender.ts';
import { createChunkClaimer, createClaimRenewals } from './claim-chunks.ts';
import { createResultHandler } from './handle-results.ts';

/** Concurrent jobs of each queue. The number is high, because the sender combines the chunks of many small pushes. */
const CONCURRENT_JOBS = 500;
/** Concurrent lookups of audiences. */
const CONCURRENT_AUDIENCES = 2;
/** Maximum ms that the start waits for a provider that does not respond. */
const CHECK_TIMEOUT_MS = 10_000;

/** What the push worker needs. */
export type PushWorkerDependencies = Pick<
  Platform,
  'env' | 'settings' | 'log' | 'metrics' | 'database' | 'queues' | 'events' | 'tracing'
>;

/**
 * Asks each transport whether its provider accepts the credentials.
 *
 * @throws StartupError that names each transport whose credentials are refused
 */
async function assertCredentialsAccepted(transports: readonly Transport[], log: Platform['log']): Promise<void> {
  const errors: string[] = [];
  const checkCredentials = async (transport: Transport) => {
    try {
      if ((await withTimeoutFallback(Promise.resolve(transport.check?.()), CHECK_TIMEOUT_MS, 'late')) === 'late')
        log.warn(
          { transport: transport.name },
          'a push provider did not respond in time, so its credentials were not checked',
        );
    } catch (error) {
      errors.push(`transport "${transport.name}": ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  await Promise.all(transports.map(checkCredentials));
  if (errors.length > 0) throw new StartupError('Push providers refuse the credentials:', errors);
}

/**
 * Sends the chunks of pushes, stores the results, and looks up large audiences.
 *
 * @param users used to send to devices of active users only; undefined in an app without accounts
 * @throws StartupError if a provider refuses its credentials
 */
export async function startPushWorker(
  parts: PushWorkerDependencies,
  transports: readonly Transport[],
  finished: FinishedSignals,
  users: UserTable | undefined,
): Promise<RunningWorker> {
  const { env, settings, log, database, queues, events, tracing } = parts;
  await assertCredentialsAccepted(transports, log);
  const byName = new Map(transports.map((transport) => [transport.name, transport]));
  const installed = new Set(byName.keys());
  const simulated = env.nodeEnv !== 'production';
  const resultWithoutTransport: TransportResult = simulated
    ? { ok: true }
    : { ok: false, error: 'No push transport accepts this device' };
  const findDevices = createFindDevices(users);
  const claimChunks = createChunkClaimer(users);
  let stopping = false;

  function getTransportOrResult(name: string | null): Transport | TransportResult {
    if (name === null) return resultWithoutTransport;
    const transport = byName.get(name);
    if (transport !== undefined) return transport;
    log.error({ transport: name }, 'this worker lacks the transport of a push: run it with the same app as the sender');
    return { ok: false, error: `The worker has no transport named "${name}"` };
  }

  async function storeAndEnqueueAudiencePages(pushId: string): Promise<void> {
    const pages = new AudiencePages(database, pushId, { transports, log, simulated, findDevices });
    while (!stopping) {
      const page = await pages.storeNextPage();
      if (page === undefined) return;
      await enqueueChunks(
        queues,
        installed,
        page.chunks.map((chunk) => ({ ...chunk, pushId, bulk: true })),
      );
      if (page.outcome !== undefined) {
        emitPushOutcome(events, page.outcome);
        finished.announceFinished(pushId);
      }
      if (!page.more) return;
    }
  }

  const claims = createClaimRenewals(parts);
  const handleResults = createResultHandler(parts, installed, finished);
  const senders = [PUSH_QUEUE, ...[...installed].map((name) => queueOfTransport(name, installed))].map((queue) => {
    const sender = new ChunkSender({
      database,
      log,
      tracing,
      claims,
      claimChunks,
      handleResults,
      getTransportOrResult,
    });
    const running = queues.work(
      queue,
      async ({ data }) => {
        const key = parseChunkJobId(data.id);
        if (key !== undefined) await sender.sendChunk({ ...key, trace: data.trace });
      },
      CONCURRENT_JOBS,
    );
    return { sender, running };
  });
  const audiences = queues.work(
    AUDIENCE_QUEUE,
    async ({ data }) => {
      const pushId = parseAudienceJobId(data.id);
      if (pushId === undefined) return;
      await runJobInSpan(tracing, AUDIENCE_QUEUE, data, () => storeAndEnqueueAudiencePages(pushId));
    },
    CONCURRENT_AUDIENCES,
  );

  return {
    async stop() {
      stopping = true;
      for (const { sender } of senders) sender.dropUnclaimedChunks();
      const giveUp = setTimeout(() => {
        for (const { sender } of senders) sender.abandonSends();
      }, settings.graceMs);
      await Promise.all([audiences.stop(), ...senders.map(({ running }) => running.stop())]);
      clearTimeout(giveUp);
      claims.stop();
      await Promise.all(transports.map((transport) => transport.close?.()));
    },
  };
}
