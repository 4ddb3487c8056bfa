import { z } from 'zod';
import { emailInput, emailShape, isStorable, UNSTORABLE } from '../../extension/index.ts';

const secret = (longest: number) =>
  z
    .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
    .max(longest, { error: `Must be at most ${longest} characters` })
    .refine(isStorable, { error: UNSTORABLE });

const token = secret(128).meta({ description: 'The `token` in the fragment of the link' });
const code = secret(32).meta({ description: 'The six-digit code in the e-mail', examples: ['482913'] });

const exactlyOne = <T extends { token?: string | undefined; code?: string | undefined }>(value: T) =>
  (value.token === undefined) !== (value.code === undefined);
const EXACTLY_ONE = { path: ['token'], error: 'Send either token or code' };

/** The body of `POST /auth/email/verify`. */
export const verifyInput = z
  .strictObject({
    token: token.optional(),
    code: code.optional(),
    verificationToken: secret(128)
      .optional()
      .meta({ description: 'The `verificationToken` of the registration or login; only if you have no session' }),
  })
  .refine(exactlyOne, EXACTLY_ONE);

/** The body of `POST /auth/email/confirm`. */
export const confirmInput = z
  .strictObject({ token: token.optional(), code: code.optional() })
  .refine(exactlyOne, EXACTLY_ONE);

/** The body of `POST /auth/email/undo`. */
export const undoInput = z.strictObject({ token });

/** The body of `POST /auth/email`. */
export const changeInput = z.strictObject({
  email: emailInput,
  code: secret(64)
    .optional()
    .meta({ description: 'A code of your authenticator app, or a recovery code; required with two-factor login' }),
});

/** The response to a request for an e-mail. */
export const messageShape = z.object({ message: z.string() });

/** The response that confirms an address. */
export const verifiedShape = z
  .object({ email: emailShape, emailVerifiedAt: z.iso.datetime() })
  .meta({ id: 'VerifiedEmail' });

/** The response to a registration or login of a user who must confirm their address first. */
export const verificationRequiredShape = z
  .object({
    emailVerificationRequired: z.literal(true),
    verificationToken: z
      .string()
      .meta({ description: 'Send it to `POST /api/auth/email/verify` with the code or the token of the e-mail' }),
  })
  .meta({ id: 'EmailVerificationRequired' });
