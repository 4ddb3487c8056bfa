import { z } from 'zod';
import { isStorable, requiredTextSchema } from '../../extension/index.ts';
import { PROVIDER_ICONS } from './provider/settings.ts';

const requiredText = (max: number) =>
  requiredTextSchema(max).refine(isStorable, { error: 'Must not contain invalid characters' });

const codeChallenge = z
  .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
  .regex(/^[\w-]{43}$/, { error: 'Must be the SHA-256 of the code verifier in base64url, 43 characters' })
  .meta({ description: 'The S256 challenge of a code verifier (RFC 7636) that your front end keeps' });
const redirectUrl = requiredText(2048)
  .optional()
  .meta({ description: 'One of the addresses in the setting `redirectUrls`. Default: the first one' });
const codeVerifier = z
  .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
  .regex(/^[\w.~-]{43,128}$/, { error: 'Must be 43 to 128 letters, digits or - . _ ~' })
  .meta({ description: 'The code verifier whose challenge started the sign-in' });
const code = requiredText(128).meta({ description: 'The `code` in the query of your page' });

/** The query of `GET /auth/oidc/:provider/start`. */
export const startQuery = z.strictObject({ redirectUrl, codeChallenge });

/** The body of `POST /auth/oidc/:provider/link`. */
export const linkInput = z.strictObject({ redirectUrl, codeChallenge });

/** The query of `GET /auth/oidc/:provider/link`. */
export const ticketQuery = z.strictObject({ ticket: requiredText(64) });

/** The body of `POST /auth/oidc/exchange` and of `POST /auth/oidc/:provider/link/complete`. */
export const exchangeInput = z.strictObject({ code, codeVerifier });

/** The body of `POST /auth/oidc/:provider/token`. */
export const tokenInput = z.strictObject({
  idToken: requiredText(16_384).meta({ description: 'The ID token from the SDK of the provider' }),
  nonce: requiredText(64).meta({ description: 'The nonce with which the ID token was requested' }),
  name: requiredText(100)
    .optional()
    .meta({ description: 'The name of a new user, if the provider tells it only to the app, as Apple does' }),
});

/** The response to `GET /auth/oidc`. */
export const providersShape = z.array(
  z
    .object({
      provider: z.string().meta({ examples: ['google'] }),
      name: z.string().meta({ examples: ['Google'] }),
      icon: z.enum(PROVIDER_ICONS).optional().meta({ description: 'The logo, for sign-in pages' }),
    })
    .meta({ id: 'SignInProvider' }),
);

/** The response to `POST /auth/oidc/:provider/nonce`. */
export const nonceShape = z.object({ nonce: z.string(), expiresAt: z.iso.datetime() }).meta({ id: 'SignInNonce' });

/** The response to `POST /auth/oidc/:provider/link`. */
export const linkShape = z
  .object({
    url: z.string().meta({ description: 'Send the browser to this address' }),
    expiresAt: z.iso.datetime(),
  })
  .meta({ id: 'IdentityLink' });
