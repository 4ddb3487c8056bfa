import type { Counts } from './counts.ts';
import type { Interval } from './interval.ts';

/** The result of one operation. */
export interface Comparison {
  name: string;
  /** µs of CPU time per operation. */
  micros: number;
  /** The other commit; undefined if it does not have the operation. */
  against?: { micros: number; interval: Interval; counts: Counts };
  /** The ratio to the handwritten API, if that has the operation. */
  handwritten?: number;
  counts: Counts;
  /** Whether the time was used up before the interval was narrow enough. */
  isImprecise: boolean;
}

const TOLERANCE = 1.05;
/** Counts that differ by less are shown as equal. */
const VISIBLE_DIFFERENCE = 0.01;
/** A smaller difference comes from timers, such as those of idle workers: the counted run takes more or less time. */
const MIN_DIFFERENCE = 0.2;

const LABELS: Record<keyof Counts, string> = {
  statements: 'statements',
  writes: 'writes to Postgres',
  redis: 'Redis commands',
  wal: 'WAL bytes',
  response: 'response bytes',
  heap: 'heap bytes',
};
const COUNT_NAMES = Object.keys(LABELS) as (keyof Counts)[];

const formatCount = (count: number) => (count < 100 ? String(Number(count.toFixed(2))) : String(Math.round(count)));

/** Returns one sentence for everything that became more than 5 % worse. */
export function findRegressions(comparisons: readonly Comparison[]): string[] {
  return comparisons.flatMap(({ name, against, counts }) => {
    if (against === undefined) return [];
    const { ratio, low } = against.interval;
    const isSlower = ratio > TOLERANCE && low > 1;
    const worse = COUNT_NAMES.filter(
      (one) => counts[one] > against.counts[one] * TOLERANCE && counts[one] - against.counts[one] > MIN_DIFFERENCE,
    );
    return [
      ...(isSlower ? [`${name}: CPU time is ${ratio.toFixed(2)} × that of the other commit`] : []),
      ...worse.map(
        (one) => `${name}: ${formatCount(counts[one])} ${LABELS[one]} instead of ${formatCount(against.counts[one])}`,
      ),
    ];
  });
}

function describeCounts({ counts, against }: Comparison): string {
  if (against === undefined) return '';
  return COUNT_NAMES.filter((one) => {
    const difference = Math.abs(counts[one] - against.counts[one]);
    return difference > MIN_DIFFERENCE && difference > against.counts[one] * VISIBLE_DIFFERENCE;
  })
    .map((one) => `${LABELS[one]} ${formatCount(counts[one])}/${formatCount(against.counts[one])}`)
    .join(', ');
}

function formatRatio({ against, isImprecise }: Comparison): string {
  if (against === undefined) return '–';
  const { ratio, margin } = against.interval;
  return `${ratio.toFixed(3)} ± ${(margin * 100).toFixed(1)} %${isImprecise ? ' (time used up)' : ''}`;
}

/** Formats the comparisons for a terminal. */
export function formatComparisons(comparisons: readonly Comparison[]): string {
  const header = ['operation', 'this µs', 'against µs', 'ratio', 'to handwritten', 'counts this/against'];
  const rows = comparisons.map((one) => [
    one.name,
    one.micros.toFixed(0),
    one.against?.micros.toFixed(0) ?? 'not there',
    formatRatio(one),
    one.handwritten?.toFixed(2) ?? '–',
    describeCounts(one),
  ]);
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  return [header, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
