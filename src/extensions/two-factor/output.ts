import { z } from 'zod';
import { METHODS } from './attempt.ts';

const methods = z.array(z.enum(METHODS));
const codes = z.array(z.string().meta({ examples: ['k3hf-9wxa-m2pq-7tzc'] }));

/** The shape of the answer to a login whose user has a second factor. */
export const challengeShape = z
  .object({
    mfaRequired: z.literal(true),
    mfaToken: z.string().meta({ description: 'Sent to `POST /api/auth/2fa/verify` with a code' }),
    methods: methods.meta({ description: 'What the user can show' }),
    expiresAt: z.iso.datetime().meta({ description: 'Until when the code must have come' }),
  })
  .meta({ id: 'MfaRequired' });

/** The shape of a user's state. */
export const statusShape = z
  .object({
    enabled: z.boolean(),
    methods,
    recoveryCodesLeft: z.int(),
    enabledAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'TwoFactorStatus' });

/** The shape of the answer to an enrolment. */
export const enrolmentShape = z
  .object({
    secret: z.string().meta({ description: 'For typing in: base32. It is shown this once.' }),
    otpauthUrl: z.string().meta({ description: 'What opens an authenticator app' }),
    qrCode: z.string().meta({ description: 'The same as a QR code: the data URL of a PNG' }),
  })
  .meta({ id: 'TwoFactorEnrolment' });

/** The shape of the answer that holds new recovery codes. */
export const recoveryCodesShape = z
  .object({ recoveryCodes: codes.meta({ description: 'Each works once. They are shown this once.' }) })
  .meta({ id: 'RecoveryCodes' });
