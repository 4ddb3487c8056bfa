import { expect, onTestFinished, test, vi } from 'vitest';
import { getOrCreateAvailability } from '../../../../src/platform/data/postgres/availability.ts';
import { CLOSED } from '../../../../src/platform/data/postgres/errors.ts';
import { retryConflicts, retryWhileUnavailable } from '../../../../src/platform/data/postgres/retry.ts';

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

const MINUTE_MS = 60_000;

/** A database that can be down, and timers that a test advances. Counts the statements that it gets, probes included. */
function fakeDatabase() {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const state = { isDown: false, isClosed: false, statements: 0 };
  const database = {
    async write<Row extends unknown[]>(): Promise<Row[]> {
      state.statements += 1;
      if (state.isClosed) throw new Error(CLOSED);
      if (state.isDown) throw failure('ECONNREFUSED');
      return [];
    },
  };
  return { state, database };
}

/** Other test files of the process may have timers of their own, so this does not count timers. */
async function expectNoMoreProbes(state: { statements: number }): Promise<void> {
  const { statements } = state;
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  expect(state.statements).toBe(statements);
}

test('however much work waits through a long outage, a process probes three times a second at most, and all of it then runs', async () => {
  const { state, database } = fakeDatabase();
  state.isDown = true;
  const stored = Array.from({ length: 500 }, () => retryWhileUnavailable(database, () => database.write()));
  await vi.advanceTimersByTimeAsync(0);
  // Each has tried once, and shares the probe.
  expect(state.statements).toBe(501);
  await vi.advanceTimersByTimeAsync(5 * MINUTE_MS);
  const probes = state.statements - 501;
  expect(probes).toBeGreaterThan(5 * 60);
  expect(probes).toBeLessThan(3 * 5 * 60);
  state.isDown = false;
  await vi.advanceTimersByTimeAsync(600);
  await expect(Promise.all(stored)).resolves.toHaveLength(500);
  await expectNoMoreProbes(state);
});

test('a statement that keeps failing while Postgres is available is given up', async () => {
  const { database } = fakeDatabase();
  const run = vi.fn(async () => {
    throw failure('57014');
  });
  const result = retryWhileUnavailable(database, run);
  const rejection = expect(result).rejects.toThrow('failed with 57014');
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  await rejection;
  expect(run).toHaveBeenCalledTimes(6);
});

test('an error that no outage causes is not retried', async () => {
  const { state, database } = fakeDatabase();
  const run = vi.fn(async () => {
    throw failure('23505');
  });
  await expect(retryWhileUnavailable(database, run)).rejects.toThrow('failed with 23505');
  expect(run).toHaveBeenCalledTimes(1);
  expect(state.statements).toBe(0);
});

test('a closed database is not waited for, and its statements fail', async () => {
  const { state, database } = fakeDatabase();
  state.isDown = true;
  const result = retryWhileUnavailable(database, () => database.write());
  const waited = getOrCreateAvailability(database).waitUntilAvailable();
  const rejection = expect(result).rejects.toThrow(CLOSED);
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  state.isClosed = true;
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  await Promise.all([rejection, waited]);
  await expectNoMoreProbes(state);
});

test('a stopping process ends all waits, and their statements fail', async () => {
  const { state, database } = fakeDatabase();
  state.isDown = true;
  const result = retryWhileUnavailable(database, () => database.write());
  const rejection = expect(result).rejects.toThrow('ECONNREFUSED');
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  getOrCreateAvailability(database).giveUp();
  await vi.advanceTimersByTimeAsync(0);
  await rejection;
  await expectNoMoreProbes(state);
});
