import { existsSync } from 'node:fs';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser'];

/**
 * Returns the path of the Chromium for browser tests: CHROMIUM_PATH, or the system's. Undefined if there is none.
 *
 * @throws Error if there is no file at CHROMIUM_PATH
 */
export function findChromium({ CHROMIUM_PATH: named }: Record<string, string | undefined>): string | undefined {
  if (named === undefined || named === '') return PLACES.find((path) => existsSync(path));
  if (!existsSync(named)) throw new Error(`CHROMIUM_PATH: ${named} does not exist`);
  return named;
}
