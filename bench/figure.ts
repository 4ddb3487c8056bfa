import type { Children } from './children.ts';
import type { Servers } from './environment.ts';
import { median } from './measure/statistics.ts';

/** One number of a run. Its name stays the same from release to release. */
export interface Figure {
  /** `group.what`. */
  name: string;
  value: number;
  /** Of the value: `×` for a ratio. */
  unit: '×' | 's' | 'ms' | 'MB' | 'bytes' | 'round trips';
  /** What stands behind it: spread, absolute numbers. */
  note: string;
}

/** What a group of measurements works with. */
export interface Bench {
  servers: Servers;
  children: Children;
  /** Repetitions of each side. */
  reps: number;
  /** Length of each repetition. */
  seconds: number;
  /** Of each side before it is measured: as long as V8 compiles, the side with more code is slower by that. */
  warmUpSeconds: number;
  /** Whether a figure was asked for; `records` asks for all that begin with `records.`. */
  wants(name: string): boolean;
  /** A line for who waits. */
  say(line: string): void;
}

/** Measures something. */
export interface Group {
  name: string;
  run(bench: Bench): Promise<Figure[]>;
}

const whole = new Intl.NumberFormat('en');

/** `12,345/s`. */
function rate(perSecond: number): string {
  return `${perSecond < 100 ? perSecond.toFixed(1) : whole.format(Math.round(perSecond))}/s`;
}

/**
 * The ratio of Belfry to a baseline: the median of the rounds' ratios.
 *
 * @param belfry what Belfry reached in each round
 * @param baseline what the baseline reached in the same rounds
 * @param note what else there is to say
 */
export function ratio(name: string, belfry: readonly number[], baseline: readonly number[], note = ''): Figure {
  const ratios = belfry.map((value, round) => value / baseline[round]!);
  const spread = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`;
  const absolute = `${rate(median(belfry))} to ${rate(median(baseline))}`;
  return { name, value: median(ratios), unit: '×', note: `${spread}; ${absolute}${note === '' ? '' : `; ${note}`}` };
}
