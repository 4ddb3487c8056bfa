import { createHash, randomInt } from 'node:crypto';

/** Digits and letters, without those that are taken for one another: 0 and o, 1 and i. */
const ALPHABET = '23456789abcdefghjklmnpqrstuvwxyz';
const GROUPS = 4;
const GROUP_LENGTH = 4;

const group = () => Array.from({ length: GROUP_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

/** New codes of 80 random bits: `k3hf-9wxa-m2pq-7tzc`. */
export function newRecoveryCodes(count: number): string[] {
  return Array.from({ length: count }, () => Array.from({ length: GROUPS }, group).join('-'));
}

/**
 * The hash that a code is stored as. A fast one is enough, because 80 random bits leave nothing to guess.
 *
 * @param code as it was typed: case, spaces and hyphens do not matter
 */
export function hashRecoveryCode(userId: string, code: string): string {
  const plain = code.toLowerCase().replaceAll(/[\s-]/g, '');
  return createHash('sha256').update(`${userId}.${plain}`).digest('hex');
}
