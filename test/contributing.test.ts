// Carries out the instructions of CONTRIBUTING.md in a copy of this repository, and runs the tests that they contain.
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runVitest } from './testing/run-tests.ts';

// A run of vitest in the copy loads everything again.
vi.setConfig({ testTimeout: 600_000 });

const page = readFileSync('CONTRIBUTING.md', 'utf8');

interface Step {
  file: string;
  language: string;
  text: string;
}

/** Returns the code blocks for a file, in order: each follows a sentence that starts with "Create" or "In" and the name of the file. */
function readSteps(): Step[] {
  const steps: Step[] = [];
  let file: string | undefined;
  for (const [, named, language, block] of page.matchAll(
    /^(?:\d+\. (?:Create|In) `([^`]+)`|## .*| {3}```(ts|diff)\n([\s\S]*?)^ {3}```$)/gm,
  )) {
    if (block === undefined) file = named;
    else steps.push({ file: file!, language: language!, text: block.replaceAll(/^ {3}/gm, '') });
  }
  return steps;
}

const steps = readSteps();

/** Copies what the tests of the page need. */
function copyRepository(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'belfry-contributing-')));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const path of [
    'src',
    'scripts/framework-app.ts',
    'scripts/test',
    'migrations',
    'test/support',
    'package.json',
    'vitest.config.ts',
  ])
    cpSync(path, join(folder, path), { recursive: true });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Returns a text after the change of a diff, whose context must occur once. */
function applyDiff(text: string, diff: string): string {
  const lines = diff.replace(/\n$/, '').split('\n');
  const side = (dropped: string) =>
    lines
      .filter((line) => !line.startsWith(dropped))
      .map((line) => line.slice(1))
      .join('\n');
  expect(text.split(side('+')), diff).toHaveLength(2);
  return text.replace(side('+'), () => side('-'));
}

test('the steps of the page can be carried out as written, and the tests in it pass', async () => {
  const folder = copyRepository();
  for (const { file, language, text } of steps) {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, language === 'diff' ? applyDiff(readFileSync(path, 'utf8'), text) : text);
  }
  const tests = steps.filter(({ file }) => file.endsWith('.test.ts'));
  expect(tests).toHaveLength(4);
  const { code, output } = await runVitest(folder);
  expect({ code, output }).toMatchObject({ code: 0, output: expect.stringMatching(/Test Files\s+5 passed/) });
});

test('the repository map names what the import rules allow', async () => {
  const { default: rules } = (await import(pathToFileURL('.dependency-cruiser.mjs').href)) as {
    default: { forbidden: { comment?: string }[] };
  };
  const allowed = rules.forbidden.flatMap(({ comment = '' }) => {
    const [, folder, names] = /^src\/([\w-]+) may import (.*)\.$/.exec(comment) ?? [];
    return folder === undefined ? [] : [[folder, names!]];
  });
  expect(allowed.length).toBeGreaterThan(8);
  for (const [folder, names] of allowed)
    expect.soft(page).toMatch(new RegExp(`^\\| \`src/${folder}/\` \\| .* \\| ${names} \\|$`, 'm'));
});
