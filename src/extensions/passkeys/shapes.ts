import { z } from 'zod';
import { boundedArraySchema, isStorable, requiredTextSchema, UNSTORABLE } from '../../extension/index.ts';
import { readClientData } from './client-data.ts';

const MAX_NAME = 64;
const MAX_TRANSPORTS = 10;
/** Of client data and authenticator data, in base64url. Real ones have a few hundred characters. */
const MAX_DATA = 4096;
/** Of an attestation object in base64url: a certificate chain that some authenticators add even if none was requested still fits. */
const MAX_ATTESTATION = 32_768;
/** WebAuthn allows 1023 bytes: 1364 characters of base64url. */
const MAX_CREDENTIAL_ID = 1364;

const base64url = (longest: number) =>
  requiredTextSchema(longest).regex(/^[\w-]+$/, { error: 'Must be base64url without padding' });

const clientDataJSON = base64url(MAX_DATA).refine((text) => readClientData(text) !== undefined, {
  error: 'Must be the client data of a passkey',
});

// Browsers add members to a credential from time to time, so unlike in other bodies, unknown members are ignored.
const credential = <Response extends z.ZodType>(response: Response) =>
  z.object(
    {
      id: base64url(MAX_CREDENTIAL_ID),
      rawId: base64url(MAX_CREDENTIAL_ID),
      type: z.literal('public-key', { error: 'Must be public-key' }),
      response,
    },
    { error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be the JSON of a credential') },
  );

const responseError = {
  error: (issue: { input?: unknown }) => (issue.input === undefined ? 'Is required' : 'Must be an object'),
};

const attestation = credential(
  z.object(
    {
      clientDataJSON,
      attestationObject: base64url(MAX_ATTESTATION),
      transports: boundedArraySchema(z.string({ error: 'Must be a string' }), {
        max: MAX_TRANSPORTS,
        error: 'Must be an array of strings',
      }).optional(),
    },
    responseError,
  ),
).meta({
  description: 'The JSON of the credential that `navigator.credentials.create()` returned: `credential.toJSON()`',
});

const assertion = credential(
  z.object(
    {
      clientDataJSON,
      authenticatorData: base64url(MAX_DATA),
      signature: base64url(MAX_DATA),
      userHandle: requiredTextSchema(128).nullish(),
    },
    responseError,
  ),
).meta({
  description: 'The JSON of the credential that `navigator.credentials.get()` returned: `credential.toJSON()`',
});

/** The response of an authenticator that created a passkey. */
export type Attestation = z.output<typeof attestation>;

/** The response of an authenticator that used a passkey. */
export type Assertion = z.output<typeof assertion>;

const name = z
  .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
  .trim()
  .min(1, { error: 'Is required' })
  .max(MAX_NAME, { error: `Must be at most ${MAX_NAME} characters` })
  .refine(isStorable, { error: UNSTORABLE })
  .meta({ description: 'A name of your choice', pattern: '\\S' });

const code = z.string({ error: 'Must be a string' }).max(64, { error: 'Must be at most 64 characters' });

/** The optional body of `POST /auth/passkeys/options`. */
export const startRegistrationInput = z.strictObject({
  code: code
    .optional()
    .meta({ description: 'A code of your authenticator app, or a recovery code; required with two-factor login' }),
});

/** The optional body of `DELETE /admin/users/:id/passkeys`. */
export const removeByAdminInput = z.strictObject({
  code: code.optional().meta({ description: 'A code of the admin’s own second factor; required if they have one' }),
});

/** The body of `POST /auth/passkeys`. */
export const registrationInput = z.strictObject({ response: attestation, name: name.default('Passkey') });

/** The body of `PATCH /auth/passkeys/:passkeyId`. */
export const renameInput = z.strictObject({ name });

/** The body of `POST /auth/passkeys/sign-in`. */
export const signInInput = z.strictObject({
  challengeId: requiredTextSchema(128).meta({ description: 'The `challengeId` of the options' }),
  response: assertion,
});

/** The body of `POST /auth/passkeys/confirm`. */
export const confirmationInput = z.strictObject({ response: assertion });

/** The body of `POST /auth/passkeys/second-factor`. */
export const secondFactorInput = z.strictObject({
  mfaToken: requiredTextSchema(128).meta({ description: 'The `mfaToken` of the login' }),
  response: assertion,
});

/** A passkey as its user sees it. */
export const passkeyShape = z
  .object({
    id: z.string(),
    name: z.string(),
    createdAt: z.iso.datetime(),
    lastUsedAt: z.iso.datetime().nullable(),
    backedUp: z.boolean().meta({ description: 'Whether the passkey was backed up when it was last used' }),
    deviceType: z
      .enum(['singleDevice', 'multiDevice'])
      .meta({ description: 'Whether the passkey stays on one device or can be synced to others' }),
    transports: z.array(z.string()).meta({ description: 'How browsers reach the passkey', examples: [['internal']] }),
  })
  .meta({ id: 'Passkey' });

/** The options for `navigator.credentials.create()`. */
export const creationOptionsShape = z
  .looseObject({ challenge: z.string(), rp: z.looseObject({}), user: z.looseObject({}) })
  .meta({
    id: 'PasskeyCreationOptions',
    description: 'Pass it to `PublicKeyCredential.parseCreationOptionsFromJSON()`',
  });

/** The options for `navigator.credentials.get()`. */
export const requestOptionsShape = z
  .looseObject({ challenge: z.string(), rpId: z.string() })
  .meta({ id: 'PasskeyRequestOptions', description: 'Pass it to `PublicKeyCredential.parseRequestOptionsFromJSON()`' });

/** The response to `POST /auth/passkeys/sign-in/options`. */
export const signInOptionsShape = z
  .object({
    challengeId: z.string().meta({ description: 'Send it to `POST /api/auth/passkeys/sign-in`' }),
    expiresAt: z.iso.datetime().meta({ description: 'The deadline for the sign-in' }),
    options: requestOptionsShape,
  })
  .meta({ id: 'PasskeySignInOptions' });

/** The response to a login whose user needs a passkey as the second factor. */
export const secondFactorShape = z
  .object({
    mfaRequired: z.literal(true),
    mfaToken: z.string().meta({ description: 'Send it to `POST /api/auth/passkeys/second-factor`' }),
    methods: z.array(z.literal('passkey')).min(1),
    expiresAt: z.iso.datetime().meta({ description: 'The deadline for the response of the passkey' }),
    options: requestOptionsShape,
  })
  // Validators of OpenAPI documents do not compare `methods`. They accept the number of members as the difference from `MfaRequired`.
  .meta({ id: 'PasskeyMfaRequired', minProperties: 5 });
