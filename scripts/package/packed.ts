// Packs the packages for `npm run new`, once for each state of their sources.
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from './build.ts';
import { packAll } from './pack.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const CACHE = join(root, '.data/packed');

/** What the packages are made of. */
const SOURCES = [
  '{.,create-belfry,packages/*}/{package.json,tsconfig.json,README.md,LICENSE}',
  '{package-lock.json,CHANGELOG.md}',
  '{bin,src,migrations/belfry,scripts/package,create-belfry/{bin,src,template},packages/*/{src,build}}/**/*',
];

/** Packs of other states of the sources that are kept: those of the branches between which one switches. */
const MAX_KEPT = 3;

/** Identifies what the packages are made of by its names and content. @param root the folder of the repository */
export function hashSources(root: string): string {
  const hash = createHash('sha256');
  const files = globSync(SOURCES, { cwd: root }).sort();
  for (const file of files) {
    const path = join(root, file);
    if (statSync(path).isFile()) hash.update(`${file}\n`).update(readFileSync(path));
  }
  return hash.digest('hex').slice(0, 16);
}

function removeOld(): void {
  const folders = readdirSync(CACHE).map((name) => join(CACHE, name));
  const newestFirst = folders.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const folder of newestFirst.slice(MAX_KEPT)) rmSync(folder, { recursive: true });
}

/** Does a step, and says so. */
type Step = <T>(name: string, work: () => T) => T;

const findBelfry = (folder: string): string =>
  join(folder, readdirSync(folder).find((name) => /^belfry-\d.*\.tgz$/.test(name))!);

/**
 * Packs all packages, unless the same sources have been packed before. Their types are not checked: `npm run check` does that.
 *
 * @returns the path of the packed `belfry`; the packages that it depends on are beside it
 */
export function packOnce(step: Step): string {
  const folder = join(
    CACHE,
    step('Checking for changes in Belfry', () => hashSources(root)),
  );
  if (existsSync(folder)) return findBelfry(folder);
  step('Compiling Belfry', () => build({ checksTypes: false }));
  mkdirSync(CACHE, { recursive: true });
  const packing = mkdtempSync(join(CACHE, 'packing-'));
  step('Packing Belfry', () => packAll(packing));
  // Another terminal may have packed the same meanwhile.
  if (existsSync(folder)) rmSync(packing, { recursive: true });
  else renameSync(packing, folder);
  removeOld();
  return findBelfry(folder);
}
