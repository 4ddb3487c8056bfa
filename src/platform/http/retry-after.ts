const MAX_WAIT_MS = 365 * 86_400_000;

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const TIME = '(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)';
const HTTP_DATES = [
  `(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\\d{4}) ${TIME} GMT`,
  `(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\\d{2}) ${TIME} GMT`,
  `(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?<month>[A-Z][a-z]{2}) (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})`,
].map((form) => new RegExp(`^${form}$`));

/**
 * Parses a `Retry-After` header (RFC 9110, 10.2.3): seconds, or a date in one of the three HTTP forms.
 * Fractions of a second, which the RFC does not allow but servers send, round up: `120.1` is 121 s.
 *
 * @param nowMs the current time, to which a date is compared, in epoch milliseconds
 * @returns milliseconds from now, 365 days at most; null if the value is missing, invalid, negative or in the past
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  const wait = /^\d+(\.\d+)?$/.test(text) ? Math.ceil(Number(text)) * 1_000 : parseHttpDate(text, nowMs) - nowMs;
  return wait >= 0 ? Math.min(wait, MAX_WAIT_MS) : null;
}

// Date.parse accepts almost any text that contains a number, and reads the asctime form as local time.
function parseHttpDate(text: string, nowMs: number): number {
  const parts = HTTP_DATES.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  const month = MONTHS.indexOf(parts?.month ?? '');
  if (!parts || month < 0) return Number.NaN;
  const [day, hour, minute, second] = [parts.day, parts.hour, parts.minute, parts.second].map(Number);
  const date = new Date(0);
  date.setUTCFullYear(expandYear(parts.year!, nowMs), month, day);
  if (date.getUTCDate() !== day) return Number.NaN;
  return date.setUTCHours(hour!, minute, second);
}

// RFC 9110, 5.6.7: a two-digit year that appears more than 50 years ahead is the most recent past year with the same digits.
function expandYear(digits: string, nowMs: number): number {
  if (digits.length === 4) return Number(digits);
  const latest = new Date(nowMs).getUTCFullYear() + 50;
  return latest - ((latest - Number(digits)) % 100);
}
