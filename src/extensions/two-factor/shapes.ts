import { z } from 'zod';
import { namePasswordIfNothingIsSent, passwordToCheck, requiredTextSchema } from '../../extension/index.ts';
import { CODE_METHODS } from './attempt.ts';

const code = requiredTextSchema(64);
const password = passwordToCheck
  .optional()
  .meta({ description: 'Required unless you have no password; then you must have signed in recently' });

/** The body of `POST /auth/2fa/enrol`. */
export const passwordInput = z.strictObject({ password });

/** The body of `POST /auth/2fa/confirm`. */
export const codeInput = z.strictObject({ code });

/** The body of `POST /auth/2fa/verify`. */
export const verifyInput = z.strictObject({
  mfaToken: requiredTextSchema(128).meta({ description: 'The `mfaToken` of the login' }),
  method: z.enum(CODE_METHODS, {
    error: (issue) => (issue.input === undefined ? 'Is required' : `Must be one of: ${CODE_METHODS.join(', ')}`),
  }),
  code: code.meta({ description: 'The current code of the authenticator app, or a recovery code' }),
});

/** The body of `POST /auth/2fa/disable`. */
export const disableInput = namePasswordIfNothingIsSent(
  z.strictObject({
    password,
    code: code.meta({ description: 'The current code of the authenticator app, or a recovery code' }),
  }),
  'password',
  'code',
);

/** The body of `POST /auth/2fa/recovery-codes`. */
export const renewInput = z.strictObject({
  password: passwordToCheck.optional().meta({ description: 'Verified if present' }),
  code: code.meta({ description: 'The current code of the authenticator app, or a recovery code' }),
});

/** The optional body of `DELETE /admin/users/:id/2fa`. */
export const disableByAdminInput = z.strictObject({
  code: code.optional().meta({ description: 'A code of the admin’s own second factor; required if they have one' }),
});

const methods = z.array(z.enum(CODE_METHODS));
const codes = z.array(z.string().meta({ examples: ['k3hf-9wxa-m2pq-7tzc'] }));

/** The response to a login whose user has a second factor. */
export const challengeShape = z
  .object({
    mfaRequired: z.literal(true),
    mfaToken: z.string().meta({ description: 'Send it to `POST /api/auth/2fa/verify` with a code' }),
    methods: methods.meta({ description: 'The kinds of code that the user can enter' }),
    expiresAt: z.iso.datetime().meta({ description: 'The deadline for the code' }),
  })
  .meta({ id: 'MfaRequired' });

/** The response to `GET /auth/2fa`. */
export const statusShape = z
  .object({
    enabled: z.boolean(),
    methods,
    recoveryCodesLeft: z.int(),
    enabledAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'TwoFactorStatus' });

/** The response to an enrolment. */
export const enrolmentShape = z
  .object({
    secret: z.string().meta({ description: 'Base32, to enter into an app by hand. It is only returned here.' }),
    otpauthUrl: z.string().meta({ description: 'The URL that opens an authenticator app' }),
    qrCode: z.string().meta({ description: 'The URL as a QR code: the data URL of a PNG' }),
  })
  .meta({ id: 'TwoFactorEnrolment' });

/** The response with new recovery codes. */
export const recoveryCodesShape = z
  .object({ recoveryCodes: codes.meta({ description: 'Each works once. They are only returned here.' }) })
  .meta({ id: 'RecoveryCodes' });
