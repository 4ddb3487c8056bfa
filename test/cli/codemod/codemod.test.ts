import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';

const printed = vi.spyOn(console, 'log').mockImplementation(() => {});
const former = "import { passkeys } from 'belfry';\npasskeys({ maxPerUser: 3 });\n";
let folder: string;
beforeEach(async () => {
  printed.mockClear();
  folder = await mkdtemp(join(tmpdir(), 'belfry-codemod-'));
  await mkdir(join(folder, 'src'));
  await mkdir(join(folder, 'node_modules/belfry'), { recursive: true });
  for (const file of ['src/app.ts', 'src/notes.txt', 'node_modules/belfry/index.js'])
    await writeFile(join(folder, file), former);
  vi.spyOn(process, 'cwd').mockReturnValue(folder);
});
afterEach(() => rm(folder, { recursive: true }));

const lines = () => printed.mock.calls.map(([line]) => line);
const read = (file: string) => readFile(join(folder, file), 'utf8');

test('belfry codemod renames in the files of the app, and in no others', async () => {
  expect(await runCommandLine(['codemod'])).toBe(0);
  expect(lines()).toEqual([
    'src/app.ts:2 passkeys.maxPerUser → passkeys.maxPasskeysPerUser',
    'Renamed 1 place. Review the changes, then run your tests.',
  ]);
  expect(await read('src/app.ts')).toBe(former.replace('maxPerUser', 'maxPasskeysPerUser'));
  expect(await read('src/notes.txt')).toBe(former);
  expect(await read('node_modules/belfry/index.js')).toBe(former);

  printed.mockClear();
  expect(await runCommandLine(['codemod'])).toBe(0);
  expect(lines()).toEqual(['Found no former name.']);
});

test('belfry codemod --dry-run changes no file', async () => {
  expect(await runCommandLine(['codemod', '--dry-run'])).toBe(0);
  expect(lines()).toEqual([
    'src/app.ts:2 passkeys.maxPerUser → passkeys.maxPasskeysPerUser',
    '1 place would be renamed.',
  ]);
  expect(await read('src/app.ts')).toBe(former);
});

test('belfry codemod names the packages of new modules, and keeps folders and files that it cannot read as they are', async () => {
  await mkdir(join(folder, 'src/chart.js'));
  await writeFile(join(folder, 'src/app.ts'), "import { createClient } from 'belfry/client';\n");
  const latin1 = Buffer.from("// café\nimport { createClient } from 'belfry/client';\n", 'latin1');
  await writeFile(join(folder, 'src/old.js'), latin1);
  expect(await runCommandLine(['codemod'])).toBe(0);
  expect(lines()).toEqual([
    'src/app.ts:1 belfry/client → @belfry/client',
    'src/old.js is not UTF-8: change the names in it yourself.',
    'Renamed 1 place. Review the changes, then run your tests.',
    'Install what is imported now: npm install @belfry/client',
  ]);
  expect(await readFile(join(folder, 'src/old.js'))).toEqual(latin1);
});
