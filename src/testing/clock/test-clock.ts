import { type DurationText, parseDuration } from '../../platform/helpers/duration.ts';
import type { AssembledApp } from '../../runtime/assemble.ts';
import { settle } from '../waiting/settle.ts';
import { setDatabaseClock } from './database-clock.ts';
import { clockOffsetMs, followClock, setClockOffset } from './process-clock.ts';
import { expireKeys } from './redis-clock.ts';

/** A period: ms, or a text with a unit: `'30s'`, `'15m'`, `'2h'`, `'31d'`. */
export type Period = number | DurationText;

/**
 * The clock of a test app. It goes on running from the time that it is set to. All test apps of a process share it; it shows the real time
 * again when the last of them is closed.
 */
export interface TestClock {
  /** The time of the clock. */
  now(): Date;
  /** Moves the clock forward, as if that time had passed: what expires or becomes due meanwhile does. */
  advance(period: Period): Promise<void>;
  /** Sets the clock to a time, which may be in the past. */
  set(time: Date | string): Promise<void>;
  /** Sets the clock to the real time. */
  reset(): Promise<void>;
}

/** @throws TypeError for anything that is not a period */
function parsePeriod(period: Period): number {
  if (typeof period === 'number' && Number.isFinite(period) && period >= 0) return Math.round(period);
  const ms = parseDuration(String(period));
  if (ms === undefined)
    throw new TypeError(
      `clock.advance: "${period}" is not a period. Use ms, or a text such as '30s', '15m', '2h' or '31d'`,
    );
  return Math.round(ms);
}

/** @throws TypeError for anything that is not a time */
function parseTime(time: Date | string): number {
  const ms = new Date(time).getTime();
  if (Number.isNaN(ms))
    throw new TypeError(`clock.set: "${time}" is not a time. Use a Date or a text such as '2030-01-31'`);
  return ms;
}

/** Does what a running app would have done while the time passed: adds the jobs that are due, and removes what has expired. */
async function catchUp({ platform: { queues, wake }, parts }: AssembledApp): Promise<void> {
  for (const name of queues.workedQueues()) {
    const delayed = await queues.queue(name).getDelayed();
    const due = delayed.filter((job) => job !== undefined && job.timestamp + job.delay <= Date.now());
    // A job that its queue has started meanwhile is no longer delayed.
    await Promise.all(due.map((job) => job.promote().catch(() => undefined)));
  }
  for (const sweep of parts.sweeps ?? []) await sweep.run();
  wake.hint();
}

/**
 * Creates the clock of a started app. Call `stop` when the app closes.
 *
 * @param connection the variables with which the app connects to Redis
 */
export async function createTestClock(
  parts: AssembledApp,
  connection: Record<'REDIS_URL' | 'REDIS_PREFIX', string>,
): Promise<{ clock: TestClock; stop(): void }> {
  const { database } = parts.platform;
  const stop = followClock(async (offsetMs, previousMs) => {
    await setDatabaseClock(database, offsetMs);
    if (offsetMs > previousMs) await expireKeys(connection.REDIS_URL, connection.REDIS_PREFIX, offsetMs - previousMs);
    await catchUp(parts);
  });
  if (clockOffsetMs() !== 0) await setDatabaseClock(database, clockOffsetMs());

  /** Work in progress would lose its leases in a jump, so the clock waits for it; then for the work that has become due. */
  async function moveTo(offsetMs: number): Promise<void> {
    await settle(parts);
    await setClockOffset(offsetMs);
    await settle(parts);
  }

  const clock: TestClock = {
    now: () => new Date(),
    advance: async (period) => moveTo(clockOffsetMs() + parsePeriod(period)),
    set: async (time) => moveTo(clockOffsetMs() + parseTime(time) - Date.now()),
    reset: () => moveTo(0),
  };
  return { clock, stop };
}
