import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';

const COMMAND = resolve('create-belfry/bin/create-belfry.js');

/** JavaScript that runs before the command and changes what it finds. */
export const PRETEND = {
  terminal: 'process.stdin.isTTY = process.stdout.isTTY = true;',
  node: (version: string) =>
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`,
  system: (platform: string, arch: string) =>
    `Object.defineProperty(process, 'platform', { value: '${platform}' }); Object.defineProperty(process, 'arch', { value: '${arch}' });`,
  musl: 'process.report.getReport = () => ({ header: {} });',
  failure: (method: string, code: string) =>
    `import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module';
    fs.${method} = () => { throw Object.assign(new Error('${code}: ${method}'), { code: '${code}' }); };
    syncBuiltinESMExports();`,
};

/** Creates a temporary folder that the test removes. */
export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'create-belfry-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** An npm that installs nothing. It records its calls, a line each: the folder, then the arguments. */
export function createFakeNpm(exitCode = 0) {
  const folder = createFolder();
  const calls = join(folder, 'calls');
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\necho "$PWD $*" >> '${calls}'\nexit ${exitCode}\n`);
  chmodSync(join(bin, 'npm'), 0o755);
  return { bin, calls: () => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : []) };
}

interface RunOptions {
  /** The working directory. */
  cwd: string;
  /** Folders in front of the PATH. */
  bin?: string;
  env?: Record<string, string>;
  /** Some of `PRETEND`. */
  pretend?: string[];
  /** The answers to questions, in order: each is typed when the next question appears. `null` ends the input. */
  answers?: (string | null)[];
  /** Called with everything that the command has printed, when it prints more. */
  onOutput?(output: string, child: ChildProcess): void;
}

/** The character that a terminal sends for Ctrl-C. */
export const CTRL_C = '\x03';

/** A question ends with its default in parentheses. */
const QUESTION = /\([^()\n]*\): /g;

/** Runs `create-belfry` to its end. */
export async function run(args: string[], { cwd, bin, env = {}, pretend = [], answers = [], onOutput }: RunOptions) {
  const preload = pretend.map((code) => `--import=data:text/javascript,${encodeURIComponent(code)}`);
  const path = [bin, dirname(process.execPath), process.env.PATH].filter(Boolean).join(delimiter);
  const child = spawn(process.execPath, [...preload, COMMAND, ...args], { cwd, env: { PATH: path, ...env } });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let output = '';
  let errorOutput = '';
  let answered = 0;
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errorOutput += text));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    onOutput?.(output, child);
    for (; answered < Math.min((output.match(QUESTION) ?? []).length, answers.length); answered++) {
      const answer = answers[answered];
      if (answer === CTRL_C) child.stdin.write(answer);
      else if (typeof answer === 'string') child.stdin.write(`${answer}\n`);
      else child.stdin.end();
    }
  });
  // Without a terminal, nothing must wait for input.
  const code = await new Promise((done) => child.on('close', done));
  return { code, output: output.trim(), errorOutput: errorOutput.trim() };
}
