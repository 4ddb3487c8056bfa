import { hash, randomInt } from 'node:crypto';
import { correction, generate } from 'lean-qr';
import { toPngDataURL } from 'lean-qr/extras/node_export';
import { Secret, TOTP } from 'otpauth';
import type { EncryptedColumn } from '../../extension/index.ts';

/** Returns the additional data of a user's encrypted secret. A ciphertext copied to another user does not decrypt there. */
export function secretEncryptionContext(userId: string): string {
  return `two_factors/secret/${userId}`;
}

/** The encrypted columns of this extension, for the rotation of encryption keys. */
export const encryptedSecrets: readonly EncryptedColumn[] = [
  {
    name: 'two_factors.secret',
    table: 'two_factors',
    column: 'secret',
    key: 'user_id',
    context: secretEncryptionContext,
  },
];

/** The parameters that every authenticator app supports (RFC 6238). */
const TOTP_OPTIONS = { algorithm: 'SHA1', digits: 6, period: 30 };
/** RFC 4226 §4 recommends 160 bits. */
const SECRET_BYTES = 20;
/** Accepted time steps before and after the current one, to tolerate clock differences. */
const TOLERATED_STEPS = 1;

/** Creates a secret in base32. */
export function generateSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32;
}

/** Authenticator apps split the issuer from the account at the first colon, even if it is encoded. */
const withoutColons = (text: string) =>
  text
    .toWellFormed()
    .replaceAll(/\s*:\s*/g, ' ')
    .trim();

/**
 * Returns the URL that sets up an authenticator app: https://github.com/google/google-authenticator/wiki/Key-Uri-Format
 * Colons in its names become spaces.
 *
 * @param issuer the service
 * @param label the account of the user
 */
export function createOtpauthUrl(secret: string, issuer: string, label: string): string {
  return new TOTP({
    ...TOTP_OPTIONS,
    secret,
    issuer: withoutColons(issuer),
    label: withoutColons(label),
  }).toString();
}

/**
 * Returns the time step near `now` that a code belongs to, or undefined.
 *
 * @param code as typed; spaces do not matter
 * @param now ms since the epoch
 */
export function findTimeStep(secret: string, code: string, now: number): number | undefined {
  const token = code.replaceAll(/\s/g, '');
  if (!/^\d{6}$/.test(token)) return undefined;
  const totp = new TOTP({ ...TOTP_OPTIONS, secret });
  const delta = totp.validate({ token, timestamp: now, window: TOLERATED_STEPS });
  return delta === null ? undefined : totp.counter({ timestamp: now }) + delta;
}

/** Digits and letters without those that are easily confused: 0 and o, 1 and i. */
const ALPHABET = '23456789abcdefghjklmnpqrstuvwxyz';
const GROUPS = 4;
const GROUP_LENGTH = 4;

const generateGroup = () => Array.from({ length: GROUP_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

/** Creates codes of 80 random bits such as `k3hf-9wxa-m2pq-7tzc`. */
export function generateRecoveryCodes(count: number): string[] {
  return Array.from({ length: count }, () => Array.from({ length: GROUPS }, generateGroup).join('-'));
}

/**
 * Returns the hash that a recovery code is stored as. A fast hash is enough, because 80 random bits cannot be guessed.
 *
 * @param code as typed; case, spaces and hyphens do not matter
 */
export function hashRecoveryCode(userId: string, code: string): string {
  const plain = code.toLowerCase().replaceAll(/[\s-]/g, '');
  return hash('sha256', `${userId}.${plain}`);
}

const PIXELS_PER_MODULE = 6;
// The default background is transparent, which makes the QR code unreadable on a dark page.
const WHITE = [255, 255, 255, 255] as const;

/** Encodes a text as a QR code: the data URL of a PNG, black on white with its quiet zone. */
export function renderQrCode(text: string): string {
  const code = generate(text, { minCorrectionLevel: correction.M });
  return toPngDataURL(code, { scale: PIXELS_PER_MODULE, off: WHITE });
}
