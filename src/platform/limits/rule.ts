import { z } from 'zod';

/** Up to a billion, in up to a week. More is a slip of the pen, and a timer of the fallback could not hold it. */
const MOST = 1_000_000_000;
const LONGEST_MS = 7 * 86_400_000;

/** What a rule must look like, in words. */
export const RULE_FORM =
  '{ limit, windowMs }: a limit from 1 to a billion, a window from 1 ms to 7 days, both whole numbers';

/** The form of a limit: so many in each window of so many ms. */
export const limitRule = z.strictObject({
  limit: z.number().int().min(1).max(MOST),
  windowMs: z.number().int().min(1).max(LONGEST_MS),
});

/** At most `limit` in each window of `windowMs`; a window begins with the first that is counted in it. */
export type LimitRule = z.output<typeof limitRule>;
