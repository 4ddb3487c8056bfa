import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { getOrCreateAvailability } from '../../data/postgres/availability.ts';
import { createCostLimit } from '../../data/postgres/cost-limit.ts';
import type { Database } from '../../data/postgres/database.ts';
import type { RedisConnections } from '../../data/redis/connections.ts';
import type { Logger } from '../../observability/log.ts';
import { type LogWork, startTimer } from '../../observability/log-work.ts';
import type { Tracing } from '../../observability/tracing.ts';
import { createBatches, HAS_DUE_ROWS } from './batches.ts';
import { Conditions } from './conditions.ts';
import type { OutboxConsumer } from './consumer.ts';
import { Outages } from './outages.ts';
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
  /**
   * An SQL condition without parameters that is true if a run may find anything. The relay checks the conditions of all sweeps in one statement,
   * at least every `everyMs`, and runs a sweep only if its condition is true. Default: true. For a select: `findsRowSql`.
   */
  condition?: string;
  /** Called after each check of the conditions. @param durationMs how long Postgres took, for example because it hung */
  onChecked?(durationMs: number): void;
  /** Resolves with the number of rows handled. Runs that handled any rows are logged. */
  run(): Promise<number> | Promise<void>;
}

/**
 * ms after which the relay reads the outbox even if no check of the conditions has found rows, unless `pollMs` is longer. A check reads the
 * tables of all sweeps, so it waits for a migration that has locked one of them.
 */
const READ_EVERY_MS = 10_000;

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

/** What the loops of a relay share. The conditions are those of the outbox and, in their order, of the sweeps. */
interface SweepLoop extends Pick<RelayOptions, 'database' | 'sweeps' | 'log' | 'logWork' | 'settings'> {
  conditions: Conditions;
  outages: Outages;
  pause(ms: number): Promise<unknown>;
  stopping: AbortSignal;
}

/**
 * Checks the conditions until the relay stops. If one of them cannot be checked, the others must not wait for it. While checks are expensive,
 * because vacuum cannot remove dead rows, all sweeps run: their own searches begin behind these rows.
 */
async function repeatChecks({ database, sweeps, log, settings, ...loop }: SweepLoop): Promise<void> {
  const limit = createCostLimit();
  const { conditions, outages, pause, stopping } = loop;
  const conditional = sweeps.filter(({ condition }) => condition !== undefined);
  const everyMs = Math.min(settings.pollMs, ...conditional.map((sweep) => sweep.everyMs));
  while (!stopping.aborted) {
    const startedAt = performance.now();
    try {
      if (limit.isDue()) {
        await conditions.check();
        const ms = performance.now() - startedAt;
        for (const sweep of sweeps) sweep.onChecked?.(ms);
        await limit.noteRun(database, ms);
      } else conditions.assumeAllTrue();
    } catch (error) {
      log.error({ err: error }, 'the relay could not check whether there is work');
      if (await outages.waitForEnd(error)) continue;
      conditions.assumeAllTrue();
    }
    await pause(everyMs);
  }
  conditions.assumeAllTrue();
}

/** Runs a sweep again and again until the relay stops. @param position that of its condition */
async function repeatSweep(
  { logWork, conditions, outages, pause, stopping }: SweepLoop,
  sweep: Sweep,
  position: number,
): Promise<void> {
  while (!stopping.aborted) {
    if (sweep.condition !== undefined) await conditions.waitUntilTrue(position);
    await outages.waitWhileSweepsAreHeldUp(sweep.afterOutageMs);
    if (stopping.aborted) return;
    const elapsed = startTimer();
    let isInterrupted = false;
    try {
      const rows = (await sweep.run()) ?? 0;
      if (rows > 0) logWork('sweep', { outcome: 'done', sweep: sweep.name, rows, durationMs: elapsed() });
    } catch (error) {
      const line = { outcome: 'failed', sweep: sweep.name, durationMs: elapsed(), err: error };
      logWork('sweep', line, { level: 'error' });
      isInterrupted = await outages.waitForEnd(error);
    }
    if (!isInterrupted) await pause(sweep.everyMs);
  }
}

/** Starts claiming outbox rows in batches, concurrently in a few streams, and running the sweeps. */
export function startRelay(options: RelayOptions): RunningRelay {
  const { database, log, settings } = options;
  const stopping = new AbortController();
  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);
  const outages = new Outages(getOrCreateAvailability(database), once(stopping.signal, 'abort'), pause);
  const conditions = new Conditions(database, [
    HAS_DUE_ROWS,
    ...options.sweeps.map(({ condition = 'true' }) => condition),
  ]);
  const loop: SweepLoop = { ...options, conditions, outages, pause, stopping: stopping.signal };
  let wakeUp: () => void = () => undefined;
  let woken = false;
  let progressedAt = performance.now();
  const readEveryMs = Math.max(READ_EVERY_MS, settings.pollMs);

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

  async function runRelayLoop(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await drainOutbox();
        void conditions.waitUntilTrue(0).then(onWakeUp);
        await waitForWakeUp(readEveryMs);
      } catch (error) {
        log.error({ err: error }, 'the relay could not claim outbox events');
        progressedAt = Number.POSITIVE_INFINITY;
        const wasOutage = await outages.waitForEnd(error);
        progressedAt = performance.now();
        if (!wasOutage) await pause(settings.pollMs);
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
  const running = Promise.all([
    runRelayLoop(),
    ...options.sweeps.map((sweep, i) => repeatSweep(loop, sweep, i + 1)),
    repeatChecks(loop),
  ]);
  return {
    isRunning: () => performance.now() - progressedAt < readEveryMs + STUCK_MS,
    async stop() {
      stopping.abort();
      wakeUp();
      await running;
      wakeUps.stop();
    },
  };
}
