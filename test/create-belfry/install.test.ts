import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createFakeNpm, createFolder, PRETEND, run } from './command.ts';

const readPackage = (app: string) => JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'));

test('the packages are installed, and the next commands are printed', async () => {
  const cwd = createFolder();
  const npm = createFakeNpm();
  const { code, output, errorOutput } = await run(['my-app', '--no-git'], { cwd, bin: npm.bin });
  expect({ code, errorOutput }).toEqual({ code: 0, errorOutput: '' });
  expect(npm.calls()).toEqual([`${join(cwd, 'my-app')} install --no-audit --no-fund --loglevel=error`]);
  expect(output).toContain(`Created my-app in ${join(cwd, 'my-app')}`);
  expect(output).toMatch(/Next:\n\n {2}cd my-app\n {2}npm run dev$/);
});

test('the npm that runs the command installs the packages, but no other package manager', async () => {
  const cwd = createFolder();
  const npm = createFakeNpm();
  const record = join(cwd, 'record');
  const script = `process.getBuiltinModule('node:fs').appendFileSync(${JSON.stringify(record)}, 'called')`;
  for (const name of ['npm-cli.js', 'pnpm.cjs']) writeFileSync(join(cwd, name), script);
  const { code, errorOutput } = await run(['one', '--no-git'], {
    cwd,
    bin: npm.bin,
    env: { npm_execpath: join(cwd, 'npm-cli.js') },
  });
  expect({ code, errorOutput }).toEqual({ code: 0, errorOutput: '' });
  expect(readFileSync(record, 'utf8')).toBe('called');
  expect(npm.calls()).toEqual([]);
  await run(['two', '--no-git'], { cwd, bin: npm.bin, env: { npm_execpath: join(cwd, 'pnpm.cjs') } });
  expect(readFileSync(record, 'utf8')).toBe('called');
  expect(npm.calls()).toHaveLength(1);
});

test('--no-install installs nothing, and the next commands include the installation', async () => {
  const cwd = createFolder();
  const npm = createFakeNpm();
  const { output } = await run(['my-app', '--no-install'], { cwd, bin: npm.bin });
  expect(npm.calls()).toEqual([]);
  expect(output).toMatch(/Next:\n\n {2}cd my-app\n {2}npm install\n {2}npm run dev$/);
});

test('a failed installation keeps the files and says what to run', async () => {
  const cwd = createFolder();
  const { code, errorOutput } = await run(['my-app'], { cwd, bin: createFakeNpm(7).bin });
  expect(code).toBe(1);
  expect(errorOutput).toBe(
    "The packages could not be installed. The app's files are complete. Fix the problem, then run:\n\n  cd my-app\n  npm install\n  npm run dev",
  );
  expect(existsSync(join(cwd, 'my-app/src/app.ts'))).toBe(true);
});

test('Ctrl-C during the installation ends npm, and says how to go on', async () => {
  const cwd = createFolder();
  const { bin } = createFakeNpm();
  writeFileSync(join(bin, 'npm'), '#!/bin/sh\ntrap "exit 1" INT\necho $$ installing\nwhile :; do sleep 0.05; done\n');
  let npm = 0;
  const { code, output, errorOutput } = await run(['my-app', '--no-git'], {
    cwd,
    bin,
    onOutput(text, child) {
      const [, pid] = /^(\d+) installing$/m.exec(text) ?? [];
      if (pid === undefined || npm > 0) return;
      npm = Number(pid);
      child.kill('SIGINT');
    },
  });
  expect([code, errorOutput]).toEqual([
    130,
    "Stopped. The app's files are complete. To go on, run:\n\n  cd my-app\n  npm install\n  npm run dev",
  ]);
  expect(output).toContain('Installing its packages ...');
  expect(() => process.kill(npm, 0)).toThrow('ESRCH');
});

test('a folder with a space in its path is quoted in the next commands', async () => {
  const cwd = createFolder();
  const { output } = await run(['my apps/shop', '--no-install'], { cwd });
  expect(output).toContain('  cd "my apps/shop"\n');
});

test('a git repository is created without a commit, unless there is one or --no-git is given', async () => {
  const cwd = createFolder();
  await run(['one', '--no-install'], { cwd });
  expect(readFileSync(join(cwd, 'one/.git/HEAD'), 'utf8')).toBe('ref: refs/heads/main\n');
  expect(spawnSync('git', ['log'], { cwd: join(cwd, 'one') }).status).not.toBe(0);
  await run(['two', '--no-install', '--no-git'], { cwd });
  expect(existsSync(join(cwd, 'two/.git'))).toBe(false);
  spawnSync('git', ['init', '--quiet'], { cwd });
  await run(['three', '--no-install'], { cwd });
  expect(existsSync(join(cwd, 'three/.git'))).toBe(false);
});

test('without git, the app is created all the same', async () => {
  const cwd = createFolder();
  const { code } = await run(['app', '--no-install'], { cwd, env: { PATH: '' } });
  expect(code).toBe(0);
  expect(existsSync(join(cwd, 'app/.git'))).toBe(false);
});

test('the app depends on a compatible Belfry, or on the version that is given', async () => {
  const cwd = createFolder();
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  await run(['default', '--no-install'], { cwd });
  expect(readPackage(join(cwd, 'default')).dependencies).toEqual({ belfry: `^${version}` });
  for (const spec of ['1.2.3', 'next', '^2', 'github:someone/belfry', 'https://example.com/belfry-1.0.0.tgz']) {
    const app = `app-${spec.replaceAll(/\W/g, '-').toLowerCase()}`;
    await run([app, '--no-install', '--belfry', spec], { cwd });
    expect(readPackage(join(cwd, app)).dependencies).toEqual({ belfry: spec });
    expect(existsSync(join(cwd, app, 'vendor'))).toBe(false);
  }
});

test('a packed Belfry is copied into the app, so that the app can be moved and built in Docker', async () => {
  const cwd = createFolder();
  mkdirSync(join(cwd, 'packs'));
  const bytes = Buffer.from([0x1f, 0x8b, 8, 0]);
  for (const name of ['belfry-9.9.9', 'belfry-client-9.9.9', 'belfry-client-9.9.8', 'belfry-verify-webhook-9.9.9'])
    writeFileSync(join(cwd, `packs/${name}.tgz`), bytes);
  for (const [app, spec] of [
    ['relative', 'packs/belfry-9.9.9.tgz'],
    ['with-prefix', 'file:./packs/belfry-9.9.9.tgz'],
    ['absolute', join(cwd, 'packs/belfry-9.9.9.tgz')],
  ] as const) {
    expect(await run([app, '--no-install', '--belfry', spec], { cwd })).toMatchObject({ code: 0 });
    expect(readPackage(join(cwd, app)).dependencies).toEqual({
      '@belfry/client': 'file:vendor/belfry-client-9.9.9.tgz',
      '@belfry/verify-webhook': 'file:vendor/belfry-verify-webhook-9.9.9.tgz',
      belfry: 'file:vendor/belfry-9.9.9.tgz',
    });
    expect(readdirSync(join(cwd, app, 'vendor'))).toHaveLength(3);
    expect(readFileSync(join(cwd, app, 'vendor/belfry-client-9.9.9.tgz'))).toEqual(bytes);
    expect(readFileSync(join(cwd, app, 'Dockerfile'), 'utf8')).toMatch(/\nCOPY vendor \.\/vendor\nRUN npm ci /);
  }
});

test('a file that is no packed Belfry is refused before anything is created', async () => {
  const cwd = createFolder();
  writeFileSync(join(cwd, 'text.tgz'), 'text');
  writeFileSync(join(cwd, 'empty.tgz'), '');
  for (const [spec, code, message] of [
    ['none.tgz', 1, `--belfry none.tgz: ${join(cwd, 'none.tgz')} does not exist.`],
    ['text.tgz', 1, `--belfry text.tgz: ${join(cwd, 'text.tgz')} cannot be used: it is not a .tgz file.`],
    ['empty.tgz', 1, `--belfry empty.tgz: ${join(cwd, 'empty.tgz')} cannot be used: it is not a .tgz file.`],
    ['file:../belfry', 2, '--belfry file:../belfry: name a packed Belfry, a file that ends with .tgz.'],
  ] as const)
    expect(await run(['app', '--belfry', spec], { cwd })).toEqual({ code, output: '', errorOutput: message });
  expect(existsSync(join(cwd, 'app'))).toBe(false);
});

test('on an old Node, the app gets a Node of its own, and the output says so', async () => {
  const cwd = createFolder();
  const pretend = [PRETEND.node('20.20.2'), PRETEND.system('linux', 'x64')];
  const { code, output } = await run(['old', '--no-install'], { cwd, pretend });
  expect(code).toBe(0);
  expect(output).toContain('Node 20.20.2 is too old for Belfry, so the app has a Node 24 of its own, from npm.');
  const { devDependencies, allowScripts } = readPackage(join(cwd, 'old'));
  expect(devDependencies.node).toMatch(/^\^24\.\d+\.\d+$/);
  expect(Object.keys(devDependencies)).toEqual(Object.keys(devDependencies).sort());
  // Otherwise npm would not fetch it.
  expect(allowScripts.node).toBe(true);
});

test('on a new Node, the app gets none', async () => {
  const cwd = createFolder();
  const { output } = await run(['new', '--no-install'], { cwd, pretend: [PRETEND.node('24.0.0')] });
  expect(output).not.toContain('Node');
  const { devDependencies, allowScripts } = readPackage(join(cwd, 'new'));
  expect(devDependencies).not.toHaveProperty('node');
  expect(allowScripts).not.toHaveProperty('node');
});

test.each([
  ['a system without a packaged Node', [PRETEND.system('freebsd', 'x64')]],
  ['a Linux with another C library', [PRETEND.system('linux', 'x64'), PRETEND.musl]],
])('on an old Node and %s, one line says that Node 24 is required', async (_system, pretend) => {
  const cwd = createFolder();
  expect(await run(['app'], { cwd, pretend: [PRETEND.node('22.1.0'), ...pretend] })).toEqual({
    code: 1,
    output: '',
    errorOutput:
      'Belfry needs Node 24 or newer, but this is Node 22.1.0. Install a newer Node from https://nodejs.org, then run the command again.',
  });
  expect(existsSync(join(cwd, 'app'))).toBe(false);
});

test('a Node that is too old for the command itself is refused in one line', async () => {
  expect(await run(['app'], { cwd: createFolder(), pretend: [PRETEND.node('18.20.0')] })).toEqual({
    code: 1,
    output: '',
    errorOutput:
      'create-belfry needs Node 20 or newer, but this is Node 18.20.0. Install a newer Node from https://nodejs.org.',
  });
});
