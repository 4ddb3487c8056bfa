// Finds releases in the history of this repository: a release is the commit that adds its heading to CHANGELOG.md.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Runs git in a folder. Returns its output; undefined if it fails, or if the folder is not the root of a repository. */
function git(root: string, ...args: string[]): string | undefined {
  if (!existsSync(join(root, '.git'))) return undefined;
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 });
  return status === 0 ? stdout.trim() : undefined;
}

/** Returns the oldest commits of a shallow clone, which seem to add every file; none in a clone with the whole history. */
function readShallowCommits(root: string): Set<string> {
  const file = join(root, git(root, 'rev-parse', '--git-path', 'shallow') ?? '');
  return new Set(file.endsWith('shallow') && existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []);
}

/** Returns the commit that released a version; undefined if git does not have it. */
function findReleaseCommit(root: string, version: string): string | undefined {
  // 1.0.0 must not match 1.0.0-rc.1.
  const heading = `^## \\[?${version.replaceAll('.', '[.]')}([] ]|$)`;
  const first = git(root, 'log', '--format=%H', '-G', heading, '--', 'CHANGELOG.md')?.split('\n').at(-1);
  return first && !readShallowCommits(root).has(first) ? first : undefined;
}

/**
 * Returns the commits of the newest releases in CHANGELOG.md, newest first.
 *
 * @param root the folder of the repository
 * @param count the number of releases at most
 */
export function findReleases(root: string, count: number): string[] {
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const versions = Array.from(changelog.matchAll(/^## \[?(\d+\.\d+\.\d+[^\s\]]*)/gm), ([, version]) => version!);
  return versions
    .slice(0, count)
    .map((version) => findReleaseCommit(root, version))
    .filter((commit) => commit !== undefined);
}
