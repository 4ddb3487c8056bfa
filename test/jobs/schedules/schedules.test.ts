import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createApp, defineJob, defineUser, type ScheduleDeclaration } from '../../../src/index.ts';
import { compileJobs } from '../../../src/jobs/declarations/declarations.ts';
import { compileSchedules } from '../../../src/jobs/schedules/declarations.ts';
import { createScheduleSweep } from '../../../src/jobs/schedules/ticks.ts';
import { ConfigErrors } from '../../../src/platform/helpers/config-errors.ts';
import { findAssembly } from '../../../src/runtime/create-app.ts';
import { startTestApp } from '../../support/app.ts';

const tidy = defineJob('tidy', {
  input: z.strictObject({ days: z.number() }),
  run: ({ scheduledAt }) => scheduledAt.toISOString(),
});
/** The apps that the tests start run no worker and no relay, so that each test runs the sweeps itself. */
const { app, env } = await startTestApp({ resources: [defineUser()], jobs: [tidy] });
const { platform } = findAssembly(app)!;
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

const hourly = { cron: '0 * * * *', job: tidy, input: { days: 3 } };
let count = 0;

/** A relay with one schedule, which has a name of its own unless it is given. */
function createRelay(options: Partial<ScheduleDeclaration> = {}) {
  const name = options.name ?? `schedule-${++count}`;
  const errors = new ConfigErrors();
  const jobs = compileJobs([tidy], errors);
  const schedules = compileSchedules([{ ...hourly, ...options, name }], jobs, errors);
  expect(errors.lines).toEqual([]);
  return { name, sweep: () => createScheduleSweep(platform, schedules) };
}

/** Moves the time at which a schedule is due into the past. */
const makeDue = (name: string, hours: number) =>
  sql.query(
    `update background_schedules set next_at = date_trunc('hour', now()) - make_interval(hours => $2) where name = $1`,
    [name, hours],
  );
const jobsOf = async (name: string) =>
  (
    await sql.query(
      'select id, name, input, scheduled_at, status from background_jobs where schedule = $1 order by scheduled_at',
      [name],
    )
  ).rows;
const finishJobs = (name: string) =>
  sql.query(`update background_jobs set status = 'succeeded', finished_at = now() where schedule = $1`, [name]);
const currentHour = () => new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000);

test('a new schedule has no tick before its next one', async () => {
  const { name, sweep } = createRelay();
  expect(await sweep().run()).toBe(0);
  const { rows } = await sql.query('select next_at, last_at from background_schedules where name = $1', [name]);
  expect(rows).toEqual([{ next_at: new Date(currentHour().getTime() + 3_600_000), last_at: null }]);
});

test('a tick is enqueued once, however many relays run at that moment', async () => {
  const { name, sweep } = createRelay();
  const relays = Array.from({ length: 8 }, sweep);
  await relays[0]!.run();
  await makeDue(name, 0);
  const counts = await Promise.all(relays.map((relay) => relay.run()));
  expect(counts.filter((enqueued) => enqueued === 1)).toHaveLength(1);
  expect(await jobsOf(name)).toMatchObject([{ name: 'tidy', input: { days: 3 }, scheduled_at: currentHour() }]);
  // A clock that jumps back brings no tick again.
  await makeDue(name, 0);
  await finishJobs(name);
  expect(await sweep().run()).toBe(0);
  expect(await jobsOf(name)).toHaveLength(1);
});

test.each([
  ['none', 0],
  ['latest', 1],
  ['all', 4],
] as const)('with catchUp: %s, %i of four missed ticks are enqueued', async (catchUp, expected) => {
  const { name, sweep } = createRelay({ catchUp, cron: '*/30 * * * *' });
  const relay = sweep();
  await relay.run();
  // The last tick is more than a minute old.
  await sql.query(
    `update background_schedules set next_at = now() - interval '2 hours' + interval '1 second' where name = $1`,
    [name],
  );
  const isOnTime = Date.now() % 1_800_000 < 61_000;
  await relay.run();
  if (!(catchUp === 'none' && isOnTime)) expect(await jobsOf(name)).toHaveLength(expected);
  expect(await relay.run()).toBe(0);
});

test('a tick is skipped while the job of an earlier one is open, unless overlap is allowed', async () => {
  for (const overlap of ['skip', 'allow'] as const) {
    const { name, sweep } = createRelay({ overlap });
    const relay = sweep();
    await relay.run();
    await sql.query(
      `insert into background_jobs (id, name, schedule, scheduled_at) values ($1, 'tidy', $2, now() - interval '3 hours')`,
      [`${overlap}-earlier`, name],
    );
    await makeDue(name, 0);
    expect(await relay.run()).toBe(overlap === 'skip' ? 0 : 1);
    // The skipped tick does not come later.
    await finishJobs(name);
    expect(await relay.run()).toBe(0);
  }
});

test('a changed schedule has no tick of the time before the change, and keeps what it did', async () => {
  const { name, sweep } = createRelay();
  await sweep().run();
  await makeDue(name, 0);
  await sweep().run();
  await makeDue(name, 5);
  const changed = createRelay({ name, cron: '30 3 * * *', timeZone: 'Europe/Berlin' });
  expect(await changed.sweep().run()).toBe(0);
  const { rows } = await sql.query(
    'select next_at > now() as later, last_at, definition from background_schedules where name = $1',
    [name],
  );
  expect(rows).toEqual([{ later: true, last_at: currentHour(), definition: '30 3 * * * Europe/Berlin' }]);
  expect(await jobsOf(name)).toHaveLength(1);
});

test('relays with the old and the new expression repeat no tick while they run side by side', async () => {
  const name = `side-by-side-${++count}`;
  const [old, current] = [createRelay({ name }).sweep(), createRelay({ name, cron: '0 */1 * * *' }).sweep()];
  await old.run();
  await current.run();
  await makeDue(name, 0);
  for (let i = 0; i < 3; i++) await Promise.all([old.run(), current.run()]);
  expect((await jobsOf(name)).length).toBeLessThanOrEqual(1);
});

test('a schedule that was removed from the app has no ticks, and begins anew when it is added again', async () => {
  const { name, sweep } = createRelay();
  await sweep().run();
  await makeDue(name, 9);
  const without = createApp({ resources: [defineUser()], jobs: [tidy] }, env);
  onTestFinished(() => without.close());
  for (const each of findAssembly(without)!.parts.sweeps!) if (each.name === 'job state') await each.run();
  expect(await sweep().run()).toBe(0);
  expect(await jobsOf(name)).toEqual([]);
});

test('a schedule that cannot be stored does not hold up the others', async () => {
  const [first, second] = [createRelay(), createRelay()];
  await first.sweep().run();
  await second.sweep().run();
  await makeDue(first.name, 0);
  await makeDue(second.name, 0);
  const locker = new Client({ connectionString: env.DATABASE_URL! });
  await locker.connect();
  await locker.query('begin');
  await locker.query('select from background_schedules where name = $1 for update', [first.name]);
  expect(await first.sweep().run()).toBe(0);
  expect(await second.sweep().run()).toBe(1);
  await locker.query('rollback');
  await locker.end();
  expect(await first.sweep().run()).toBe(1);
});
