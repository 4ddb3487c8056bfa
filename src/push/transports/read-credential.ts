import { readFileSync } from 'node:fs';

/**
 * Reads a credential from the value of an environment variable, or from the file that the value names.
 *
 * @param inline matches the credential itself; any other value is the path of a file
 * @returns the credential; undefined if the file cannot be read
 */
export function readCredential(value: string, inline: RegExp): string | undefined {
  if (inline.test(value)) return value;
  try {
    return readFileSync(value, 'utf8');
  } catch {
    return undefined;
  }
}
