import { expect, test } from 'vitest';
import { retryConflicts } from '../../../src/platform/postgres/retry.ts';

const failure = (code: string) => Object.assign(new Error(`failed with ${code}`), { code });

/** Fails the given number of times, and counts its runs. */
function statement(failures: number, code: string) {
  const runs = { count: 0 };
  const run = async () => {
    runs.count++;
    if (runs.count <= failures) throw failure(code);
    return 'done';
  };
  return { runs, run };
}

// https://www.postgresql.org/docs/current/errcodes-appendix.html: serialization failure, deadlock, lock not available.
const CONTENDED = ['40001', '40P01', '55P03'];

test.each(CONTENDED)('a statement that fails with %s is retried, and its result is returned', async (code) => {
  for (const failures of [1, 4]) {
    const { runs, run } = statement(failures, code);
    expect(await retryConflicts(run)).toBe('done');
    expect(runs.count).toBe(failures + 1);
  }
});

test.each(CONTENDED)('a statement that fails with %s five times is given up with its error', async (code) => {
  const { runs, run } = statement(5, code);
  await expect(retryConflicts(run)).rejects.toThrow(`failed with ${code}`);
  expect(runs.count).toBe(5);
});

test.each(['23505', '57014', '08006', '42P01'])('a statement that fails with %s is not retried', async (code) => {
  const { runs, run } = statement(1, code);
  await expect(retryConflicts(run)).rejects.toThrow(`failed with ${code}`);
  expect(runs.count).toBe(1);
});
