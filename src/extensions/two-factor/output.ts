import { z } from 'zod';
import { METHODS } from './attempt.ts';

const methods = z.array(z.enum(METHODS));
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
    secret: z.string().meta({ description: 'To type into an app: base32. It is only returned here.' }),
    otpauthUrl: z.string().meta({ description: 'The URL that opens an authenticator app' }),
    qrCode: z.string().meta({ description: 'The URL as a QR code: the data URL of a PNG' }),
  })
  .meta({ id: 'TwoFactorEnrolment' });

/** The response with new recovery codes. */
export const recoveryCodesShape = z
  .object({ recoveryCodes: codes.meta({ description: 'Each works once. They are only returned here.' }) })
  .meta({ id: 'RecoveryCodes' });
