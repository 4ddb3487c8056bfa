import { z } from 'zod';

const MAX_CODE = 64;

/** A code of the administrator's second factor, in the body of an action. */
export const secondFactorCode = z
  .string({ error: 'Must be a string' })
  .max(MAX_CODE, { error: `Must be at most ${MAX_CODE} characters` })
  .optional();
