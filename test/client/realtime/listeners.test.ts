import { expect, test } from 'vitest';
import { createListeners } from '../../../packages/client/src/realtime/listeners.ts';

test('a function that subscribes twice is called twice, and each subscription ends by itself', () => {
  const { subscribe, notify } = createListeners();
  let calls = 0;
  const count = () => {
    calls += 1;
  };
  const stop = subscribe(count);
  subscribe(count);
  notify();
  stop();
  stop();
  notify();
  expect(calls).toBe(3);
});

test('a listener that another one removes is not called, and one that another one adds is called next time', () => {
  const listeners = createListeners();
  const calls: string[] = [];
  let stop = () => {};
  listeners.subscribe(() => {
    calls.push('first');
    stop();
    listeners.subscribe(() => void calls.push('added'));
  });
  stop = listeners.subscribe(() => void calls.push('removed'));
  listeners.notify();
  expect(calls).toEqual(['first']);
  expect(listeners.size).toBe(2);
  listeners.notify();
  expect(calls).toEqual(['first', 'first', 'added']);
});
