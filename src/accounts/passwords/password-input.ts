import { z } from 'zod';
import { isStorable, UNSTORABLE } from '../../platform/data/postgres/values.ts';

/** A text that a body must have. */
export const requiredText = z
  .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
  .refine(isStorable, { error: UNSTORABLE });

/** Whether a password has at most 128 code points, the maximum for new passwords. The first check is cheap for long texts. */
const isWithinPasswordLength = (password: string) => password.length <= 256 && [...password].length <= 128;

/** The schema of a password to check. A password longer than any that can be set is refused before it is hashed. */
export const passwordToCheck = requiredText.refine(isWithinPasswordLength, { error: 'Must be at most 128 characters' });

/**
 * Adds the error of a missing password to those of a body without the other required field, so that both are named at once. Whether the
 * password is required at all is known only when the user is.
 *
 * @param password the name of the field with the password
 * @param other the name of the other field
 */
export function namePasswordIfNothingIsSent<T extends z.ZodObject>(body: T, password: string, other: string): T {
  const isNothingSent = (value: unknown) =>
    typeof value === 'object' && value !== null && !(password in value) && !(other in value);
  return body.refine((value) => !isNothingSent(value), {
    path: [password],
    error: 'Is required',
    when: ({ value }) => isNothingSent(value),
  });
}
