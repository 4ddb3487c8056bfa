import { Cron } from 'croner';

/** Only what every implementation of cron understands, so not the L, W, # and @daily of croner. */
const FIELD = /^[\d*/,-]+$|^(?:\d|[A-Z]{3}|[*/,-])+$/i;
const NAMES = /[A-Z]+/gi;
const KNOWN_NAMES = new Set('JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC SUN MON TUE WED THU FRI SAT'.split(' '));

/** A cron expression in a time zone. */
export interface CronTicks {
  /** Returns the first tick after a time, in epoch ms; undefined if there is none. */
  next(afterMs: number): number | undefined;
  /** Returns the latest ticks up to a time, newest first. */
  latest(count: number, untilMs: number): number[];
}

/** Whether the platform knows a time zone. */
export function isTimeZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns what is wrong with a cron expression; undefined if nothing is.
 *
 * @param now epoch ms
 */
export function findCronError(cron: string, now: number): string | undefined {
  const fields = cron.trim().split(/\s+/);
  if (fields.length === 6)
    return 'has six fields, but a schedule has a tick at most once per minute. Remove the seconds';
  if (fields.length !== 5) return 'must have five fields: minute, hour, day of month, month, day of week';
  const isKnown = (field: string) =>
    FIELD.test(field) && (field.match(NAMES) ?? []).every((name) => KNOWN_NAMES.has(name.toUpperCase()));
  const unknown = fields.find((field) => !isKnown(field));
  if (unknown !== undefined) return `"${unknown}" is not a field of a cron expression, such as 5, */10, 1-5 or MON,THU`;
  try {
    return parseCron(cron, 'UTC').next(now) === undefined ? 'never has a tick' : undefined;
  } catch (error) {
    // croner begins its messages with the name of its class.
    return `is malformed: ${(error as Error).message.replace(/^\w+: /, '')}`;
  }
}

/**
 * Parses a cron expression. At a change to or from daylight saving time, a tick with a fixed hour and minute in the skipped hour comes at
 * the end of the gap, and one in the repeated hour comes once, the first time. With `*` or a step as hour or minute, ticks follow the real
 * time: none in the gap, and ticks in both of the repeated hours.
 *
 * @throws TypeError if it is malformed
 */
export function parseCron(cron: string, timeZone: string): CronTicks {
  const parsed = new Cron(cron.trim(), {
    mode: '5-part',
    timezone: timeZone,
    fixedTimeRule: 'no-wildcard',
    paused: true,
  });
  return {
    next: (afterMs) => parsed.nextRun(new Date(afterMs))?.getTime(),
    // croner looks for ticks before the second, so ask for those before the next one.
    latest: (count, untilMs) => parsed.previousRuns(count, new Date(untilMs + 1000)).map((tick) => tick.getTime()),
  };
}
