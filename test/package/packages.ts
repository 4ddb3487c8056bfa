import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { waitFor } from '../../src/testing/waiting/wait.ts';

const TIMEOUT_MS = 240_000;

/** The paths of the packages as npm would publish them. */
export interface Packages {
  belfry: string;
  client: string;
  pages: string;
  verifyWebhook: string;
  createBelfry: string;
}

/** Builds and packs Belfry in a process, so that this one stays responsive. */
async function packAll(folder: string): Promise<Packages> {
  const args = [resolve('scripts/package/pack.ts'), '--to', folder];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const [belfry, client, pages, verifyWebhook, createBelfry] = stdout.trim().split('\n') as string[];
  return {
    belfry: belfry!,
    client: client!,
    pages: pages!,
    verifyWebhook: verifyWebhook!,
    createBelfry: createBelfry!,
  };
}

/**
 * Returns the packages of this run. The first caller builds them, and callers in all processes of the run wait for them: a build writes
 * to `dist/`, so two at once would mix.
 *
 * @throws Error with the reason if they cannot be built
 */
export async function providePackages(): Promise<Packages> {
  // The folder for temporary files belongs to the run.
  const folder = join(tmpdir(), 'belfry-packages');
  mkdirSync(folder, { recursive: true });
  const result = join(folder, 'result.json');
  try {
    mkdirSync(join(folder, 'building'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const find = () => (existsSync(result) ? JSON.parse(readFileSync(result, 'utf8')) : undefined);
    const { packages, failure } = await waitFor<{ packages?: Packages; failure?: string }>(
      find,
      () => 'The packages were not built in time by the process that began.',
      { timeoutMs: TIMEOUT_MS },
    );
    if (packages === undefined) throw new Error(failure);
    return packages;
  }
  const outcome = await packAll(folder).then(
    (packages) => ({ packages }),
    (error: Error) => ({ failure: error.message }),
  );
  // Complete when it appears.
  writeFileSync(`${result}.incomplete`, JSON.stringify(outcome));
  renameSync(`${result}.incomplete`, result);
  if ('failure' in outcome) throw new Error(outcome.failure);
  return outcome.packages;
}

/** The packages of this repository. */
const listPackages = () =>
  readdirSync('node_modules').filter((name) => !/^(\.|belfry$|create-belfry$|@belfry$)/.test(name));

/** Unpacks a package into the `node_modules` of a folder. */
export function unpackInto(folder: string, name: string, tarball: string): void {
  const installed = join(folder, 'node_modules', name);
  mkdirSync(installed, { recursive: true });
  spawnSync('tar', ['xzf', tarball, '-C', installed, '--strip-components=1']);
}

/** Puts Belfry and some of the packages of this repository into the `node_modules` of a folder, without npm. */
export function installInto(
  folder: string,
  { belfry, client, pages, verifyWebhook }: Packages,
  packages: readonly string[] = listPackages(),
): void {
  unpackInto(folder, 'belfry', belfry);
  unpackInto(folder, '@belfry/client', client);
  unpackInto(folder, '@belfry/pages', pages);
  unpackInto(folder, '@belfry/verify-webhook', verifyWebhook);
  for (const each of packages) symlinkSync(resolve('node_modules', each), join(folder, 'node_modules', each));
}

/**
 * Creates a project with Belfry and some of the packages of this repository. Returns its folder.
 *
 * @param names default: all
 */
export function createProjectWith(packages: Packages, folder: string, names?: readonly string[]): string {
  installInto(folder, packages, names);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  return folder;
}
