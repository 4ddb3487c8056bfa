import { z } from 'zod';
import { passwordToCheck } from '../../../accounts/sign-in/login.ts';
import { isId } from '../../../platform/ids.ts';

const MOST = 200;
const id = z.string().refine(isId, { error: 'Must be an id' });
const limitError = { error: `Must be a whole number from 1 to ${MOST}` };

/** The body by which a user has their account erased. */
export const eraseInput = z.strictObject({
  password: passwordToCheck,
  code: z
    .string({ error: 'Must be a string' })
    .max(64, { error: 'Must be at most 64 characters' })
    .optional()
    .meta({ description: 'With two-factor: what the authenticator app shows, or a recovery code' }),
});

/** The query of the list. */
export const listQuery = z.strictObject({
  user: id.optional().meta({ description: 'The id of a user' }),
  status: z.enum(['running', 'finished'], { error: 'Must be one of: running, finished' }).optional(),
  after: id.optional().meta({ description: 'The `meta.next` of the page before' }),
  limit: z.coerce.number(limitError).int(limitError).min(1, limitError).max(MOST, limitError).default(50),
});
