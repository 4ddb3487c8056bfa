import { existsSync } from 'node:fs';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser'];

/**
 * The Chromium that browser tests run in: CHROMIUM_PATH, else the system's. Undefined when there is none.
 *
 * @throws Error when there is nothing at CHROMIUM_PATH
 */
export function findChromium({ CHROMIUM_PATH: named }: Record<string, string | undefined>): string | undefined {
  if (named === undefined || named === '') return PLACES.find((path) => existsSync(path));
  if (!existsSync(named)) throw new Error(`CHROMIUM_PATH: ${named} does not exist`);
  return named;
}
