import { createRequire } from 'node:module';
import type * as Common from '@zxcvbn-ts/language-common';

/** Minimum length of a password in characters. No field accepts a shorter one, so the list of leaked passwords does not need any. */
const MIN_LENGTH = 8;

const TOO_COMMON = 'This password is too common, choose another one';
const TOO_EASY = 'This password is too easy to guess';

const requirePackage = createRequire(import.meta.url);
let leaked: Set<string> | undefined;

/** Normalizes a text: texts that read alike become equal, regardless of case, letter width and the encoding of accents. */
export function normalizeForComparison(text: string): string {
  // Through upper case: ß and SS become equal.
  return text.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
}

/** Loads the list of leaked passwords. Called when the first password is checked, because the list uses 20 MB of memory. */
function loadLeakedPasswords(): Set<string> {
  const { dictionary } = requirePackage('@zxcvbn-ts/language-common') as typeof Common;
  const usable = dictionary['passwords-common'].filter((password) => password.length >= MIN_LENGTH);
  return new Set(usable.map(normalizeForComparison));
}

/**
 * Whether a password is in the list of common passwords, which comes from leaks.
 *
 * @param password the password, normalised
 */
export function isLeakedPassword(password: string): boolean {
  leaked ??= loadLeakedPasswords();
  return leaked.has(password);
}

/** Whether a text repeats one character, or counts up or down by one code point per character: `abcdefgh`, `87654321`. */
function isRepeatedOrSequential(text: string): boolean {
  const points = Array.from(text, (character) => character.codePointAt(0)!);
  const step = points[1]! - points[0]!;
  return Math.abs(step) <= 1 && points.every((point, i) => i === 0 || point - points[i - 1]! === step);
}

/** The reason why a password is too weak for any account; undefined for a good one. */
export function findPasswordWeakness(password: string): string | undefined {
  const text = normalizeForComparison(password);
  if (isLeakedPassword(text)) return TOO_COMMON;
  return isRepeatedOrSequential(text) ? TOO_EASY : undefined;
}
