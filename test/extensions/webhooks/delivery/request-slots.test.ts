import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { failureClass, statusClass } from '../../../../src/extensions/webhooks/delivery/attempt.ts';
import { afterAttempt } from '../../../../src/extensions/webhooks/delivery/record-results.ts';
import { createRequestSlots } from '../../../../src/extensions/webhooks/delivery/request-slots.ts';
import { cutBytes } from '../../../../src/extensions/webhooks/log/delivery.ts';
import { createMicroBatch } from '../../../../src/platform/micro-batch.ts';

test('both lanes together never exceed the slots, the slow lane never its part, and nobody starves', async () => {
  const slots = createRequestSlots(6, { slow: 2, untried: 2, doubtful: 3, requested: 1 });
  const now = { fast: 0, slow: 0 };
  const most = { fast: 0, slow: 0, both: 0 };
  const done: string[] = [];
  const task = (lane: 'fast' | 'slow', ms: number) =>
    slots.run(lane, async () => {
      now[lane] += 1;
      most[lane] = Math.max(most[lane], now[lane]);
      most.both = Math.max(most.both, now.fast + now.slow);
      await sleep(ms);
      now[lane] -= 1;
      done.push(lane);
    });
  await Promise.all([
    ...Array.from({ length: 20 }, () => task('slow', 5)),
    ...Array.from({ length: 60 }, () => task('fast', 1)),
  ]);
  expect(most).toMatchObject({ slow: 2, both: 6 });
  expect(done.slice(0, 40)).toContain('fast');
  expect(done.slice(0, 40)).toContain('slow');
});

test('however many receivers hang, of the slow lane or untried, places are left for those that are known to answer', async () => {
  const slots = createRequestSlots(6, { slow: 2, untried: 2, doubtful: 3, requested: 1 });
  const releases: (() => void)[] = [];
  for (const turn of ['untried', 'slow', 'untried', 'slow', 'untried'] as const) {
    slots.acquire(turn, (release) => releases.push(release));
  }
  expect(releases).toHaveLength(3);
  expect([slots.isFull('slow'), slots.isFull('untried'), slots.isFull('fast')]).toEqual([true, true, false]);
  expect(await slots.run('fast', async () => 'ran')).toBe('ran');
  while (releases.length > 0) releases.shift()!();
  expect([slots.isFull('slow'), slots.isFull('untried')]).toEqual([false, false]);
});

test('a task that fails gives its place back', async () => {
  const slots = createRequestSlots(1, { slow: 1, untried: 1, doubtful: 1, requested: 1 });
  await expect(slots.run('fast', () => Promise.reject(new Error('x')))).rejects.toThrow('x');
  expect(await slots.run('slow', async () => 'ran')).toBe('ran');
});

test('what gathers while a batch is written makes up the next, in order, and a failure reaches only its own batch', async () => {
  const batches: number[][] = [];
  const add = createMicroBatch<number>(async (items) => {
    batches.push(items);
    await sleep(5);
    if (items.includes(3)) throw new Error('not written');
  }, 3);
  const first = add(1);
  await sleep(1);
  const rest = await Promise.allSettled([add(2), add(3), add(4), add(5)]);
  await first;
  expect(batches).toEqual([[1], [2, 3, 4], [5]]);
  expect(rest.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'fulfilled']);
});

const failed = { ok: false, gone: false, retryAfterMs: null } as never;

test.each([
  ['a success', { ok: true }, 1, { status: 'succeeded', delayMs: null }],
  ['a failure with a wait left', failed, 1, { status: 'pending', delayMs: expect.any(Number) }],
  ['a failure after the last wait', failed, 3, { status: 'failed', delayMs: null }],
  ['a receiver that is gone', { ok: false, gone: true }, 1, { status: 'failed', delayMs: null }],
])('after %s', (_, outcome, scheduleAttempt, expected) => {
  expect(afterAttempt({ outcome: outcome as never, scheduleAttempt }, [100, 200])).toEqual(expected);
});

test.each([
  ['ETIMEDOUT', 'timeout'],
  ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
  ['ECONNREFUSED', 'connection refused'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls certificate not valid'],
  ['CERT_HAS_EXPIRED', 'tls certificate not valid'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls certificate not valid'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls handshake failed'],
  ['EPROTO', 'tls handshake failed'],
  ['ECONNRESET', 'connection closed'],
  ['HPE_INVALID_CONSTANT', 'invalid answer'],
  ['ADDRESS_REFUSED', 'invalid answer'],
])('an error with code %s is told as "%s"', (code, expected) => {
  expect(failureClass(Object.assign(new Error('x'), { code }))).toBe(expected);
});

test.each([null, undefined, 'ECONNREFUSED', new Error('x')])(
  '%s has no code, so it is told as no answer in HTTP',
  (error) => {
    expect(failureClass(error)).toBe('invalid answer');
  },
);

test('the class of a status', () => {
  expect([101, 200, 204, 299, 300, 304, 307, 399, 400, 404, 500].map(statusClass)).toEqual([
    'status 101',
    null,
    null,
    null,
    'redirect',
    'redirect',
    'redirect',
    'redirect',
    'status 400',
    'status 404',
    'status 500',
  ]);
});

test('a text is cut to bytes between characters', () => {
  expect(cutBytes('aü', 2)).toBe('a');
  expect(cutBytes('aü', 3)).toBe('aü');
  expect(cutBytes('😀😀', 7)).toBe('😀');
});
