import { expect, test } from 'vitest';
import { createApp, defineJob, defineUser } from '../../src/index.ts';
import { createTestApp } from '../../src/testing/index.ts';

const ticks: string[] = [];
let fails = true;
const nightly = defineJob('nightly', { run: ({ scheduledAt }) => void ticks.push(scheduledAt.toISOString()) });
const flaky = defineJob('flaky', {
  retry: { attempts: 2, firstDelayMs: 3_600_000, maxDelayMs: 3_600_000 },
  run() {
    if (fails) throw new Error('not yet');
    return 'done';
  },
});

const testApp = await createTestApp((environment) =>
  createApp(
    {
      resources: [defineUser()],
      jobs: [nightly, flaky],
      schedules: [{ cron: '0 2 * * *', timeZone: 'Europe/Berlin', job: nightly }],
    },
    environment,
  ),
);
const { app, clock, settle } = testApp;

test('settle waits for jobs, and the clock makes retries and later jobs due', async () => {
  const { id } = await app.jobs.enqueue(flaky);
  await settle();
  expect(await app.jobs.get(id)).toMatchObject({ status: 'waiting', attempts: 1, error: 'Error: not yet' });
  fails = false;
  await clock.advance('2h');
  expect(await app.jobs.get(id)).toMatchObject({ status: 'succeeded', attempts: 2 });
  const later = await app.jobs.enqueue(flaky, undefined, { runAt: Date.now() + 86_400_000 * 3 });
  await clock.advance('2d');
  expect(await app.jobs.get(later.id)).toMatchObject({ status: 'waiting' });
  await clock.advance('25h');
  expect(await app.jobs.get(later.id)).toMatchObject({ status: 'succeeded' });
});

test('schedules follow the clock: a jump over several ticks enqueues the latest one', async () => {
  await clock.set('2030-06-30T23:00:00Z');
  ticks.length = 0;
  await clock.advance('2h');
  expect(ticks).toEqual(['2030-07-01T00:00:00.000Z']);
  await clock.advance('23h');
  expect(ticks).toEqual(['2030-07-01T00:00:00.000Z', '2030-07-02T00:00:00.000Z']);
  await clock.advance('10d');
  expect(ticks.slice(2)).toEqual(['2030-07-12T00:00:00.000Z']);
});

test('a clock that goes back repeats no tick', async () => {
  await clock.set('2030-06-30T23:00:00Z');
  const before = ticks.length;
  await clock.advance('3h');
  expect(ticks).toHaveLength(before);
});
