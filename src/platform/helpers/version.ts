// In a file of its own, because `belfry --version` must load nothing else.
import { readFileSync } from 'node:fs';

/** The running version of Belfry. */
export const VERSION: string = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
).version;
