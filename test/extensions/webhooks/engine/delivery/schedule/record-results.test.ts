import { expect, onTestFinished, test, vi } from 'vitest';
import {
  type CompletedAttempt,
  createBatchedResultWriter,
  decideNextStep,
} from '../../../../../../src/extensions/webhooks/engine/delivery/record-results.ts';
import { createLogger } from '../../../../../../src/platform/observability/log.ts';

const failed = { ok: false, gone: false, retryAfterMs: null } as never;

test.each([
  ['a success', { ok: true }, 1, { status: 'succeeded', delayMs: null }],
  ['a failure with a wait left', failed, 1, { status: 'pending', delayMs: expect.any(Number) }],
  ['a failure after the last wait', failed, 3, { status: 'failed', delayMs: null }],
  ['a receiver that is gone', { ok: false, gone: true }, 1, { status: 'failed', delayMs: null }],
])('the next status and delay are right after %s', (_, outcome, scheduleAttempt, expected) => {
  expect(decideNextStep({ outcome: outcome as never, scheduleAttempt }, [100, 200])).toEqual(expected);
});

test('while many results arrive they are gathered for a few ms, but those of ordered endpoints are written at once', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const written: string[] = [];
  const host = {
    database: {
      async write({ values }: { values: unknown[] }) {
        written.push(String(values[0]));
        return [];
      },
    },
    log: createLogger('silent', 'test'),
    metrics: { countWork: () => undefined },
    settings: { log: { sampleRate: 1 } },
    events: {},
  };
  const settings = { retrySchedule: [], disableAfterFailures: 0, notifyOwner: false };
  const write = createBatchedResultWriter(host as never, settings);
  const result = (id: string, isOrdered = false) =>
    write({ id, isOrdered, attempt: 1, scheduleAttempt: 1, outcome: { ok: true } } as CompletedAttempt);

  await result('alone');
  expect(written).toEqual(['{alone}']);
  const many = Array.from({ length: 9 }, (_, i) => `r${i}`);
  await Promise.all(many.map((id) => result(id)));
  const later = [result('s1'), result('s2')];
  await result('o1', true);
  expect(written).toEqual(['{alone}', `{${many}}`, '{o1}']);
  await vi.advanceTimersByTimeAsync(5);
  await Promise.all(later);
  expect(written.at(-1)).toBe('{s1,s2}');
  await result('s3');
  expect(written.at(-1)).toBe('{s3}');
});
