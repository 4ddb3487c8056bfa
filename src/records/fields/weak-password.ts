import { folded } from './folded-text.ts';
import { isLeaked } from './leaked-passwords.ts';

const TOO_COMMON = 'This password is too common, choose another one';
const TOO_EASY = 'This password is too easy to guess';

/** One character again and again (a step of 0), or each the next or the one before: `abcdefgh`, `87654321`. */
function isRun(text: string): boolean {
  const points = Array.from(text, (character) => character.codePointAt(0)!);
  const step = points[1]! - points[0]!;
  return Math.abs(step) <= 1 && points.every((point, i) => i === 0 || point - points[i - 1]! === step);
}

/** What is wrong with a password wherever one is set, whoever's it is; undefined for a good one. */
export function weaknessOf(password: string): string | undefined {
  const text = folded(password);
  if (isLeaked(text)) return TOO_COMMON;
  return isRun(text) ? TOO_EASY : undefined;
}
