import { deleteGoneDevices, type GoneDevice } from '../../accounts/devices/index.ts';
import { retryWhileUnavailable } from '../../platform/data/postgres/retry.ts';
import { createWorkLogger, type WorkLine } from '../../platform/observability/log-work.ts';
import type { Platform } from '../../platform/platform.ts';
import { SIMULATED_TRANSPORT } from '../message/transport.ts';
import type { FinishedSignals } from '../send/finished.ts';
import { enqueueChunks } from '../send/jobs.ts';
import { emitPushOutcome } from '../send/status.ts';
import { type DeviceResult, type SentChunk, storeResults } from './store-results.ts';

/** Minimum ms between two equal alarms about a transport in one process, because a misconfiguration affects every push. */
const ALARM_INTERVAL_MS = 5 * 60_000;

/** Evidence that a transport is misconfigured. */
interface MisconfigurationAlarm {
  transport: string;
  /** `gone`: many devices in a row are gone and none accepted. `refused`: the provider refused the credentials. */
  reason: 'gone' | 'refused';
  /** The provider's error for the last device. */
  error: string;
  /** Number of affected devices. */
  devices: number;
}

/** Creates the function that raises the alarm for wrong credentials, project or environment: it emits `push.misconfigured` and logs an error. */
function createMisconfigurationAlarm({
  events,
  log,
}: Pick<Platform, 'events' | 'log'>): (alarm: MisconfigurationAlarm) => void {
  const raised = new Map<string, number>();
  return (alarm) => {
    const key = `${alarm.reason} ${alarm.transport}`;
    const now = performance.now();
    if (now - (raised.get(key) ?? Number.NEGATIVE_INFINITY) < ALARM_INTERVAL_MS) return;
    raised.set(key, now);
    log.error(alarm, 'a push transport seems to be misconfigured: check its credentials; its devices are kept');
    events.emit('push.misconfigured', alarm);
  };
}

/** From this many gone devices in a row, assume a wrong project, environment or key, which makes all devices look gone. */
const MAX_GONE_IN_A_ROW = 19;

// Counts gone devices of a transport in a row. The next success of the transport deletes the row (store-results.ts); a count that is an
// hour old starts again.
const COUNT_GONE = `
  insert into push_gone as g (transport, devices) values ($1, $2)
  on conflict (transport) do update set last_at = now(),
    devices = case when g.last_at < now() - interval '1 hour' then 0 else g.devices end + excluded.devices
  returning devices`;

/** The devices of one transport that a batch of results reports as gone. */
interface GoneResults {
  transport: string;
  gone: readonly GoneDevice[];
  /** Whether the provider accepted a notification for another device of the same transport. */
  reached: boolean;
  /** The provider's error for the last device. */
  error: string;
}

/**
 * Creates the function that removes devices that a provider reports as gone. From 20 gone devices in a row without a success, it
 * keeps all devices until the transport succeeds again, and raises the alarm. The count covers all processes.
 */
function createGoneDeviceRemover(
  { database }: Pick<Platform, 'database'>,
  alarm: ReturnType<typeof createMisconfigurationAlarm>,
) {
  return async ({ transport, gone, reached, error }: GoneResults): Promise<void> => {
    if (!reached) {
      const values = [transport, gone.length];
      const rows = await database.write<[number]>({ name: 'push_gone', text: COUNT_GONE, values });
      const devices = rows[0]![0];
      if (devices > MAX_GONE_IN_A_ROW) {
        alarm({ transport, reason: 'gone', error, devices });
        return;
      }
    }
    await deleteGoneDevices(database, gone);
  };
}

/** What the result handler needs. */
type ResultHandlerDependencies = Pick<
  Platform,
  'env' | 'settings' | 'log' | 'metrics' | 'database' | 'queues' | 'events'
>;

/** Creates the log line of a sent chunk: how many of its devices accepted, will be retried, are gone or failed. */
function createChunkLogLine({ chunk, results, sentAt }: SentChunk, isKept: boolean): WorkLine {
  const ok = results.filter((result) => result.ok).length;
  const retry = results.filter((result) => result.nextRetryAt !== undefined).length;
  const unregistered = results.filter((result) => result.unregistered).length;
  const failed = results.length - ok - retry - unregistered;
  const outcome = retry > 0 ? 'retry' : failed > 0 ? 'failed' : 'sent';
  return {
    push: chunk.pushId,
    chunk: chunk.chunk,
    attempt: chunk.attempt,
    transport: chunk.transport,
    outcome: isKept ? outcome : 'lost',
    devices: results.length,
    ok,
    retry,
    unregistered,
    failed,
    durationMs: Date.now() - sentAt,
  };
}

/**
 * Creates the function that handles the results of a transport: it stores them, removes gone devices, schedules retries and
 * emits events.
 *
 * @param installed names of the transports of this app
 */
export function createResultHandler(
  parts: ResultHandlerDependencies,
  installed: ReadonlySet<string>,
  finished: FinishedSignals,
) {
  const { env, log, database, queues, events } = parts;
  const logWork = createWorkLogger(parts);
  const alarm = createMisconfigurationAlarm(parts);
  const removeGoneUnlessMisconfigured = createGoneDeviceRemover(parts, alarm);

  async function removeGoneDevices(transport: string, kept: readonly SentChunk[]): Promise<void> {
    const gone = kept.flatMap(({ chunk, results }) =>
      results.filter((result) => result.unregistered).map((result) => ({ ...result, createdAt: chunk.createdAt })),
    );
    if (gone.length === 0) return;
    await removeGoneUnlessMisconfigured({
      transport,
      gone: gone.map(({ deviceId, raw, createdAt, goneSince = createdAt }) => ({
        id: deviceId,
        tokenHash: raw?.hash ?? null,
        platform: raw?.platform ?? null,
        seenUntil: new Date(Math.min(goneSince, createdAt)).toISOString(),
      })),
      // One success shows that the transport's credentials are right. The simulated transport has none.
      reached: transport === SIMULATED_TRANSPORT || kept.some(({ results }) => results.some((result) => result.ok)),
      error: gone.at(-1)!.error ?? '',
    });
  }

  /** Removes gone devices. An error is only logged, so that retries and events still happen; the next push to them tries again. */
  async function tryToRemoveGoneDevices(transport: string, kept: readonly SentChunk[]): Promise<void> {
    try {
      await removeGoneDevices(transport, kept);
    } catch (error) {
      log.error({ err: error, transport }, 'could not remove unregistered devices; the next push to them tries again');
    }
  }

  function alarmIfCredentialsRefused(transport: string, results: readonly DeviceResult[]): void {
    const refused = results.filter((result) => result.misconfigured);
    if (refused.length === 0) return;
    alarm({ transport, reason: 'refused', error: refused.at(-1)!.error ?? '', devices: refused.length });
  }

  function emitReceiptsOfRetries({ chunk, results }: SentChunk): void {
    for (const { tries, nextRetryAt, deviceId, ok, error = null, unregistered = false } of results) {
      if (tries === 0 || nextRetryAt !== undefined) continue;
      events.emit('push.receipt', { id: chunk.pushId, device: deviceId, ok, error: ok ? null : error, unregistered });
    }
  }

  function scheduleRetries(kept: readonly SentChunk[]): Promise<void> {
    const retries = kept.flatMap(({ chunk: { pushId, chunk, transport, bulk, attempt, devices, trace }, dueAt }) =>
      dueAt === undefined
        ? []
        : [
            {
              pushId,
              chunk,
              transport,
              bulk,
              size: devices.length,
              trace,
              retry: { attempt, delay: Math.max(0, dueAt - Date.now()) },
            },
          ],
    );
    return enqueueChunks(queues, installed, retries);
  }

  /** Handles the results of chunks that one transport returned together. */
  return async (transport: string | null, chunks: readonly SentChunk[]): Promise<void> => {
    const captured = transport === null && env.nodeEnv !== 'production';
    const { kept, outcomes } = await retryWhileUnavailable(database, () =>
      storeResults(database, chunks, { captured, transport }),
    );
    const results = kept.flatMap((one) => one.results);
    if (transport !== null) {
      await tryToRemoveGoneDevices(transport, kept);
      alarmIfCredentialsRefused(transport, results);
    }
    await scheduleRetries(kept);
    for (const one of kept) emitReceiptsOfRetries(one);
    for (const outcome of outcomes) {
      emitPushOutcome(events, outcome);
      finished.announceFinished(outcome.id);
    }
    const keptChunks = new Set(kept);
    for (const one of chunks) {
      const line = createChunkLogLine(one, keptChunks.has(one));
      logWork('push chunk', line, { sampled: line.outcome === 'sent' });
    }
  };
}
