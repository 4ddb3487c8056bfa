import { z } from 'zod';
import { durationSetting } from '../../helpers/duration-setting.ts';

/** Maximum of `limit`: a billion requests. Larger numbers are typos. */
const MAX_LIMIT = 1_000_000_000;
/** Minimum of `windowMs`: a second, the unit of `RateLimit-Reset` and `Retry-After`. */
const MIN_WINDOW_MS = 1000;
/** Maximum of `windowMs`: a week. Larger numbers are typos. */
const MAX_WINDOW_MS = 7 * 86_400_000;

/** The required form of a rule, in words. */
export const RULE_FORM =
  '{ limit, windowMs }: a limit from 1 to a billion, a window from 1000 ms to 7 days, both whole numbers';

/** The schema of a limit: a number of requests per window in ms. */
export const limitRule = z.strictObject({
  limit: z.number().int().min(1).max(MAX_LIMIT),
  windowMs: z.number().int().min(MIN_WINDOW_MS).max(MAX_WINDOW_MS),
});

/** The schema of a setting that is a limit. Its window may be a text, such as `15m`. */
export const limitSetting = limitRule.extend({ windowMs: durationSetting('ms', limitRule.shape.windowMs) });

/** Allows at most `limit` requests in each window of `windowMs`; a window begins with the first request counted in it. */
export type LimitRule = z.output<typeof limitRule>;

const limitRuleOrFalse = z.union([limitSetting, z.literal(false)], { error: `must be false or ${RULE_FORM}` });

/** The section `rateLimit` of the settings. */
export const rateLimitSettings = z
  .strictObject({
    /** Whether rate limits apply. Undefined: in every mode except test mode. */
    enabled: z.boolean().optional(),
    /** The limit for each client over all routes; false: no limit. */
    global: limitRuleOrFalse.default({ limit: 300, windowMs: 60_000 }),
    /** The limit for each client and route with `rateLimit: 'auth'`; false: no limit. */
    auth: limitRuleOrFalse.default({ limit: 10, windowMs: 15 * 60_000 }),
  })
  .prefault({});
