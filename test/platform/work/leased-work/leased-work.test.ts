// Jobs that claim rows, the renewal of their leases, the waits between attempts, and the sweeps.
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Executor } from '../../../../src/platform/data/postgres/queryable.ts';
import { createLeasedJob, type LeasedJob } from '../../../../src/platform/work/leased-work/job.ts';
import {
  createLeaseRenewals,
  LeaseLostError,
  type LeaseRenewals,
} from '../../../../src/platform/work/leased-work/lease.ts';
import { leaseSql, renewLeases } from '../../../../src/platform/work/leased-work/leased-rows.ts';
import {
  addJitter,
  addPositiveJitter,
  getScheduledWait,
} from '../../../../src/platform/work/leased-work/retry-schedule.ts';
import { createReclaimSweep, createRetentionSweep } from '../../../../src/platform/work/leased-work/sweeps.ts';

interface Lease {
  id: string;
  attempt: number;
}

function jobWith(parts: Partial<LeasedJob<Lease>>) {
  const logWork = vi.fn();
  const renewals = { add: vi.fn<LeaseRenewals<Lease>['add']>(), remove: vi.fn(), stop: vi.fn() };
  const job = createLeasedJob<Lease>(
    {
      unit: 'test',
      claim: async (id) => ({ id, attempt: 2 }),
      renewals,
      run: async () => ({ outcome: 'sent', bytes: 5 }),
      fail: async () => ({ outcome: 'retry' }),
      describe: ({ id, attempt }) => ({ test: id, attempt }),
      ...parts,
    },
    logWork,
  );
  return { job, logWork, renewals };
}

const durationMs = expect.any(Number);

test('a claimed row is processed under a renewed lease, and its result is one log line', async () => {
  const { job, logWork, renewals } = jobWith({});
  expect(await job('a')).toEqual({ outcome: 'sent', bytes: 5 });
  expect(renewals.add.mock.calls[0]![0]).toEqual({ id: 'a', attempt: 2 });
  expect(renewals.remove).toHaveBeenCalledTimes(1);
  const line = { test: 'a', attempt: 2, outcome: 'sent', bytes: 5, durationMs };
  expect(logWork.mock.calls).toEqual([['test', line, { level: 'info' }]]);
});

test('a row that cannot be claimed is left alone', async () => {
  const run = vi.fn();
  const { job, logWork } = jobWith({ claim: async () => undefined, run });
  expect(await job('a')).toBeUndefined();
  expect(run).not.toHaveBeenCalled();
  expect(logWork).not.toHaveBeenCalled();
});

test('an attempt that throws is stored as failed, and the log line has its error', async () => {
  const error = new Error('refused');
  const { job, logWork, renewals } = jobWith({
    run: async () => {
      throw error;
    },
  });
  expect(await job('a')).toMatchObject({ outcome: 'retry' });
  const line = { test: 'a', attempt: 2, outcome: 'retry', err: error, durationMs };
  expect(logWork.mock.calls).toEqual([['test', line, { level: 'error' }]]);
  expect(renewals.remove).toHaveBeenCalledTimes(1);
});

test('the log line has only the part of an error that the job describes', async () => {
  const run = () => Promise.reject(new Error('no mailbox ann@example.com'));
  const { job, logWork } = jobWith({ run, describeError: () => ({ error: 'no mailbox' }) });
  await job('a');
  expect(logWork.mock.calls[0]![1]).toEqual({
    test: 'a',
    attempt: 2,
    outcome: 'retry',
    error: 'no mailbox',
    durationMs,
  });
});

test.each([
  ['by the work', { run: () => Promise.reject(new LeaseLostError('it was removed')) }],
  [
    'when the failure is stored',
    {
      run: () => Promise.reject(new Error('refused')),
      fail: () => Promise.reject(new LeaseLostError('it was removed')),
    },
  ],
])('an attempt whose lease is found lost %s ends without a failure', async (_, parts) => {
  const { job, logWork } = jobWith(parts);
  expect(await job('a')).toEqual({ outcome: 'lost', reason: 'it was removed' });
  expect(logWork).toHaveBeenCalledTimes(1);
});

test('running work is notified when a renewal finds the lease lost', async () => {
  const { job, renewals } = jobWith({
    run: async (_lease, lost) => {
      renewals.add.mock.calls[0]![1]!();
      lost.throwIfAborted();
      return { outcome: 'sent' };
    },
  });
  expect(await job('a')).toMatchObject({ outcome: 'lost' });
});

test('if a failure cannot be stored, the attempt rejects: the lease expires, and another worker tries again', async () => {
  const { job, renewals } = jobWith({
    run: () => Promise.reject(new Error('refused')),
    fail: () => Promise.reject(new Error('Postgres is away')),
  });
  await expect(job('a')).rejects.toThrow('Postgres is away');
  expect(renewals.remove).toHaveBeenCalledTimes(1);
});

const warn = vi.fn();
type Renew = (leases: readonly string[]) => Promise<readonly string[]> | Promise<void>;
/** Renewals with timers that a test advances. */
function renewalsWith(renew: Renew, more: { database?: Executor } = {}) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  return createLeaseRenewals<string>({ everyMs: 1000, what: 'tests', log: { warn }, renew, ...more });
}

test('all held leases are renewed together, and removed leases are not renewed', async () => {
  const renew = vi.fn(async (_leases: readonly string[]) => undefined);
  const renewals = renewalsWith(renew);
  renewals.add('a');
  renewals.add('b');
  await vi.advanceTimersByTimeAsync(1000);
  renewals.remove('a');
  await vi.advanceTimersByTimeAsync(1000);
  expect(renew.mock.calls).toEqual([[['a', 'b']], [['b']]]);
});

test('no timer runs while no lease is held, or after a stop', async () => {
  const renewals = renewalsWith(async () => undefined);
  expect(vi.getTimerCount()).toBe(0);
  renewals.add('a');
  expect(vi.getTimerCount()).toBe(1);
  renewals.remove('a');
  expect(vi.getTimerCount()).toBe(0);
  renewals.add('b');
  renewals.stop();
  renewals.add('c');
  expect(vi.getTimerCount()).toBe(0);
});

test('a lease that a renewal did not extend is reported as lost, unless it was released meanwhile', async () => {
  const { promise, resolve } = Promise.withResolvers<string[]>();
  const renewals = renewalsWith(() => promise);
  const lost: string[] = [];
  for (const lease of ['a', 'b', 'c']) renewals.add(lease, () => lost.push(lease));
  await vi.advanceTimersByTimeAsync(1000);
  renewals.remove('c');
  resolve(['b']);
  await vi.advanceTimersByTimeAsync(0);
  expect(lost).toEqual(['a']);
});

test('a failed renewal loses no lease, is logged, and is followed by the next renewal', async () => {
  const renew = vi.fn<(leases: readonly string[]) => Promise<readonly string[]>>();
  renew.mockRejectedValueOnce(new Error('Postgres is away'));
  renew.mockResolvedValue(['a']);
  const onLost = vi.fn();
  renewalsWith(renew).add('a', onLost);
  await vi.advanceTimersByTimeAsync(2000);
  expect(renew).toHaveBeenCalledTimes(2);
  expect(onLost).not.toHaveBeenCalled();
  expect(warn).toHaveBeenCalledWith(expect.objectContaining({ leases: 1 }), 'the leases of tests were not renewed');
});

test('a slow renewal never overlaps with the next one', async () => {
  const renew = vi.fn(() => new Promise<void>(() => undefined));
  renewalsWith(renew).add('a');
  await vi.advanceTimersByTimeAsync(5000);
  expect(renew).toHaveBeenCalledTimes(1);
});

test('after a failed renewal, the leases are renewed as soon as Postgres is back, not only at the next interval', async () => {
  const back = Promise.withResolvers<void>();
  const renew = vi.fn(async (_leases: readonly string[]) => undefined);
  renew.mockRejectedValueOnce(new Error('Postgres is down'));
  const database: Executor = { write: () => back.promise.then(() => []) };
  const renewals = renewalsWith(renew, { database });
  renewals.add('kept');
  renewals.add('finished');
  // However long the outage lasts, the renewals do not add up.
  await vi.advanceTimersByTimeAsync(300_000);
  expect(renew).toHaveBeenCalledTimes(1);
  renewals.remove('finished');
  back.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(renew.mock.calls).toEqual([[['kept', 'finished']], [['kept']]]);
  renewals.stop();
});

const tickets = leaseSql({
  table: 'tickets',
  fence: { event: 'text', seat: 'int', claims: 'int' },
  until: 'claimed_until',
  leaseSeconds: 30,
  open: 'finished_at is null',
});

test('the SQL of leases names each column of the key and the fence', () => {
  const onOneLine = (text: string) => text.replace(/\s+/g, ' ').trim();
  expect(tickets.held).toBe('event = $1 and seat = $2 and claims = $3 and finished_at is null');
  expect(onOneLine(tickets.renew)).toBe(
    "update tickets c set claimed_until = now() + interval '30 seconds' " +
      'from unnest($1::text[], $2::int[], $3::int[]) with ordinality k(event, seat, claims, n) ' +
      'where c.event = k.event and c.seat = k.seat and c.claims = k.claims and finished_at is null returning k.n::int',
  );
  expect(onOneLine(tickets.claim('tickets c', 'c.event = $1', { set: 'tries = 1', returning: 'c.seat' }))).toBe(
    'with due as (select c.event, c.seat from tickets c where c.event = $1 for update of c skip locked) ' +
      "update tickets c set claimed_until = now() + interval '30 seconds', claims = c.claims + 1, tries = 1 " +
      'from due where c.event = due.event and c.seat = due.seat returning c.seat',
  );
});

test('a renewal sends each column of the fences as a list, and returns the leases that are still held', async () => {
  const write = vi.fn(async () => [[3], [1]]);
  const leases = [1, 2, 3].map((seat) => ({ seat, claims: 10 * seat }));
  const fenceOf = ({ seat, claims }: (typeof leases)[number]) => ['concert', seat, claims];
  const held = await renewLeases({ write } as unknown as Executor, { text: tickets.renew }, leases, fenceOf);
  expect(held).toEqual([leases[2], leases[0]]);
  const values = [
    ['concert', 'concert', 'concert'],
    [1, 2, 3],
    [10, 20, 30],
  ];
  expect(write).toHaveBeenCalledWith({ text: tickets.renew, values });
});

test('each failed attempt has a wait, except the last one', () => {
  expect([1, 2, 3].map((attempt) => getScheduledWait([10, 20], attempt))).toEqual([10, 20, undefined]);
});

test.each([0, -1, 1.5, Number.NaN])('%d is not a valid attempt number', (attempt) => {
  expect(() => getScheduledWait([10], attempt)).toThrow(RangeError);
});

test('jitter changes a wait by up to a fifth; a wait that must not be shortened is only lengthened', () => {
  expect([0, 0.5, 1].map((random) => addJitter(1000, random))).toEqual([800, 1000, 1200]);
  expect([0, 0.5, 1].map((random) => addPositiveJitter(1000, random))).toEqual([1000, 1100, 1200]);
  fc.assert(
    fc.property(fc.nat(10 ** 9), (wait) => {
      expect(addPositiveJitter(wait)).toBeGreaterThanOrEqual(wait);
      const jittered = addJitter(wait);
      expect(Number.isInteger(jittered)).toBe(true);
      expect(jittered).toBeGreaterThanOrEqual(wait * 0.8);
      expect(jittered).toBeLessThanOrEqual(wait * 1.2);
    }),
  );
});

test('a reclaim sweep adds jobs for all rows, whether they are found at once or page by page', async () => {
  const added: unknown[] = [];
  const options = { name: 'tests', everyMs: 1000, addJobs: async (rows: readonly number[]) => added.push(rows) };
  expect(await createReclaimSweep({ ...options, find: async () => [1, 2] }).run()).toBe(2);
  const pages = async function* () {
    yield [3, 4];
    yield [];
    yield [5];
  };
  expect(await createReclaimSweep({ ...options, find: pages }).run()).toBe(3);
  expect(added).toEqual([[1, 2], [3, 4], [5]]);
});

test('a retention sweep removes at most 20 batches, unless the statement may have more', async () => {
  let left = 0;
  const removeBatch = async ({ values }: { values: readonly unknown[] }) => {
    const removed = Math.min(left, values.at(-1) as number);
    left -= removed;
    return Array.from({ length: removed }, () => [1]);
  };
  const database = { write: removeBatch } as unknown as Executor;
  const run = (maxBatches?: number) => {
    left = 100;
    const removals = [{ text: 'delete', rowsPerBatch: 2, ...(maxBatches === undefined ? {} : { maxBatches }) }];
    return createRetentionSweep(database, { name: 'tests', removals }).run();
  };
  expect(await run()).toBe(40);
  expect(await run(Number.POSITIVE_INFINITY)).toBe(100);
});
