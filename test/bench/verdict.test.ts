import { expect, test } from 'vitest';
import type { Counts } from '../../bench/guard/counts.ts';
import { type Comparison, findRegressions, formatComparisons } from '../../bench/guard/verdict.ts';

const COUNTS: Counts = { statements: 2, writes: 1, redis: 3, wal: 900, response: 640, heap: 40_000 };

function createComparison(ratio: number, margin: number, counts: Partial<Counts> = {}): Comparison {
  return {
    name: 'create',
    micros: 100 * ratio,
    against: {
      micros: 100,
      interval: { ratio, low: ratio / (1 + margin), high: ratio * (1 + margin), margin },
      counts: COUNTS,
    },
    handwritten: 1.4,
    counts: { ...COUNTS, ...counts },
    isImprecise: margin > 0.04,
  };
}

test('CPU time that is more than 5 % worse is a regression if the interval excludes 1', () => {
  expect(findRegressions([createComparison(1.06, 0.03)])).toEqual([
    'create: CPU time is 1.06 × that of the other commit',
  ]);
  expect(findRegressions([createComparison(1.06, 0.08)])).toEqual([]);
  expect(findRegressions([createComparison(1.04, 0.01)])).toEqual([]);
  expect(findRegressions([createComparison(0.8, 0.01)])).toEqual([]);
});

test('a count that is more than 5 % worse is a regression', () => {
  expect(findRegressions([createComparison(1, 0.01, { statements: 3, wal: 940 })])).toEqual([
    'create: 3 statements instead of 2',
  ]);
});

test('the table shows only counts that differ', () => {
  const table = formatComparisons([createComparison(1.06, 0.05, { statements: 3, heap: 40_100 })]);
  expect(table).toContain('1.060 ± 5.0 % (time used up)');
  expect(table).toContain('statements 3/2');
  expect(table).not.toContain('heap');
});

test('an operation that the other commit does not have is no regression', () => {
  const { against, ...comparison } = createComparison(2, 0.01);
  expect(findRegressions([comparison])).toEqual([]);
  expect(formatComparisons([comparison])).toContain('not there');
});
