import type { JWTVerifyGetKey } from 'jose';
import { isStorable } from '../../../extension/index.ts';
import { loadJose } from './libraries.ts';
import type { OidcClaims } from './settings.ts';

/** Seconds by which the clocks of the provider and of this server may differ. */
export const CLOCK_TOLERANCE_SECONDS = 60;
/** Signatures with a key of the provider. `none` and HMAC, whose key the client knows, are not among them. */
const ALGORITHMS: readonly string[] = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'Ed25519', 'EdDSA'],
];
const MAX_SUBJECT = 255;

/** An ID token was refused. The message says why, for the log; it contains no part of the token. */
export class IdTokenError extends Error {
  override readonly name = 'IdTokenError';
}

/** What an ID token must match. */
interface ExpectedIdToken {
  /** The issuer; `{tenantid}` in it stands for the claim `tid`. */
  issuer: string;
  /** The client ids to which the token may be issued. */
  audiences: readonly string[];
  /** The accepted values of the nonce. */
  nonces: readonly string[];
}

/** Microsoft has one issuer for each tenant, and describes them together by a template. */
function matchesIssuer(issuer: unknown, expected: string, tenant: unknown): boolean {
  if (!expected.includes('{tenantid}')) return issuer === expected;
  return (
    typeof tenant === 'string' && /^[\w-]{1,64}$/.test(tenant) && issuer === expected.replace('{tenantid}', tenant)
  );
}

/**
 * Verifies an ID token: signature, issuer, audience, times and nonce (OpenID Connect Core 1.0 §3.1.3.7).
 *
 * @param getKey returns the provider's key for the header of a token
 * @throws IdTokenError; the error of `getKey` if keys could not be read
 */
export async function verifyIdToken(
  idToken: string,
  { issuer, audiences, nonces }: ExpectedIdToken,
  getKey: JWTVerifyGetKey,
): Promise<OidcClaims> {
  const { payload } = await loadJose()
    .jwtVerify(idToken, getKey, {
      algorithms: [...ALGORITHMS],
      audience: [...audiences],
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      requiredClaims: ['iss', 'sub', 'aud', 'exp', 'iat', 'nonce'],
    })
    .catch((error: unknown) => {
      const isRefusal = error instanceof Error && 'code' in error && /^ERR_J/.test(String(error.code));
      // Keys that cannot be read are no fault of the token.
      throw isRefusal && error.code !== 'ERR_JWKS_TIMEOUT'
        ? new IdTokenError(`the ID token is not valid: ${error.message}`, { cause: error })
        : error;
    });
  const refuse = (claim: string): never => {
    throw new IdTokenError(`the claim "${claim}" of the ID token is not valid`);
  };
  const { sub, iss, aud, iat, azp, nonce, tid } = payload;
  if (!matchesIssuer(iss, issuer, tid)) refuse('iss');
  if (typeof sub !== 'string' || sub === '' || sub.length > MAX_SUBJECT || !isStorable(sub)) refuse('sub');
  if (typeof iat !== 'number' || iat > Date.now() / 1000 + CLOCK_TOLERANCE_SECONDS) refuse('iat');
  if (typeof nonce !== 'string' || !nonces.includes(nonce)) refuse('nonce');
  // A token for several audiences names the one that requested it; a token that another client requested is not for this app.
  if (Array.isArray(aud) && aud.length > 1 && azp === undefined) refuse('azp');
  if (azp !== undefined && !(typeof azp === 'string' && audiences.includes(azp))) refuse('azp');
  return payload as OidcClaims;
}
