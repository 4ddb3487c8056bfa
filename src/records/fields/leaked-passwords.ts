import { createRequire } from 'node:module';
import type * as Common from '@zxcvbn-ts/language-common';
import { folded } from './folded-text.ts';

/** No field takes a shorter password: the rest of the list need not be kept. */
const SHORTEST = 8;

const load = createRequire(import.meta.url);
let leaked: Set<string> | undefined;

/** The list comes with the first password: a process that sees none spares itself 20 MB. */
function readList(): Set<string> {
  const { dictionary } = load('@zxcvbn-ts/language-common') as typeof Common;
  const usable = dictionary['passwords-common'].filter((password) => password.length >= SHORTEST);
  return new Set(usable.map(folded));
}

/**
 * Whether a password is one of those that leaks have shown to be chosen often.
 *
 * @param password folded
 */
export function isLeaked(password: string): boolean {
  leaked ??= readList();
  return leaked.has(password);
}
