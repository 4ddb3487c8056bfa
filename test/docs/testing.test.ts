import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createFiles, runNodeTests, runVitest } from '../testing/run-tests.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'start', 'testing.md'), 'utf8');
const examples = Array.from(page.matchAll(/```ts\n(import [\s\S]*?)```/g), (match) =>
  match[1]!
    .replaceAll("'belfry'", "'../../src/index.ts'")
    .replaceAll("'belfry/testing'", "'../../src/testing/index.ts'")
    .replaceAll("'../src/app.ts'", "'./app.ts'"),
);
const app = examples.find((example) => example.includes('export const app'))!;
const examplesFor = (runner: string) => examples.filter((example) => example.includes(`'${runner}'`));

test('the examples of docs/start/testing.md for vitest pass', { timeout: 480_000 }, async () => {
  const tests = examplesFor('vitest').map((example, i) => [`${i}.test.ts`, example]);
  const { code, output } = await runVitest(createFiles({ 'app.ts': app, ...Object.fromEntries(tests) }));
  expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/Tests +7 passed/) });
});

test('the example of docs/start/testing.md for node:test passes', { timeout: 480_000 }, async () => {
  const [example, ...others] = examplesFor('node:test');
  expect(others).toEqual([]);
  const folder = createFiles({ 'app.ts': app, 'node.ts': example! });
  const { code, output } = await runNodeTests(join(folder, 'node.ts'));
  expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/pass 1\n/) });
});
