import { z } from 'zod';
import { passwordToCheck } from '../../accounts/sign-in/login.ts';
import { METHODS } from './attempt.ts';

const text = (longest: number) =>
  z
    .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
    .max(longest, { error: `Must be at most ${longest} characters` });
const code = text(64);

/** The body of an enrolment. */
export const passwordInput = z.strictObject({ password: passwordToCheck });

/** The body of a confirmation. */
export const codeInput = z.strictObject({ code });

/** The body of a second step. */
export const verifyInput = z.strictObject({
  mfaToken: text(128).meta({ description: 'As the login gave it' }),
  method: z.enum(METHODS, {
    error: (issue) => (issue.input === undefined ? 'Is required' : `Must be one of: ${METHODS.join(', ')}`),
  }),
  code: code.meta({ description: 'What the authenticator app shows, or a recovery code' }),
});

/** The body that turns two-factor off. */
export const disableInput = z.strictObject({
  password: passwordToCheck,
  code: code.meta({ description: 'What the authenticator app shows, or a recovery code' }),
});

/** The body that asks for new recovery codes. */
export const renewInput = z.strictObject({
  password: passwordToCheck.optional().meta({ description: 'Checked when it is given' }),
  code: code.meta({ description: 'What the authenticator app shows, or a recovery code' }),
});

/** The body that turns two-factor off for another user: it may be left out. */
export const disableByAdminInput = z.strictObject({
  code: code.optional().meta({ description: 'Of the admin’s own second factor; required when they have one' }),
});
