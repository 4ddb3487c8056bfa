import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createFolder, PRETEND, run } from './command.ts';

const FILES_ONLY = ['--no-install', '--no-git'];

test('the app is created in a new folder, with its parents, and takes the name of the folder', async () => {
  const cwd = createFolder();
  expect(await run(['some/where/my-app', ...FILES_ONLY], { cwd })).toMatchObject({ code: 0, errorOutput: '' });
  expect(JSON.parse(readFileSync(join(cwd, 'some/where/my-app/package.json'), 'utf8')).name).toBe('my-app');
});

test('the app is created in the working directory, which may have a repository and the settings of an editor', async () => {
  const cwd = join(createFolder(), 'here');
  mkdirSync(join(cwd, '.git'), { recursive: true });
  mkdirSync(join(cwd, '.vscode'));
  const { code, output } = await run(['.', ...FILES_ONLY], { cwd });
  expect(code).toBe(0);
  expect(output).not.toContain('  cd ');
  expect(JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8')).name).toBe('here');
});

test('a folder that is not empty is left alone, and the message names what is in the way', async () => {
  const cwd = createFolder();
  const app = join(cwd, 'app');
  mkdirSync(app);
  writeFileSync(join(app, 'notes.md'), 'mine');
  const refusal = (files: string) => ({
    code: 1,
    output: '',
    errorOutput: `${app} is not empty. It contains ${files}. Choose another folder, or empty this one.`,
  });
  expect(await run(['app', ...FILES_ONLY], { cwd })).toEqual(refusal('notes.md'));
  for (const name of ['a', 'b', 'c', 'd']) writeFileSync(join(app, name), '');
  expect(await run(['app', ...FILES_ONLY], { cwd })).toEqual(refusal('a, b, c and 2 more'));
  expect(readdirSync(app).sort()).toEqual(['a', 'b', 'c', 'd', 'notes.md']);
  expect(readFileSync(join(app, 'notes.md'), 'utf8')).toBe('mine');
});

test('a file is not a folder, and neither is a path through one', async () => {
  const cwd = createFolder();
  writeFileSync(join(cwd, 'app'), 'mine');
  expect(await run(['app'], { cwd })).toEqual({
    code: 1,
    output: '',
    errorOutput: `${join(cwd, 'app')} is a file. Choose another folder.`,
  });
  expect(await run(['app/inside'], { cwd })).toEqual({
    code: 1,
    output: '',
    errorOutput: `${join(cwd, 'app/inside')} cannot be created: a part of the path is a file.`,
  });
});

test.each([
  ['mkdirSync', 'EACCES', 'cannot be created: permission denied.'],
  ['mkdirSync', 'EROFS', 'cannot be created: the file system is read-only.'],
  ['statSync', 'EACCES', 'cannot be read: permission denied.'],
])('if %s fails with %s, the message says why in one line', async (method, code, reason) => {
  const cwd = createFolder();
  const result = await run(['app', ...FILES_ONLY], { cwd, pretend: [PRETEND.failure(method, code)] });
  expect(result).toEqual({ code: 1, output: '', errorOutput: `${join(cwd, 'app')} ${reason}` });
});

test('a full disk is reported in one line', async () => {
  const cwd = createFolder();
  const result = await run(['app', ...FILES_ONLY], { cwd, pretend: [PRETEND.failure('writeFileSync', 'ENOSPC')] });
  expect(result).toEqual({
    code: 1,
    output: '',
    errorOutput: `The files of the app could not be written to ${join(cwd, 'app')}: the disk is full.`,
  });
});

// Node's own recursive mkdir never returns for a folder in /proc.
test.runIf(existsSync('/proc/self'))('a folder in which nothing can be created is refused at once', async () => {
  const result = await run(['/proc/app', ...FILES_ONLY], { cwd: createFolder() });
  expect(result).toMatchObject({
    code: 1,
    errorOutput: expect.stringMatching(/^\/proc\/app cannot be created: .+\.$/),
  });
});

const RULE = 'use a-z, 0-9, ".", "_" and "-", and start with a letter or a digit';

test.each([
  ['My-App', `${RULE}. For example: my-app`],
  ['my app', `${RULE}. For example: my-app`],
  ['.hidden', `${RULE}. For example: hidden`],
  ['@scope', `${RULE}. For example: scope`],
  ['日本', `${RULE}.`],
  ['belfry', 'it is reserved. Choose another folder.'],
  ['vitest', 'it is reserved. Choose another folder.'],
  ['node', 'it is reserved. Choose another folder.'],
  ['node_modules', 'it is reserved. Choose another folder.'],
  ['a'.repeat(215), 'use at most 214 characters.'],
])('the name %s is refused', async (name, reason) => {
  const cwd = createFolder();
  expect(await run([name], { cwd })).toEqual({
    code: 2,
    output: '',
    errorOutput: `"${name}" cannot be the name of an app: ${reason}`,
  });
  expect(readdirSync(cwd)).toEqual([]);
});
