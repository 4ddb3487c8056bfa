import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { build } from 'esbuild';

const root = join(import.meta.dirname, '../..');

/** A runtime that executes JavaScript files. */
export interface Runtime {
  name: string;
  /** Its npm package, with the exact version. */
  packageName: string;
  /** Its program in the package's folder. */
  program: string;
  /** The arguments before the file. */
  args: readonly string[];
  /** A version that may be installed on the machine already; others are not used. */
  installedVersion?: RegExp;
}

/** The runtimes of the client besides this Node and browsers. */
export const RUNTIMES: readonly Runtime[] = [
  {
    name: 'Node 20',
    packageName: `node-${process.platform}-${process.arch}@20.20.2`,
    program: `node-${process.platform}-${process.arch}/bin/node`,
    args: [],
    installedVersion: /^v20\./,
  },
  {
    name: 'Deno',
    packageName: 'deno@2.9.6',
    program: '.bin/deno',
    args: ['run', '--quiet', '--no-prompt', '--allow-net=127.0.0.1'],
  },
  { name: 'Bun', packageName: 'bun@1.4.5', program: '.bin/bun', args: [] },
];

/** A Node of the machine whose version suits. */
function findInstalled(version: RegExp): string | undefined {
  const files = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  const isSuitable = (file: string) => version.test(spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout);
  return files.find((file) => existsSync(file) && isSuitable(file));
}

/** Returns the path of the program of a runtime. Installs its package in `.data` if necessary; undefined if npm cannot. */
export function provideRuntime({ packageName, program, installedVersion }: Runtime): string | undefined {
  const installed = installedVersion && findInstalled(installedVersion);
  if (installed !== undefined) return installed;
  const folder = join(root, '.data/runtimes', packageName);
  const file = join(folder, 'node_modules', program);
  if (existsSync(file)) return file;
  mkdirSync(folder, { recursive: true });
  const cli = process.env.npm_execpath;
  const [npm, first] = cli?.endsWith('.js') ? [process.execPath, [cli]] : ['npm', []];
  const args = [...first, 'install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', packageName];
  const { status } = spawnSync(npm, args, { timeout: 120_000 });
  return status === 0 && existsSync(file) ? file : undefined;
}

/** Bundles the suite into a program for an app. It calls `report` with the result as JSON. */
export async function bundleSuite(url: string, report: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: `import { runSuite } from './runtime-suite.ts'; ${report}(JSON.stringify(await runSuite('${url}')));`,
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    write: false,
  });
  return outputFiles[0]!.text;
}
