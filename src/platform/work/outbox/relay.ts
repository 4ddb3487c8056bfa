import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { getOrCreateAvailability } from '../../data/postgres/availability.ts';
import type { Database } from '../../data/postgres/database.ts';
import { isConnectionError, isTransient } from '../../data/postgres/errors.ts';
import type { RedisConnections } from '../../data/redis/connections.ts';
import type { Logger } from '../../observability/log.ts';
import { type LogWork, startTimer } from '../../observability/log-work.ts';
import type { Tracing } from '../../observability/tracing.ts';
import { createBatches } from './batches.ts';
import type { OutboxConsumer } from './consumer.ts';
import { wakeChannel } from './wake.ts';

/**
 * Periodic work of the relay, such as finding overdue rows or removing old ones. It runs in every relay, so it must be safe to run
 * concurrently.
 */
export interface Sweep {
  /** The name in log lines. */
  name: string;
  /** ms between runs. */
  everyMs: number;
  /**
   * ms from the end of an outage of Postgres to the next run. Default: 3000, in which live workers store the results of their work and
   * renew their leases. Reclaiming the leases of dead workers may wait longer, because a live worker may be slow.
   */
  afterOutageMs?: number;
  /** Resolves with the number of rows handled. Runs that handled any rows are logged. */
  run(): Promise<number> | Promise<void>;
}

const SWEEP_AFTER_OUTAGE_MS = 3000;

/** ms without progress, besides the wait between two checks, after which the relay counts as stuck. */
const STUCK_MS = 60_000;

/** A relay that is running. */
export interface RunningRelay {
  /** Finishes the batches in progress and stops. */
  stop(): Promise<void>;
  /** Whether the relay still claims outbox rows. False if it is stuck, for example in a consumer that never ends. */
  isRunning(): boolean;
}

interface RelayOptions {
  database: Database;
  /** Delivers the wake-ups. */
  redis: Pick<RedisConnections, 'subscribe'>;
  prefix: string;
  consumers: readonly OutboxConsumer[];
  sweeps: readonly Sweep[];
  log: Logger;
  logWork: LogWork;
  tracing: Tracing;
  settings: { pollMs: number; batch: number; streams: number };
}

/** Starts claiming outbox rows in batches, concurrently in a few streams, and running the sweeps. */
export function startRelay(options: RelayOptions): RunningRelay {
  const { database, log, logWork, settings } = options;
  const availability = getOrCreateAvailability(database);
  const stopping = new AbortController();
  const stopped = once(stopping.signal, 'abort');
  let wakeUp: () => void = () => undefined;
  let woken = false;
  let progressedAt = performance.now();
  /** During an outage of Postgres and for a moment after it: resolves when sweeps may run again. */
  let sweepsHeldUp: Promise<void> | undefined;

  const batches = createBatches({
    ...options,
    batch: settings.batch,
    onProgress: () => {
      progressedAt = performance.now();
    },
  });

  /** Waits for a wake-up or the stop, at most `ms`. Returns at once if a wake-up has arrived since the last wait. */
  async function waitForWakeUp(ms: number): Promise<void> {
    if (!woken && !stopping.signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        wakeUp = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    woken = false;
  }

  async function drainOutbox(): Promise<void> {
    const processFullBatches = async () => {
      while (!stopping.signal.aborted && (await batches.processBatch()) === settings.batch);
    };
    // Try one batch first: while there is little to do, a second stream would find nothing.
    if ((await batches.processFewRowsOrBatch()) < settings.batch) return;
    await Promise.all(Array.from({ length: settings.streams }, processFullBatches));
  }

  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);

  /** Holds up the sweeps until Postgres is available, and a moment longer. */
  async function waitAfterOutage(): Promise<void> {
    if (!(await availability.isAvailable())) await Promise.race([availability.waitUntilAvailable(), stopped]);
    await pause(SWEEP_AFTER_OUTAGE_MS);
    sweepsHeldUp = undefined;
  }

  /** If an error is part of an outage of Postgres, waits until the outage ends or the relay stops. Returns whether it was. */
  async function waitForOutageToEnd(error: unknown): Promise<boolean> {
    // The outage may be over already, but the leases of live workers may have expired in it.
    if (isConnectionError(error)) sweepsHeldUp ??= waitAfterOutage();
    if (!isTransient(error) || (await availability.isAvailable())) return false;
    sweepsHeldUp ??= waitAfterOutage();
    progressedAt = Number.POSITIVE_INFINITY;
    await Promise.race([availability.waitUntilAvailable(), stopped]);
    progressedAt = performance.now();
    return true;
  }

  async function runRelayLoop(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await drainOutbox();
        await waitForWakeUp(settings.pollMs);
      } catch (error) {
        log.error({ err: error }, 'the relay could not claim outbox events');
        if (!(await waitForOutageToEnd(error))) await pause(settings.pollMs);
      }
    }
  }

  async function repeatSweepUntilStopped(sweep: Sweep): Promise<void> {
    while (!stopping.signal.aborted) {
      const elapsed = startTimer();
      let isInterrupted = false;
      try {
        const rows = (await sweep.run()) ?? 0;
        if (rows > 0) logWork('sweep', { outcome: 'done', sweep: sweep.name, rows, durationMs: elapsed() });
      } catch (error) {
        const line = { outcome: 'failed', sweep: sweep.name, durationMs: elapsed(), err: error };
        logWork('sweep', line, { level: 'error' });
        isInterrupted = await waitForOutageToEnd(error);
      }
      if (!isInterrupted) await pause(sweep.everyMs);
      while (sweepsHeldUp !== undefined) {
        await sweepsHeldUp;
        await pause((sweep.afterOutageMs ?? SWEEP_AFTER_OUTAGE_MS) - SWEEP_AFTER_OUTAGE_MS);
      }
    }
  }

  const onWakeUp = () => {
    woken = true;
    wakeUp();
  };
  const wakeUps = options.redis.subscribe(wakeChannel(options.prefix), onWakeUp);
  // Wake-ups sent before the subscription are lost, so check once more.
  void wakeUps.started.then(onWakeUp);
  const running = Promise.all([runRelayLoop(), ...options.sweeps.map(repeatSweepUntilStopped)]);
  return {
    isRunning: () => performance.now() - progressedAt < settings.pollMs + STUCK_MS,
    async stop() {
      stopping.abort();
      wakeUp();
      await running;
      wakeUps.stop();
    },
  };
}
