import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The file with the environment of a running `npm run dev`, readable by its user only. Relative to the root of the clone. */
export const DEVELOPMENT_ENVIRONMENT = '.data/environment.json';

/** Writes the file with the environment, and removes it when this process exits. */
export function writeEnvironmentFile(root: string, environment: Record<string, string>): void {
  const file = join(root, DEVELOPMENT_ENVIRONMENT);
  rmSync(file, { force: true });
  writeFileSync(file, JSON.stringify(environment), { mode: 0o600 });
  process.on('exit', () => rmSync(file, { force: true }));
}
