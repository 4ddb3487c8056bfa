import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runNpm } from '../setup/npm.ts';
import { getPackageFolder, type PackageFolder } from './packages.ts';

/** Installs the packages of a folder as its lock file says, unless they are there. @throws if npm fails */
export async function installPeer(folder: PackageFolder, logProgress: (line: string) => void): Promise<void> {
  const url = getPackageFolder(folder);
  const lock = readFileSync(new URL('package-lock.json', url));
  const hash = createHash('sha256').update(lock).digest('hex');
  // An interrupted installation leaves no such file.
  const stamp = new URL('node_modules/.belfry-bench', url);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return;
  logProgress(`Installing ${folder} …`);
  await runNpm(fileURLToPath(url), 'ci');
  writeFileSync(stamp, hash);
}
