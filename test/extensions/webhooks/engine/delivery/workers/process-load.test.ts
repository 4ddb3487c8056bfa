import { expect, test } from 'vitest';
import {
  canTakeMore,
  createLoadCheck,
} from '../../../../../../src/extensions/webhooks/engine/delivery/process-load.ts';

test.each([
  [0, 0, true],
  [0.5, 0.5, true],
  [0.97, 0.8, true],
  [0.98, 0.1, false],
  [1, 0.1, false],
  [0.1, 0.81, false],
  [1, 1, false],
])(
  'with an event loop that is busy for %d of the time and a heap filled to %d, more requests are allowed: %s',
  (loop, heap, expected) => {
    expect(canTakeMore({ loop, heap })).toBe(expected);
  },
);

test('before the first measurement more requests are allowed', () => {
  expect(createLoadCheck()()).toBe(true);
});
