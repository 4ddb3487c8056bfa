import type { Logger } from './log.ts';
import type { Settings } from './settings.ts';

/**
 * The log line of a finished unit of work: ids, counts, the number of the attempt. It holds no personal data: no address, subject, token
 * or content of a record.
 */
export interface WorkLine {
  /** How it ended, in a word: `sent`, `retry`, `failed`. */
  outcome: string;
  /** Whole milliseconds: see `createTimer`. */
  durationMs: number;
  [field: string]: unknown;
}

/** How a line is logged. */
export interface WorkLineOptions {
  /** `info` when left out. */
  level?: 'info' | 'warn' | 'error';
  /**
   * Whether the unit is one of very many that went well, so that `settings.log.sampleRate` applies. Lines of failures are never sampled:
   * pass `sampled: outcome === 'sent'` or the like.
   */
  sampled?: boolean;
}

/**
 * Logs one line for a finished unit of work: a batch of the relay, an e-mail, an attempt of a delivery.
 *
 * @param unit what it was: the `msg` of the line
 */
export type LogWork = (unit: string, line: WorkLine, options?: WorkLineOptions) => void;

/**
 * Creates the function that logs units of work. A sampled line carries `sampleRate`: it stands for `1 / sampleRate` units.
 *
 * @param random returns a number from 0 to 1, without 1
 */
export function createLogWork(
  { log, settings }: { log: Logger; settings: Pick<Settings, 'log'> },
  random: () => number = Math.random,
): LogWork {
  const { sampleRate } = settings.log;
  return (unit, line, { level = 'info', sampled = false } = {}) => {
    if (!sampled || sampleRate === 1) log[level](line, unit);
    else if (random() < sampleRate) log[level]({ ...line, sampleRate }, unit);
  };
}

/** Starts a timer. The function that it returns gives the whole milliseconds since then. */
export function createTimer(): () => number {
  const startedAt = performance.now();
  return () => Math.round(performance.now() - startedAt);
}
