import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

const root = join(import.meta.dirname, '..', '..');

/** The result of a run: its exit code, and its output without colours. */
export interface Run {
  code: number | null;
  output: string;
}

type Variables = Record<string, string | undefined>;

/** Starts a program of Node in the repository. @param variables override the environment of this process; undefined removes one */
export function startNode(args: readonly string[], variables: Variables = {}) {
  // The variables of the run that this process belongs to would change the behaviour of the other run.
  const own = Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_TEST_|TINYPOOL|TEST$)/.test(name));
  const env = { ...Object.fromEntries(own), NO_COLOR: '1', ...variables };
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const ended = once(child, 'close').then(([code]): Run => ({ code, output }));
  return { child, ended, output: () => output };
}

// Node imports Belfry, as it does in a project that has installed it. Otherwise vitest would transform every module of it for each file.
// The time limits suit a busy machine.
const VITEST_CONFIG = `export default {
  test: { testTimeout: 180_000, hookTimeout: 180_000, server: { deps: { external: [/\\/src\\//] } } },
};`;

/** Runs the vitest tests of a folder. */
export function runVitest(folder: string, variables?: Variables): Promise<Run> {
  writeFileSync(join(folder, 'vitest.config.mjs'), VITEST_CONFIG);
  return startNode(['node_modules/vitest/vitest.mjs', 'run', '--root', folder], variables).ended;
}

/** Runs a file with `node --test`. */
export function runNodeTests(file: string, variables?: Variables): Promise<Run> {
  return startNode(['--test', '--test-reporter=spec', file], variables).ended;
}

/** Creates a folder with files, in `test`, so that they can import the repository. It is removed after the test. */
export function createFiles(files: Record<string, string>): string {
  const folder = mkdtempSync(join(root, 'test', '.examples-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}
