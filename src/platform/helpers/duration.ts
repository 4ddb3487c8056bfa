export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** The ms of each unit. */
export const UNIT_MS = { ms: 1, s: 1000, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

/** A unit of a duration: ms, seconds, minutes, hours or days. */
export type DurationUnit = keyof typeof UNIT_MS;

/** A duration as a text: `30s`, `1.5h`, `7d`. */
export type DurationText = `${number}${DurationUnit}`;

/** Reads a duration such as `500ms`, `30s`, `1.5h` or `7d`. Returns ms; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d)$/.exec(text.trim()) ?? [];
  // Rounded to nanoseconds: 1.1 * 1000 would be 1100.0000000000002.
  return unit === undefined ? undefined : Number((Number(count) * UNIT_MS[unit as DurationUnit]).toFixed(6));
}
