import { expect, test } from 'vitest';
import { decideNextStep } from '../../../../../../src/extensions/webhooks/engine/delivery/record-results.ts';

const failed = { ok: false, gone: false, retryAfterMs: null } as never;

test.each([
  ['a success', { ok: true }, 1, { status: 'succeeded', delayMs: null }],
  ['a failure with a wait left', failed, 1, { status: 'pending', delayMs: expect.any(Number) }],
  ['a failure after the last wait', failed, 3, { status: 'failed', delayMs: null }],
  ['a receiver that is gone', { ok: false, gone: true }, 1, { status: 'failed', delayMs: null }],
])('the next status and delay are right after %s', (_, outcome, scheduleAttempt, expected) => {
  expect(decideNextStep({ outcome: outcome as never, scheduleAttempt }, [100, 200])).toEqual(expected);
});
