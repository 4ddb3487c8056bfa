import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const STORE = join(root, '.data', 'api-reports.json');
/** Everything that the reports depend on: the sources, the code that creates reports, and the installed packages. */
const INPUTS = [
  '{src,packages/*/src}/**/*.ts',
  'scripts/{api,package}/**/*',
  '{.,packages/*}/package.json',
  'tsconfig.json',
  'node_modules/.package-lock.json',
];

function hashInputs(): string {
  const hash = createHash('sha256');
  for (const name of globSync(INPUTS, { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort())
    hash.update(`${name}\0`).update(readFileSync(name)).update('\0');
  return hash.digest('hex');
}

/**
 * Returns the texts of reports, by file name. Compiling takes most of the time of `npm run api`, so the last texts are stored in `.data/`
 * and used again until a file that they depend on changes.
 */
export async function provideReports(create: () => Promise<Record<string, string>>): Promise<Record<string, string>> {
  const hash = hashInputs();
  const stored = existsSync(STORE) ? JSON.parse(readFileSync(STORE, 'utf8')) : undefined;
  if (stored?.hash === hash) return stored.reports;
  const reports = await create();
  mkdirSync(join(root, '.data'), { recursive: true });
  // Complete when it appears, because other processes may read it.
  writeFileSync(`${STORE}.${process.pid}`, JSON.stringify({ hash, reports }));
  renameSync(`${STORE}.${process.pid}`, STORE);
  return reports;
}
