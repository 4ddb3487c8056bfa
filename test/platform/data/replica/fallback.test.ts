// Which statements run again on the primary.
import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { createFallback, mayRunOnPrimary } from '../../../../src/platform/data/replica/fallback.ts';
import { ApiError } from '../../../../src/platform/helpers/errors.ts';

const failure = (code: string) => Object.assign(new Error(code), { code });
const postgresError = (code: string) => Object.assign(new pg.DatabaseError(code, 0, 'error'), { code });

test.each([
  ['a lost connection', failure('ECONNREFUSED'), true],
  ['a conflict with the replay of the log', postgresError('40001'), true],
  ['a missing table', postgresError('42P01'), true],
  ['too many connections on the server', postgresError('53300'), true],
  ['no free connection in time', failure('53300'), false],
  ['a statement that takes too long', postgresError('57014'), false],
  ['an invalid value', postgresError('22P02'), false],
  ['an error for the client', new ApiError('UNAVAILABLE'), false],
])('whether a statement runs on the primary after %s', (_name, error, expected) => {
  expect(mayRunOnPrimary(error)).toBe(expected);
});

function setUp(reason: 'unavailable' | 'lag' | undefined) {
  const monitor = { unusableReason: vi.fn(() => reason), checkSoon: vi.fn() };
  const countRetry = vi.fn();
  return { monitor, countRetry, fallback: createFallback(monitor, countRetry) };
}

test('a replica that is known to be lost is not asked', async () => {
  const { fallback, countRetry } = setUp('unavailable');
  const onReplica = vi.fn();
  expect(await fallback.run(onReplica, async () => 'primary')).toBe('primary');
  expect([onReplica.mock.calls.length, countRetry.mock.calls.length]).toEqual([0, 0]);
});

test('work that fails because of the replica runs again on the primary, is counted, and the replica is checked', async () => {
  const { fallback, countRetry, monitor } = setUp(undefined);
  const onRetry = vi.fn();
  const result = fallback.read(
    () => Promise.reject(failure('ECONNREFUSED')),
    async () => 'primary',
    onRetry,
  );
  expect(await result).toBe('primary');
  expect([countRetry, onRetry, monitor.checkSoon].map(({ mock }) => mock.calls.length)).toEqual([1, 1, 1]);
});

test('work that the primary would refuse too fails at once', async () => {
  const { fallback, countRetry } = setUp(undefined);
  const onPrimary = vi.fn();
  await expect(fallback.run(() => Promise.reject(postgresError('22P02')), onPrimary)).rejects.toThrow('22P02');
  expect([onPrimary.mock.calls.length, countRetry.mock.calls.length]).toEqual([0, 0]);
});

test('a read whose replica is lost does not wait for it', async () => {
  const { fallback, monitor } = setUp(undefined);
  const result = fallback.read(
    () => new Promise<string>(() => undefined),
    async () => 'primary',
  );
  monitor.unusableReason.mockReturnValue('unavailable');
  fallback.abandonReads(failure('ECONNRESET'));
  expect(await result).toBe('primary');
});
