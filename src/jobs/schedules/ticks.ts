import type { Executor } from '../../platform/data/postgres/queryable.ts';
import { newId } from '../../platform/helpers/ids.ts';
import type { Logger } from '../../platform/observability/log.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Sweep } from '../../platform/work/outbox/relay.ts';
import { createQueueEntries, queueOfJob } from '../queue/queue.ts';
import type { CompiledSchedule } from './declarations.ts';

const EVERY_MS = 1000;
/** The maximum number of missed ticks that are enqueued. */
const MAX_CAUGHT_UP = 100;
/** A tick that is older was missed: no relay was running when it was due. */
const MISSED_AFTER_MS = 60_000;

// Schedules that need attention: new, changed, or due.
const FIND_DUE = `
  select s.name from unnest($1::text[], $2::text[]) s(name, definition)
  left join background_schedules known on known.name = s.name
  where known.name is null or known.definition <> s.definition or known.next_at <= now()`;
const INSERT = `
  insert into background_schedules (name, definition, next_at) values ($1, $2, to_timestamp($3::float8 / 1000))
  on conflict do nothing`;
// A locked row is being handled by another relay.
const CLAIM = `
  select definition, extract(epoch from next_at)::float8 * 1000, extract(epoch from last_at)::float8 * 1000,
    extract(epoch from now())::float8 * 1000
  from background_schedules where name = $1 for update skip locked`;
const MOVE_ON = `
  update background_schedules set definition = $2, next_at = to_timestamp($3::float8 / 1000),
    last_at = coalesce(to_timestamp($4::float8 / 1000), last_at)
  where name = $1`;
// Uses index background_jobs_open_tick_index.
const FIND_OPEN = 'select id from background_jobs where schedule = $1 and finished_at is null limit 1';
// Uses index background_jobs_tick_index: a tick is enqueued once.
const INSERT_JOBS = `
  insert into background_jobs (id, name, input, scheduled_at, schedule, created_at)
  select tick.id, $3, $4::jsonb, to_timestamp(tick.at / 1000), $5, clock_timestamp()
  from unnest($1::text[], $2::float8[]) tick(id, at)
  on conflict (schedule, scheduled_at) where schedule is not null do nothing
  returning id`;

/** A far future, for a schedule without further ticks: croner ends at the year 10,000. */
const NEVER_MS = Date.UTC(9999, 0);

/** The ticks that are due. */
interface DueTicks {
  /** The ticks to enqueue, oldest first, in epoch ms. */
  enqueued: number[];
  /** The latest tick that is due. */
  last: number;
  /** How many ticks were missed and are not enqueued, counted up to 100. */
  dropped: number;
}

/**
 * Decides which ticks from `nextAt` to `now` are enqueued.
 *
 * @returns undefined if no tick is due
 */
export function selectDueTicks(
  { ticks, catchUp }: Pick<CompiledSchedule, 'ticks' | 'catchUp'>,
  nextAt: number,
  now: number,
): DueTicks | undefined {
  const due = ticks
    .latest(MAX_CAUGHT_UP + 1, now)
    .filter((tick) => tick >= nextAt && tick <= now)
    .reverse();
  const last = due.at(-1);
  if (last === undefined) return undefined;
  const isOnTime = now - last <= MISSED_AFTER_MS;
  const kept = { none: isOnTime ? 1 : 0, latest: 1, all: MAX_CAUGHT_UP }[catchUp];
  const enqueued = kept === 0 ? [] : due.slice(-kept);
  return { enqueued, last, dropped: due.length - enqueued.length };
}

type SweepDependencies = Pick<Platform, 'database' | 'log'>;

/** Whether the job of an earlier tick is still open. */
async function isBusy(tx: Executor, { name }: CompiledSchedule): Promise<boolean> {
  return (await tx.write({ text: FIND_OPEN, values: [name] })).length > 0;
}

/** Stores the jobs of due ticks. Returns their ids. */
async function enqueueTicks(
  tx: Executor,
  log: Logger,
  schedule: CompiledSchedule,
  { enqueued, dropped, last }: DueTicks,
): Promise<string[]> {
  const { name, job, input, overlap, catchUp } = schedule;
  const tick = new Date(last).toISOString();
  const isAtLeast = dropped + enqueued.length > MAX_CAUGHT_UP;
  if (dropped > 0) {
    const level = catchUp === 'all' ? 'warn' : 'info';
    log[level](
      { schedule: name, tick, dropped: isAtLeast ? `at least ${dropped}` : dropped },
      'missed ticks of a schedule are not enqueued',
    );
  }
  if (enqueued.length === 0) return [];
  // Several missed ticks (`catchUp: 'all'`) are all enqueued, even while the job of an earlier one is open.
  if (overlap === 'skip' && enqueued.length === 1 && (await isBusy(tx, schedule))) {
    log.info(
      { schedule: name, tick },
      'a tick of a schedule is skipped, because the job of an earlier one is still open',
    );
    return [];
  }
  const values = [enqueued.map(() => newId()), enqueued, job.name, input, name];
  return (await tx.write<[string]>({ text: INSERT_JOBS, values })).map(([id]) => id);
}

/**
 * Handles the due ticks of a schedule in one transaction. Returns the ids of the new jobs.
 *
 * @param firstAt when this process ran the sweep first: ticks of a new schedule before that are not missed ones
 */
async function handleSchedule(
  { database, log }: SweepDependencies,
  schedule: CompiledSchedule,
  firstAt: number,
): Promise<string[]> {
  const { name, definition, ticks } = schedule;
  const nextAfter = (afterMs: number) => ticks.next(afterMs) ?? NEVER_MS;
  return database.transaction(async (tx) => {
    await tx.write({ text: INSERT, values: [name, definition, nextAfter(firstAt)] });
    type Row = [definition: string, nextAt: number, lastAt: number | null, now: number];
    const [row] = await tx.write<Row>({ text: CLAIM, values: [name] });
    if (row === undefined) return [];
    const [known, storedNextAt, lastAt, now] = row;
    // Ticks of a new definition count from the start of this process: earlier ticks are not made up.
    const nextAt = known === definition ? storedNextAt : nextAfter(Math.max(lastAt ?? 0, firstAt));
    const due = nextAt > now ? undefined : selectDueTicks(schedule, nextAt, now);
    const ids = due === undefined ? [] : await enqueueTicks(tx, log, schedule, due);
    const movedTo = nextAt > now ? nextAt : nextAfter(now);
    await tx.write({ text: MOVE_ON, values: [name, definition, movedTo, due?.last] });
    return ids;
  });
}

/** Creates the sweep that enqueues the jobs of schedules. Each tick is enqueued once, however many relays run the sweep. */
export function createScheduleSweep(
  { database, queues, log }: Pick<Platform, 'database' | 'queues' | 'log'>,
  schedules: readonly CompiledSchedule[],
): Sweep {
  const byName = new Map(schedules.map((schedule) => [schedule.name, schedule]));
  const names = [...byName.keys()];
  const definitions = schedules.map(({ definition }) => definition);
  let startedAt: number | undefined;

  return {
    name: 'job schedules',
    everyMs: EVERY_MS,
    async run() {
      startedAt ??= Date.now();
      const firstAt = startedAt;
      const values = [names, definitions];
      const found = await database.write<[string]>({ name: 'job_schedules_due', text: FIND_DUE, values });
      let count = 0;
      // Each schedule has a transaction of its own, so that one that fails does not hold up the others.
      const results = await Promise.allSettled(
        found.map(async ([name]) => {
          const schedule = byName.get(name)!;
          const ids = await handleSchedule({ database, log }, schedule, firstAt);
          count += ids.length;
          await queues.add(queueOfJob(schedule.job.name), createQueueEntries(ids.map((id) => ({ id, claims: 0 }))));
        }),
      );
      for (const result of results) if (result.status === 'rejected') throw result.reason;
      return count;
    },
  };
}
