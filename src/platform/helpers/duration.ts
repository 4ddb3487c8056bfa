import { z } from 'zod';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

const UNIT_MS = { ms: 1, s: 1000, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

/** A unit of a duration: ms, seconds, minutes, hours or days. */
type DurationUnit = keyof typeof UNIT_MS;

/** A duration as a text: `30s`, `1.5h`, `7d`. */
export type DurationText = `${number}${DurationUnit}`;

const NAMES: Record<DurationUnit, string> = { ms: 'ms', s: 'seconds', m: 'minutes', h: 'hours', d: 'days' };

/** Reads a duration such as `500ms`, `30s`, `1.5h` or `7d`. Returns ms; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d)$/.exec(text.trim()) ?? [];
  // Rounded to nanoseconds: 1.1 * 1000 would be 1100.0000000000002.
  return unit === undefined ? undefined : Number((Number(count) * UNIT_MS[unit as DurationUnit]).toFixed(6));
}

/**
 * The schema of a setting whose name ends in a unit, such as `timeoutMs` or `keepDays`: a number in that unit, or a text such as `30s`.
 *
 * @param unit the unit of the name
 * @param limits the schema of the number, in that unit
 * @example durationSetting('d', z.number().positive().max(36_500)).default(30)
 */
export function durationSetting<Limits extends z.ZodType<number>>(unit: DurationUnit, limits: Limits) {
  const readNumber = (value: unknown, context: z.core.$RefinementCtx): unknown => {
    if (typeof value !== 'string') return value;
    const ms = parseDuration(value);
    if (ms !== undefined) return ms / UNIT_MS[unit];
    const message = `must be a number of ${NAMES[unit]}, or a duration such as "30s", "15m", "12h" or "7d"`;
    context.issues.push({ code: 'custom', message, input: value });
    return z.NEVER;
  };
  return z.preprocess<unknown, Limits, number | DurationText>(readNumber, limits);
}

/**
 * The schema of a setting that is a lifetime, such as `ttl`: a text such as `15m` or `7d`. Its value is in ms.
 *
 * @param max the maximum, in the same form
 * @param min the minimum. Default: greater than 0
 */
export function lifetimeSetting(max: DurationText, min?: DurationText) {
  const [least, most] = [min === undefined ? 0 : parseDuration(min)!, parseDuration(max)!];
  const range = min === undefined ? `greater than 0 and at most ${max}` : `from ${min} to ${max}`;
  const error = `must be a duration such as "30s", "15m", "12h" or "7d", ${range}`;
  return z
    .custom<DurationText>((value) => typeof value === 'string', { error })
    .transform((text) => parseDuration(text) ?? Number.NaN)
    .refine((ms) => ms > 0 && ms >= least && ms <= most, { error })
    .meta({ range });
}
