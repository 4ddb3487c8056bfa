import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const LABEL = 'svc_ak_';
const KEY = /^svc_ak_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BASE = ALPHABET.length;
const RANDOM_CHARACTERS = 32;
const CHECKSUM_CHARACTERS = 6;
/** Random bytes from this value on are discarded: they would make some characters more likely than others. */
const FAIR_BYTES = 256 - (256 % BASE);

/** Length of the visible part of a key: the label and 6 more characters. */
const PREFIX_LENGTH = LABEL.length + 6;

/** Returns 32 random letters and digits: 190 bits. */
function generateRandomPart(): string {
  let text = '';
  while (text.length < RANDOM_CHARACTERS) {
    const fair = randomBytes(RANDOM_CHARACTERS).filter((byte) => byte < FAIR_BYTES);
    for (const byte of fair) text += ALPHABET[byte % BASE];
  }
  return text.slice(0, RANDOM_CHARACTERS);
}

/**
 * Returns the checksum of the random part of a key: CRC-32 (IEEE 802.3, as in zlib) in base62, most significant digit first, 6
 * characters. Secret scanners expect this format:
 * https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/
 */
export function checksumOf(random: string): string {
  let text = '';
  for (let left = crc32(random); left > 0; left = Math.floor(left / BASE)) text = ALPHABET[left % BASE] + text;
  return text.padStart(CHECKSUM_CHARACTERS, '0');
}

/** Creates a key: `svc_ak_`, 32 random letters and digits, and their checksum. */
export function generateKey(): string {
  const random = generateRandomPart();
  return LABEL + random + checksumOf(random);
}

/** Returns whether a token begins like an API key. The rest of it may be malformed. */
export function looksLikeApiKey(token: string): boolean {
  return token.startsWith(LABEL);
}

/** Returns whether a key has the right format and checksum. It does not check that the key exists. */
export function hasValidChecksum(key: string): boolean {
  const [, random, checksum] = KEY.exec(key) ?? [];
  return random !== undefined && checksumOf(random) === checksum;
}

/** Returns the part of a key that may be displayed to tell keys apart. */
export function prefixOf(key: string): string {
  return key.slice(0, PREFIX_LENGTH);
}
