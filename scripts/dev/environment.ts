import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where a running `npm run dev` says, to its own user alone, what the app runs with. In the root of the clone. */
export const DEVELOPMENT_ENVIRONMENT = '.data/environment.json';

/** Writes it down for as long as this process runs. */
export function noteEnvironment(root: string, environment: Record<string, string>): void {
  const file = join(root, DEVELOPMENT_ENVIRONMENT);
  rmSync(file, { force: true });
  writeFileSync(file, JSON.stringify(environment), { mode: 0o600 });
  process.on('exit', () => rmSync(file, { force: true }));
}
