import { randomInt } from 'node:crypto';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

// Without characters that are easily confused: 32 characters, so a password of twenty of them has 100 bits.
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';
const GROUPS = 4;
const GROUP_LENGTH = 5;

/** Returns a password that cannot be guessed and is easy to type. */
export function generatePassword(): string {
  const group = () => Array.from({ length: GROUP_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return Array.from({ length: GROUPS }, group).join('-');
}

/** Returns the first line of standard input. At a terminal it prompts, and does not show the input. */
export async function readPasswordFromInput(): Promise<string> {
  const { stdin, stderr } = process;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = stdin.isTTY === true;
  if (terminal) stderr.write('Password: ');
  const lines = createInterface({ input: stdin, output: silent, terminal });
  try {
    for await (const line of lines) return line;
    return '';
  } finally {
    lines.close();
    if (terminal) stderr.write('\n');
  }
}
