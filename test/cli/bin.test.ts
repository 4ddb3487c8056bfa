import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { BARE_ENV } from '../support/processes/app-process.ts';

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'belfry-bin-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Writes a package with bin/belfry.mjs and these files. Returns a function that runs it. */
function createPackage(files: Record<string, string>, folder = createFolder()) {
  cpSync('bin', join(folder, 'bin'), { recursive: true });
  for (const [name, text] of Object.entries({ 'package.json': '{"type":"module"}', ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return (node: string, ...args: string[]) => {
    const run = spawnSync(node, [join(folder, 'bin/belfry.mjs'), ...args], { env: BARE_ENV, encoding: 'utf8' });
    return { code: run.status, output: run.stdout.replaceAll(folder, '.'), errorOutput: run.stderr };
  };
}

const PRINT_ARGUMENTS = 'console.log(JSON.stringify(process.argv.slice(2))); process.exitCode = 3;';

/** The path and the version of a Node older than 24 on this machine, if there is one. */
function findOldNode(): { node: string; version: string } | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/local/bin', '/usr/bin'];
  return folders
    .map((folder) => join(folder, 'node'))
    .map((node) => ({
      node,
      version: spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout?.trim(),
    }))
    .find(({ version }) => version && Number.parseInt(version, 10) < 24);
}

const old = findOldNode();

test.skipIf(old === undefined)('an older Node is refused in two lines, before any code of Belfry is loaded', () => {
  const { node, version } = old!;
  expect(createPackage({ 'dist/cli/belfry.js': PRINT_ARGUMENTS })(node, 'migrate')).toEqual({
    code: 1,
    output: '',
    errorOutput: `Belfry needs Node 24 or newer, but this is Node ${version}.
Install a newer Node from https://nodejs.org, then run the command again.
`,
  });
});

test.skipIf(old === undefined)('an older Node runs the command with the Node of the app, also by a link to it', () => {
  const app = createFolder();
  const print = 'console.log(process.versions.node.split(".")[0], ...process.argv.slice(2)); process.exitCode = 3;';
  createPackage({ 'dist/cli/belfry.js': print }, join(app, 'node_modules/belfry'));
  mkdirSync(join(app, 'node_modules/node/bin'), { recursive: true });
  symlinkSync(process.execPath, join(app, 'node_modules/node/bin/node'));
  // Package managers also keep packages elsewhere, and link to them.
  const elsewhere = createFolder();
  createPackage({ 'dist/cli/belfry.js': print }, join(elsewhere, 'belfry'));
  mkdirSync(join(app, 'node_modules/.bin'));
  symlinkSync(join(elsewhere, 'belfry/bin/belfry.mjs'), join(app, 'node_modules/.bin/belfry'));
  for (const file of ['belfry/bin/belfry.mjs', '.bin/belfry']) {
    const run = spawnSync(old!.node, [join(app, 'node_modules', file), 'keys', 'a b'], {
      env: BARE_ENV,
      encoding: 'utf8',
    });
    expect([run.status, run.stdout, run.stderr]).toEqual([3, `${process.versions.node.split('.')[0]} keys a b\n`, '']);
  }
});

test.skipIf(old === undefined)(
  'a command that an older Node runs with the Node of the app gets its signals',
  async () => {
    const app = createFolder();
    const wait = 'process.on("SIGTERM", () => process.exit(7)); setInterval(() => {}, 1000); console.log("ready");';
    createPackage({ 'dist/cli/belfry.js': wait }, join(app, 'node_modules/belfry'));
    mkdirSync(join(app, 'node_modules/node/bin'), { recursive: true });
    symlinkSync(process.execPath, join(app, 'node_modules/node/bin/node'));
    const command = spawn(old!.node, [join(app, 'node_modules/belfry/bin/belfry.mjs')], { env: BARE_ENV });
    await once(command.stdout, 'data');
    command.kill('SIGTERM');
    expect(await once(command, 'exit')).toEqual([7, null]);
  },
);

test.skipIf(old === undefined)('an app whose own Node is as old is refused, too', () => {
  const app = createFolder();
  const run = createPackage({ 'dist/cli/belfry.js': PRINT_ARGUMENTS }, join(app, 'node_modules/belfry'));
  mkdirSync(join(app, 'node_modules/node/bin'), { recursive: true });
  copyFileSync(realpathSync(old!.node), join(app, 'node_modules/node/bin/node'));
  expect(run(old!.node, 'migrate')).toMatchObject({ code: 1, errorOutput: expect.stringContaining('Install a newer') });
});

test('the package runs its compiled command line, with all arguments and its exit code', () => {
  const run = createPackage({ 'dist/cli/belfry.js': PRINT_ARGUMENTS });
  expect(run(process.execPath, 'keys', 'rotate', '--give-up', 'a b')).toEqual({
    code: 3,
    output: '["keys","rotate","--give-up","a b"]\n',
    errorOutput: '',
  });
});

test('code that was compiled once is kept in the folder of the package, or where NODE_COMPILE_CACHE says', () => {
  const [folder, elsewhere] = [createFolder(), createFolder()];
  const cache = join(folder, '.cache');
  createPackage({ 'dist/cli/belfry.js': PRINT_ARGUMENTS }, folder);
  const bin = join(folder, 'bin/belfry.mjs');
  const { PATH } = BARE_ENV;
  spawnSync(process.execPath, [bin], { env: { PATH, NODE_COMPILE_CACHE: elsewhere } });
  expect([existsSync(cache), readdirSync(elsewhere).length]).toEqual([false, 1]);
  spawnSync(process.execPath, [bin], { env: { PATH } });
  expect(existsSync(cache)).toBe(true);
});

test('compiled code is not kept among temporary files, where another user could change it', () => {
  const [folder, temporary] = [createFolder(), createFolder()];
  // A file instead of the folder cannot be written to, not even by root.
  createPackage({ 'dist/cli/belfry.js': PRINT_ARGUMENTS, '.cache': '' }, folder);
  const env = { PATH: BARE_ENV.PATH, TMPDIR: temporary };
  expect(spawnSync(process.execPath, [join(folder, 'bin/belfry.mjs')], { env }).status).toBe(3);
  expect(readdirSync(temporary)).toEqual([]);
});

test.each([['this Node', process.execPath], ...(old === undefined ? [] : [['an older Node', old.node]])])(
  'in a clone, %s runs the sources by the script that installs what is missing',
  (_, node) => {
    const run = createPackage({ 'scripts/bootstrap.mjs': PRINT_ARGUMENTS });
    expect(run(node!, 'admin', 'list')).toEqual({
      code: 3,
      output: '["src/cli/belfry.ts","admin","list"]\n',
      errorOutput: '',
    });
  },
);
