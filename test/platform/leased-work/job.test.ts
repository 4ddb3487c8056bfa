import { expect, test, vi } from 'vitest';
import { createLeasedJob, type LeasedJob } from '../../../src/platform/leased-work/job.ts';
import { LeaseLostError, type LeaseRenewals } from '../../../src/platform/leased-work/lease.ts';

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
