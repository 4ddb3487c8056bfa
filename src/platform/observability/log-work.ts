import { z } from 'zod';
import type { Logger } from './log.ts';
import type { Metrics } from './metrics.ts';

/** The section `log` of the settings. */
export const logSettings = z
  .strictObject({
    /**
     * The fraction of successful units of work that are logged, for units that occur very often: push chunks, webhook delivery attempts.
     * 1: all of them; 0: none. Failures are always logged.
     */
    sampleRate: z.number().min(0).max(1).default(1),
  })
  .prefault({});

/** The settings of `log` with all defaults filled. */
export type LogSettings = z.output<typeof logSettings>;

/**
 * The log line of a finished unit of work: ids, counts, the attempt number. It contains no personal data: no address, subject, token
 * or record content.
 */
export interface WorkLine {
  /** The outcome in a word: `sent`, `retry`, `failed`. */
  outcome: string;
  /** The duration of the work in whole milliseconds: see `startTimer`. */
  durationMs: number;
  [field: string]: unknown;
}

/** Options of the log line of a unit of work. */
interface WorkLineOptions {
  /** Default `info`. */
  level?: 'info' | 'warn' | 'error';
  /**
   * Whether the unit is one of very many successful ones, so that `settings.log.sampleRate` applies. Failures are never sampled:
   * pass `sampled: outcome === 'sent'` or similar.
   */
  sampled?: boolean;
}

/**
 * Logs one line for a finished unit of work: a relay batch, an e-mail, a delivery attempt.
 *
 * @param unit the name of the unit: the `msg` of the line
 */
export type LogWork = (unit: string, line: WorkLine, options?: WorkLineOptions) => void;

/**
 * Creates the function that logs units of work and counts them in the metrics. A sampled line includes `sampleRate`, because it stands for `1 / sampleRate` units.
 *
 * @param random returns a number from 0 (inclusive) to 1 (exclusive)
 */
export function createWorkLogger(
  { log, settings, metrics }: { log: Logger; settings: { log: LogSettings }; metrics: Pick<Metrics, 'countWork'> },
  random: () => number = Math.random,
): LogWork {
  const { sampleRate } = settings.log;
  return (unit, line, { level = 'info', sampled = false } = {}) => {
    metrics.countWork(unit, line);
    if (!sampled || sampleRate === 1) log[level](line, unit);
    else if (random() < sampleRate) log[level]({ ...line, sampleRate }, unit);
  };
}

/** Starts a timer. The returned function returns the whole milliseconds since the start. */
export function startTimer(): () => number {
  const startedAt = performance.now();
  return () => Math.round(performance.now() - startedAt);
}
