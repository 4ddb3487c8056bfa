// `npm run api`: compares the public API with the files in api/, prints the differences, and fails if there are any.
// `--write` updates the files, `--write --breaking` also after breaking changes, and `--since <revision>` compares with an earlier version.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findReleases } from '../package/releases.ts';
import { formatAll, reviewForCheck, reviewForWrite } from './review.ts';
import { compareSnapshots, createSnapshot, FILES, type Snapshot } from './snapshot.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'api');

/** Reads the files of a folder or revision; files that it lacks are left out. */
function readSnapshot(read: (file: string) => string | undefined): Snapshot {
  const texts = FILES.map((file) => [file, read(file)] as const);
  return Object.fromEntries(texts.filter(([, text]) => text !== undefined)) as Snapshot;
}

function readFromDisk(file: string): string | undefined {
  const path = join(folder, file);
  return existsSync(path) ? readFileSync(path, 'utf8').replaceAll('\r\n', '\n') : undefined;
}

function git(...args: string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 });
  return status === 0 ? stdout : undefined;
}

/** Reads a file of a revision. `./` makes the path relative to this folder, which may be part of a larger repository. */
const readFromGit = (revision: string) => (file: string) => git('show', `${revision}:./api/${file}`);

/**
 * Returns how to read the files of the last release, so that no sequence of commits bypasses the review. Before the first release, and in a
 * clone without its commit, they are the last committed files.
 */
function findBaseline(): (file: string) => string | undefined {
  const [release] = findReleases(root, 1);
  const read = readFromGit(release ?? 'HEAD');
  return (file) => read(file) ?? readFromDisk(file);
}

async function run(): Promise<boolean> {
  const { values } = parseArgs({
    options: { write: { type: 'boolean' }, breaking: { type: 'boolean' }, since: { type: 'string' } },
  });
  const { write = false, breaking = false, since } = values;
  if (breaking && !write) throw new Error('--breaking belongs to --write: npm run api -- --write --breaking');
  if (since !== undefined && write) throw new Error('--since only compares; leave out --write');
  if (since !== undefined && git('rev-parse', '--verify', `${since}^{commit}`) === undefined)
    throw new Error(`git has no revision "${since}"`);
  const current = await createSnapshot();
  if (since !== undefined) {
    console.log(formatAll(compareSnapshots(readSnapshot(readFromGit(since)), current)) || `No changes since ${since}.`);
    return true;
  }
  const changes = compareSnapshots(readSnapshot(findBaseline()), current);
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').replaceAll('\r\n', '\n');
  const stale = FILES.filter((file) => readFromDisk(file) !== current[file]);
  const review = write
    ? reviewForWrite(changes, changelog, breaking)
    : reviewForCheck(changes, changelog, stale.length > 0);
  if (review.text !== '') console[review.passes ? 'log' : 'error'](review.text);
  if (!review.passes) return false;
  if (!write) console.log('The public API is what the files in api/ say.');
  if (write) {
    mkdirSync(folder, { recursive: true });
    for (const file of stale) writeFileSync(join(folder, file), current[file]!);
    console.log(stale.length === 0 ? 'The files in api/ are up to date.' : `Wrote api/${stale.join(', api/')}.`);
  }
  return true;
}

try {
  if (!(await run())) process.exitCode = 1;
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
