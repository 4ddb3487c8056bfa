import { z } from 'zod';
import { passwordToCheck } from '../../accounts/sign-in/login.ts';
import { METHODS } from './attempt.ts';

const text = (longest: number) =>
  z
    .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
    .max(longest, { error: `Must be at most ${longest} characters` });
const code = text(64);

/** The body of `POST /auth/2fa/enrol`. */
export const passwordInput = z.strictObject({ password: passwordToCheck });

/** The body of `POST /auth/2fa/confirm`. */
export const codeInput = z.strictObject({ code });

/** The body of `POST /auth/2fa/verify`. */
export const verifyInput = z.strictObject({
  mfaToken: text(128).meta({ description: 'The `mfaToken` of the login' }),
  method: z.enum(METHODS, {
    error: (issue) => (issue.input === undefined ? 'Is required' : `Must be one of: ${METHODS.join(', ')}`),
  }),
  code: code.meta({ description: 'What the authenticator app shows, or a recovery code' }),
});

/** The body of `POST /auth/2fa/disable`. */
export const disableInput = z.strictObject({
  password: passwordToCheck,
  code: code.meta({ description: 'What the authenticator app shows, or a recovery code' }),
});

/** The body of `POST /auth/2fa/recovery-codes`. */
export const renewInput = z.strictObject({
  password: passwordToCheck.optional().meta({ description: 'Checked when it is given' }),
  code: code.meta({ description: 'What the authenticator app shows, or a recovery code' }),
});

/** The optional body of `DELETE /admin/users/:id/2fa`. */
export const disableByAdminInput = z.strictObject({
  code: code.optional().meta({ description: 'A code of the admin’s own second factor; required if they have one' }),
});
