import { expect, test } from 'vitest';
import {
  createPaceKeeper,
  type EndpointPace,
} from '../../../../../../src/extensions/webhooks/engine/delivery/endpoint-pace.ts';

/** A receiver that handles `parallel` requests at a time, each in `ms`. Returns the response times of requests that begin together. */
const respond = (requests: number, parallel: number, ms: number) =>
  Array.from({ length: requests }, (_, i) => (Math.floor(i / parallel) + 1) * ms);

/** Sends rounds of as many requests as allowed. Returns the limit after each round. */
function sendRounds(rounds: number, parallel: number, ms: number, before?: EndpointPace) {
  const pace = createPaceKeeper(before, 100);
  const limits: number[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const durationMs of respond(pace.limit(), parallel, ms)) pace.adjust(durationMs, true, true);
    limits.push(pace.limit());
  }
  return { limits, pace };
}

test('the limit begins at one, doubles with each round of quick responses, and stays at its maximum', () => {
  expect(sendRounds(9, 1000, 25).limits).toEqual([2, 4, 8, 16, 32, 64, 100, 100, 100]);
});

test.each([
  [5, 100],
  [10, 250],
  [20, 800],
  [1, 60],
  [2, 400],
  [15, 100],
  [19, 1000],
])('a receiver that handles %i requests at a time in %i ms never gets many times as many', (parallel, ms) => {
  let before: EndpointPace | undefined;
  for (let lease = 0; lease < 10; lease++) {
    const { limits, pace } = sendRounds(20, parallel, ms, before);
    expect(Math.max(...limits)).toBeLessThanOrEqual(5 * parallel);
    expect(limits.at(-1)).toBeGreaterThanOrEqual(parallel);
    before = pace.getPace();
  }
});

test('responses that take far longer than the quickest halve the limit in each round, and quick ones raise it again', () => {
  const pace = createPaceKeeper({ limit: 40, quickestMs: 50 }, 100);
  for (let i = 0; i < 40; i++) pace.adjust(900, true, true);
  expect(pace.limit()).toBe(20);
  for (let i = 0; i < 20; i++) pace.adjust(900, true, true);
  expect(pace.limit()).toBe(10);
  for (let i = 0; i < 60; i++) pace.adjust(900, true, true);
  expect(pace.limit()).toBe(1);
  for (let i = 0; i < 9; i++) pace.adjust(60, true, true);
  expect(pace.limit()).toBe(10);
});

test('some delay neither raises nor lowers the limit', () => {
  const pace = createPaceKeeper({ limit: 40, quickestMs: 100 }, 100);
  for (let i = 0; i < 200; i++) pace.adjust(100 + 60 + i, true, true);
  expect(pace.limit()).toBe(40);
});

test('a bad response resets the limit to one', () => {
  const pace = createPaceKeeper({ limit: 40, quickestMs: 50 }, 100);
  pace.adjust(20, false, true);
  expect(pace.limit()).toBe(1);
});

test('responses to fewer requests than allowed do not raise the limit', () => {
  const pace = createPaceKeeper(undefined, 100);
  for (let i = 0; i < 50; i++) pace.adjust(20, true, false);
  expect(pace.limit()).toBe(1);
});

test('the next lease begins with the pace of the last one, within its own maximum', () => {
  const { pace } = sendRounds(5, 1000, 25);
  expect(createPaceKeeper(pace.getPace(), 100).limit()).toBe(32);
  expect(createPaceKeeper(pace.getPace(), 3).limit()).toBe(3);
});

test('a receiver that becomes slow loses requests, and gets them back when it is quick again', () => {
  let { pace } = sendRounds(8, 1000, 25);
  const quick = pace.limit();
  pace = sendRounds(3, 1000, 500, pace.getPace()).pace;
  expect(pace.limit()).toBeLessThanOrEqual(quick / 4);
  pace = sendRounds(8, 1000, 25, pace.getPace()).pace;
  expect(pace.limit()).toBe(quick);
});

test.each([1, 2, 10, 100])('the limit stays between one and its maximum of %i, whatever the responses', (max) => {
  const pace = createPaceKeeper(undefined, max);
  // A sequence without a pattern that is the same in each run.
  let seed = 7;
  for (let i = 0; i < 5000; i++) {
    seed = (seed * 48_271) % 2_147_483_647;
    pace.adjust(seed % 3000, seed % 17 !== 0, seed % 2 === 0);
    expect(pace.limit()).toBeGreaterThanOrEqual(1);
    expect(pace.limit()).toBeLessThanOrEqual(max);
    expect(Number.isInteger(pace.limit())).toBe(true);
  }
});
