import { median } from './measure/statistics.ts';
import type { Children } from './setup/children.ts';
import type { Servers } from './setup/environment.ts';

/** One number of a run. Its name stays the same from release to release. */
export interface Figure {
  /** `group.what`. */
  name: string;
  value: number;
  /** The unit of the value: `×` for a ratio. */
  unit:
    | '×'
    | '/s'
    | 's'
    | 'ms'
    | 'MB'
    | 'bytes'
    | 'round trips'
    | 'requests'
    | 'statements'
    | 'statements/s'
    | 'commands'
    | 'commands/s';
  /** Details: the spread and absolute numbers. */
  note: string;
}

/** The tools and settings of a group of measurements. */
export interface Bench {
  servers: Servers;
  children: Children;
  /** Repetitions of each side. */
  reps: number;
  /** Length of each repetition. */
  seconds: number;
  /** Warm-up of each side before it is measured. While V8 compiles, the side with more code would be slower. */
  warmUpSeconds: number;
  /** Returns whether a figure was requested. `records` requests all figures that begin with `records.`. */
  isRequested(name: string): boolean;
  /** Prints a line of progress. */
  logProgress(line: string): void;
}

/** A group of measurements. */
export interface Group {
  name: string;
  run(bench: Bench): Promise<Figure[]>;
}

const integerFormat = new Intl.NumberFormat('en');

/** Formats `12,345/s`. */
export function formatRate(perSecond: number): string {
  return `${perSecond < 100 ? perSecond.toFixed(1) : integerFormat.format(Math.round(perSecond))}/s`;
}

/** A ratio of two sides that took turns. */
export interface Ratio {
  /** The median of the rounds' ratios. */
  value: number;
  /** Their range, such as `0.88–1.31`. */
  range: string;
}

/** Compares values of Belfry with those of another side in the same rounds. */
export function computeRatio(belfry: readonly number[], other: readonly number[]): Ratio {
  const ratios = belfry.map((value, round) => value / other[round]!);
  return { value: median(ratios), range: `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}` };
}

/**
 * Returns the ratio of Belfry to a baseline: the median of the rounds' ratios.
 *
 * @param belfry the values of Belfry, by round
 * @param baseline the values of the baseline in the same rounds
 * @param note additional text
 */
export function createRatio(name: string, belfry: readonly number[], baseline: readonly number[], note = ''): Figure {
  const { value, range } = computeRatio(belfry, baseline);
  const absolute = `${formatRate(median(belfry))} to ${formatRate(median(baseline))}`;
  return { name, value, unit: '×', note: `${range}; ${absolute}${note === '' ? '' : `; ${note}`}` };
}
