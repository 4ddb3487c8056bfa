import { z } from 'zod';
import { limitRule, RULE_FORM } from './rule.ts';

const limitRuleOrFalse = z.union([limitRule, z.literal(false)], { error: `must be false or ${RULE_FORM}` });

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
