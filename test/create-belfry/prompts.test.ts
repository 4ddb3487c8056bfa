import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CTRL_C, createFolder, PRETEND, run } from './command.ts';

const FILES_ONLY = ['--no-install', '--no-git'];
const pretend = [PRETEND.terminal];

test('at a terminal, the command asks for the folder and the example', async () => {
  const cwd = createFolder();
  const { code, output } = await run(FILES_ONLY, { cwd, pretend, answers: ['shop', '2'] });
  expect(code).toBe(0);
  expect(output).toContain('Folder of the app (my-app): ');
  expect(output).toMatch(/1 {2}blog .*\n.*2 {2}empty /);
  expect(existsSync(join(cwd, 'shop/test/accounts.test.ts'))).toBe(true);
});

test('an empty answer chooses the default', async () => {
  const cwd = createFolder();
  expect(await run(FILES_ONLY, { cwd, pretend, answers: ['', ''] })).toMatchObject({ code: 0 });
  expect(existsSync(join(cwd, 'my-app/src/resources/post.ts'))).toBe(true);
});

test('what the command line says is not asked', async () => {
  const cwd = createFolder();
  const folderGiven = await run(['one', ...FILES_ONLY], { cwd, pretend, answers: ['empty'] });
  expect(folderGiven.output).not.toContain('Folder of the app');
  expect(existsSync(join(cwd, 'one/test/accounts.test.ts'))).toBe(true);
  const exampleGiven = await run(['--example', 'blog', ...FILES_ONLY], { cwd, pretend, answers: ['two'] });
  expect(exampleGiven.output).not.toContain('start with?');
  expect(existsSync(join(cwd, 'two/src/resources/post.ts'))).toBe(true);
  const bothGiven = await run(['three', '--example', 'blog', ...FILES_ONLY], { cwd, pretend });
  expect(bothGiven).toMatchObject({ code: 0, output: expect.not.stringContaining('?') });
});

test('--yes asks nothing at a terminal', async () => {
  const cwd = createFolder();
  const { code, output } = await run(['app', '-y', ...FILES_ONLY], { cwd, pretend });
  expect({ code, output }).toEqual({ code: 0, output: expect.not.stringContaining('?') });
  expect(existsSync(join(cwd, 'app/src/resources/post.ts'))).toBe(true);
});

test('without a terminal, the default example is used', async () => {
  const cwd = createFolder();
  expect(await run(['app', ...FILES_ONLY], { cwd })).toMatchObject({ code: 0 });
  expect(existsSync(join(cwd, 'app/src/resources/post.ts'))).toBe(true);
});

test('an invalid answer is explained and asked again', async () => {
  const cwd = createFolder();
  mkdirSync(join(cwd, 'full'));
  writeFileSync(join(cwd, 'full/file'), '');
  const answers = ['My App', 'full', 'shop', '3', 'empty'];
  const { code, output } = await run(FILES_ONLY, { cwd, pretend, answers });
  expect(code).toBe(0);
  expect(output).toContain('"My App" cannot be the name of an app');
  expect(output).toContain('full is not empty. It contains file.');
  expect(output).toContain('There is no "3" to choose.');
  expect(readdirSync(cwd).sort()).toEqual(['full', 'shop']);
});

test('the end of the input cancels, and nothing is created', async () => {
  const cwd = createFolder();
  for (const answers of [[null], ['shop', null]]) {
    const { code, errorOutput } = await run(FILES_ONLY, { cwd, pretend, answers });
    expect({ code, errorOutput }).toEqual({ code: 130, errorOutput: 'Cancelled: nothing was created.' });
  }
  expect(readdirSync(cwd)).toEqual([]);
});

test('Ctrl-C cancels, and nothing is created', async () => {
  const cwd = createFolder();
  const { code, errorOutput } = await run(FILES_ONLY, { cwd, pretend, answers: [CTRL_C] });
  expect({ code, errorOutput }).toEqual({ code: 130, errorOutput: 'Cancelled: nothing was created.' });
  expect(readdirSync(cwd)).toEqual([]);
});
