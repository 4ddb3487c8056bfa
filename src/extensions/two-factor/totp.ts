import { Secret, TOTP } from 'otpauth';

/** What every authenticator app takes: RFC 6238 with SHA-1, 6 digits and steps of 30 seconds. */
const FORM = { algorithm: 'SHA1', digits: 6, period: 30 };
/** RFC 4226 §4 recommends 160 bits. */
const SECRET_BYTES = 20;
/** Steps before and after the present one whose codes are taken, for clocks that are off. */
const WINDOW = 1;

/** A new secret, in base32 as apps take it. */
export function newSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32;
}

/**
 * What an app is set up by: https://github.com/google/google-authenticator/wiki/Key-Uri-Format
 *
 * @param issuer whose account it is
 * @param label which account
 */
export function otpauthUrl(secret: string, issuer: string, label: string): string {
  return new TOTP({ ...FORM, secret, issuer, label }).toString();
}

/**
 * The time step that a code belongs to, of those around `now`.
 *
 * @param code as it was typed; spaces do not matter
 * @param now ms since the epoch
 * @returns undefined when it belongs to none
 */
export function stepOf(secret: string, code: string, now: number): number | undefined {
  const token = code.replaceAll(/\s/g, '');
  if (!/^\d{6}$/.test(token)) return undefined;
  const totp = new TOTP({ ...FORM, secret });
  const delta = totp.validate({ token, timestamp: now, window: WINDOW });
  return delta === null ? undefined : totp.counter({ timestamp: now }) + delta;
}
