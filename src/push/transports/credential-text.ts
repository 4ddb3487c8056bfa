import { readFileSync } from 'node:fs';

/**
 * A credential that an environment variable holds, or names the file of.
 *
 * @param inline what the credential itself looks like; anything else is the path of a file
 * @returns the credential; undefined when the file cannot be read
 */
export function credentialText(value: string, inline: RegExp): string | undefined {
  if (inline.test(value)) return value;
  try {
    return readFileSync(value, 'utf8');
  } catch {
    return undefined;
  }
}
