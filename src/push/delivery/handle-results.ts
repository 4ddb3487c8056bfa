import { type GoneDevice, removeDevices } from '../../accounts/devices/index.ts';
import type { Platform } from '../../platform/platform.ts';
import { retryTransient } from '../../platform/postgres/retry.ts';
import type { FinishedSignals } from '../send/finished.ts';
import { emitOutcome } from '../status.ts';
import { SIMULATED } from '../transport.ts';
import { addChunks } from './jobs.ts';
import { type DeviceResult, type SentChunk, storeResults } from './store-results.ts';

/** Each transport raises each alarm once in so many ms in a process: it is about all devices, and comes back with every push. */
const QUIET_MS = 5 * 60_000;

/** What is wrong with how a transport is set up. */
interface Misconfigured {
  transport: string;
  /** `gone`: device after device is gone and none is reached. `refused`: the provider says so itself. */
  reason: 'gone' | 'refused';
  /** What the provider says of the last of them. */
  error: string;
  /** How many devices that was said of. */
  devices: number;
}

/** Raises the alarm that a transport's credentials, project or environment are wrong: `push.misconfigured`, and an error in the log. */
function createAlarm({ events, log }: Pick<Platform, 'events' | 'log'>): (alarm: Misconfigured) => void {
  const raised = new Map<string, number>();
  return (alarm) => {
    const key = `${alarm.reason} ${alarm.transport}`;
    const now = performance.now();
    if (now - (raised.get(key) ?? Number.NEGATIVE_INFINITY) < QUIET_MS) return;
    raised.set(key, now);
    log.error(alarm, 'a push transport seems to be misconfigured; its devices are kept');
    events.emit('push.misconfigured', alarm);
  };
}

/** So many devices in a row are not gone: a wrong project, environment or key makes all of them look so. */
const MAX_IN_A_ROW = 19;

// The row is removed by the next success of the transport (store-results.ts); what was long ago says nothing of now.
const COUNT = `
  insert into push_gone as g (transport, devices) values ($1, $2)
  on conflict (transport) do update set last_at = now(),
    devices = case when g.last_at < now() - interval '1 hour' then 0 else g.devices end + excluded.devices
  returning devices`;

/** Answers of a transport, as they came together. */
interface GoneResults {
  transport: string;
  gone: readonly GoneDevice[];
  /** Whether a device of the same transport accepted. */
  reached: boolean;
  /** What the provider says of the last one. */
  error: string;
}

/**
 * Removes devices that a provider calls gone, unless 20 or more in a row are and none is reached: then all are kept, until the
 * transport reaches one again, and the alarm is raised. The row is counted over all processes.
 *
 * @returns how many were removed
 */
function createRemoveGone({ database }: Pick<Platform, 'database'>, alarm: ReturnType<typeof createAlarm>) {
  return async ({ transport, gone, reached, error }: GoneResults): Promise<number> => {
    if (!reached) {
      const values = [transport, gone.length];
      const rows = await database.write<[number]>({ name: 'push_gone', text: COUNT, values });
      const devices = rows[0]![0];
      if (devices > MAX_IN_A_ROW) {
        alarm({ transport, reason: 'gone', error, devices });
        return 0;
      }
    }
    return removeDevices(database, gone);
  };
}

/** ms between attempts to store what was sent while Postgres is away: unstored it is sent again. After the last its claim runs out. */
const STORE_RETRY_MS = [200, 1000, 3000, 10_000, 20_000];

/** What it works with. */
type ResultHandlerParts = Pick<Platform, 'env' | 'log' | 'database' | 'queues' | 'events'>;

/**
 * Makes what follows the answers of a transport: they are stored, devices that are gone removed, further tries scheduled, and
 * listeners told.
 *
 * @param installed names of the transports of this app
 */
export function createResultHandler(
  parts: ResultHandlerParts,
  installed: ReadonlySet<string>,
  finished: FinishedSignals,
) {
  const { env, log, database, queues, events } = parts;
  const alarm = createAlarm(parts);
  const removeGone = createRemoveGone(parts, alarm);

  async function remove(transport: string, kept: readonly SentChunk[]): Promise<number> {
    const gone = kept.flatMap(({ chunk, results }) =>
      results.filter((result) => result.unregistered).map((result) => ({ ...result, createdAt: chunk.createdAt })),
    );
    if (gone.length === 0) return 0;
    return removeGone({
      transport,
      gone: gone.map(({ deviceId, raw, createdAt, goneSince = createdAt }) => ({
        id: deviceId,
        tokenHash: raw?.hash ?? null,
        platform: raw?.platform ?? null,
        seenUntil: new Date(Math.min(goneSince, createdAt)).toISOString(),
      })),
      // Nothing can be wrong with how that is set up.
      reached: transport === SIMULATED || kept.some(({ results }) => results.some((result) => result.ok)),
      error: gone.at(-1)!.error ?? '',
    });
  }

  /** Devices that cannot be removed now are found gone by the next send; what else follows the answers does not wait for that. */
  async function tryToRemove(transport: string, kept: readonly SentChunk[]): Promise<number> {
    try {
      return await remove(transport, kept);
    } catch (error) {
      log.error({ err: error, transport }, 'devices that are gone were not removed');
      return 0;
    }
  }

  function alarmIfRefused(transport: string, results: readonly DeviceResult[]): void {
    const refused = results.filter((result) => result.misconfigured);
    if (refused.length === 0) return;
    alarm({ transport, reason: 'refused', error: refused.at(-1)!.error ?? '', devices: refused.length });
  }

  function emitReceipts({ chunk, results }: SentChunk): void {
    for (const { tries, retryAt, deviceId, ok, error = null, unregistered = false } of results) {
      if (tries === 0 || retryAt !== undefined) continue;
      events.emit('push.receipt', { id: chunk.pushId, device: deviceId, ok, error: ok ? null : error, unregistered });
    }
  }

  function scheduleRetries(kept: readonly SentChunk[]): Promise<void> {
    const again = kept.flatMap(({ chunk: { pushId, chunk, transport, bulk, attempt, devices }, dueAt }) =>
      dueAt === undefined
        ? []
        : [
            {
              pushId,
              chunk,
              transport,
              bulk,
              size: devices.length,
              again: { attempt, delay: Math.max(0, dueAt - Date.now()) },
            },
          ],
    );
    return addChunks(queues, installed, again);
  }

  /** Handles chunks of one transport that were answered at about the same time. */
  return async (transport: string | null, chunks: readonly SentChunk[]): Promise<void> => {
    const captured = transport === null && env.nodeEnv !== 'production';
    const { kept, outcomes } = await retryTransient(
      () => storeResults(database, chunks, { captured, transport }),
      STORE_RETRY_MS,
    );
    const results = kept.flatMap((one) => one.results);
    const removed = transport === null ? 0 : await tryToRemove(transport, kept);
    if (transport !== null) alarmIfRefused(transport, results);
    await scheduleRetries(kept);
    for (const one of kept) emitReceipts(one);
    for (const outcome of outcomes) {
      emitOutcome(events, outcome);
      finished.announce(outcome.id);
    }
    log.info(
      {
        transport,
        push: chunks.length === 1 ? chunks[0]!.chunk.pushId : undefined,
        chunks: chunks.length,
        lost: chunks.length - kept.length,
        devices: results.length,
        ok: results.filter((result) => result.ok).length,
        again: results.filter((result) => result.retryAt !== undefined).length,
        removed,
        finished: outcomes.length,
        ms: Date.now() - Math.min(...chunks.map((one) => one.sentAt)),
      },
      'push answers',
    );
  };
}
