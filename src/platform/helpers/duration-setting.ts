import { z } from 'zod';
import { type DurationText, type DurationUnit, parseDuration, UNIT_MS } from './duration.ts';

const NAMES: Record<DurationUnit, string> = { ms: 'ms', s: 'seconds', m: 'minutes', h: 'hours', d: 'days' };

/** The longest time in ms that timers of Node.js can wait. For a longer one, they would not wait at all. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * The schema of a setting whose name ends in a unit, such as `timeoutMs` or `keepDays`: a number in that unit, or a text such as `30s`.
 *
 * @param unit the unit of the name
 * @param limits the schema of the number, in that unit
 * @example durationSetting('d', z.number().positive().max(36_500)).default(30)
 */
export function durationSetting<Limits extends z.ZodType<number>>(unit: DurationUnit, limits: Limits) {
  const readNumber = (value: unknown, context: z.core.$RefinementCtx): unknown => {
    const refuse = (message: string) => {
      context.issues.push({ code: 'custom', message, input: value });
      return z.NEVER;
    };
    const ms = typeof value === 'string' ? parseDuration(value) : undefined;
    if (typeof value === 'string' && ms === undefined)
      return refuse(`must be a number of ${NAMES[unit]}, or a duration such as "30s", "15m", "12h" or "7d"`);
    const number = ms === undefined ? value : ms / UNIT_MS[unit];
    if (unit === 'ms' && typeof number === 'number' && number > MAX_TIMER_MS)
      return refuse(`must be at most ${MAX_TIMER_MS}, about 24 days`);
    return number;
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
