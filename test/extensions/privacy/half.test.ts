import { expect, test } from 'vitest';
import { joinHalves } from '../../../src/extensions/privacy/half.ts';

const job = { run: async () => undefined };

test('halves are joined with all that each brings', () => {
  const sweep = { name: 's', everyMs: 1, run: async () => undefined };
  const joined = joinHalves(
    { jobs: { a: job }, sweeps: [sweep], mistakes: () => ['one'] },
    { jobs: { b: job }, sweeps: [sweep], mistakes: () => ['two'], mails: { m: async () => undefined } },
  );
  expect(joined).toMatchObject({ jobs: { a: job, b: job }, sweeps: [sweep, sweep], mails: { m: expect.anything() } });
  expect(joined.mistakes()).toEqual(['one', 'two']);
});

test('two of one name are refused', () => {
  expect(() => joinHalves({ jobs: { a: job } }, { jobs: { a: job } })).toThrow('have one name: a, a');
});
