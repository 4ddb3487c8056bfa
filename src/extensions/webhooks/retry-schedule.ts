const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const LONGEST_WAIT_MS = 365 * UNIT_MS.d!;
const JITTER = 0.2;

/** The waits between the attempts of a delivery in milliseconds: 5 s, 30 s, 2 min, 10 min, 30 min, 2 h, 6 h. */
export const DEFAULT_RETRY_SCHEDULE: readonly number[] = [
  5_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000, 21_600_000,
];

/**
 * Reads the `retrySchedule` setting.
 *
 * @param list waits as milliseconds or as text with a unit: `'500ms'`, `'30s'`, `'5m'`, `'2h'`, `'1d'`. Empty: never retry
 * @returns the waits in milliseconds
 * @throws Error that lists every entry that is not a wait of 0 to 365 days
 */
export function parseSchedule(list: readonly (number | string)[]): number[] {
  const waits = list.map(parseWait);
  const faults = list.filter((_, index) => waits[index] === null).map((entry) => JSON.stringify(entry));
  if (faults.length > 0) {
    throw new Error(
      `retrySchedule: ${faults.join(', ')} is not a wait; write milliseconds or '30s', '5m', '2h', '1d', up to 365 days`,
    );
  }
  return waits.filter((wait) => wait !== null);
}

function parseWait(entry: unknown): number | null {
  const [, count, unit] = typeof entry === 'string' ? (/^(\d{1,12})(ms|s|m|h|d)$/.exec(entry.trim()) ?? []) : [];
  const wait = unit ? Number(count) * UNIT_MS[unit]! : entry;
  return typeof wait === 'number' && Number.isInteger(wait) && wait >= 0 && wait <= LONGEST_WAIT_MS ? wait : null;
}

/**
 * How long to wait before the next attempt of a delivery.
 *
 * @param plan `schedule`: the waits in ms; `attempt`: how many attempts were made since the schedule began, the failed one included,
 *   1 or more; `retryAfterMs`: what the receiver asked for; `random`: gives [0, 1), for tests
 * @returns whole milliseconds: the schedule's wait ±20%, but no less than the receiver asked for, whose wish counts up to
 *   the schedule's longest wait; null when the schedule is used up
 * @throws RangeError when `attempt` is not a positive integer
 */
export function nextAttemptDelay({
  schedule,
  attempt,
  retryAfterMs,
  random = Math.random,
}: {
  schedule: readonly number[];
  attempt: number;
  retryAfterMs?: number | null;
  random?: () => number;
}): number | null {
  if (!Number.isInteger(attempt) || attempt < 1) throw new RangeError(`attempt counts from 1, not ${attempt}`);
  const wait = schedule[attempt - 1];
  if (wait === undefined) return null;
  const least = Math.ceil(wait * (1 - JITTER));
  const most = Math.floor(wait * (1 + JITTER));
  const jittered = least + Math.floor(random() * (most - least + 1));
  return Math.max(jittered, Math.min(retryAfterMs ?? 0, Math.max(...schedule)));
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const TIME = '(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)';
const HTTP_DATES = [
  `(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\\d{4}) ${TIME} GMT`,
  `(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\\d{2}) ${TIME} GMT`,
  `(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?<month>[A-Z][a-z]{2}) (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})`,
].map((form) => new RegExp(`^${form}$`));

/**
 * Reads a `Retry-After` header (RFC 9110, 10.2.3): seconds, or a date in one of the three HTTP forms.
 * Fractions of a second, which the RFC does not know but servers send, round up: `120.1` is 121 s.
 *
 * @param nowMs the time against which a date is read, epoch milliseconds
 * @returns milliseconds from now, 365 days at most; null when it is missing, no valid value, negative or past
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  const text = value?.trim() ?? '';
  const wait = /^\d+(\.\d+)?$/.test(text) ? Math.ceil(Number(text)) * 1_000 : parseHttpDate(text, nowMs) - nowMs;
  return wait >= 0 ? Math.min(wait, LONGEST_WAIT_MS) : null;
}

// Date.parse takes almost any text that holds a number for a date, and reads the asctime form as local time.
function parseHttpDate(text: string, nowMs: number): number {
  const parts = HTTP_DATES.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  const month = MONTHS.indexOf(parts?.month ?? '');
  if (!parts || month < 0) return Number.NaN;
  const [day, hour, minute, second] = [parts.day, parts.hour, parts.minute, parts.second].map(Number);
  const date = new Date(0);
  date.setUTCFullYear(fullYear(parts.year!, nowMs), month, day);
  if (date.getUTCDate() !== day) return Number.NaN;
  return date.setUTCHours(hour!, minute, second);
}

// RFC 9110, 5.6.7: a two-digit year that would lie more than 50 years ahead is the last past one with those digits.
function fullYear(digits: string, nowMs: number): number {
  if (digits.length === 4) return Number(digits);
  const latest = new Date(nowMs).getUTCFullYear() + 50;
  return latest - ((latest - Number(digits)) % 100);
}
