import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));

/**
 * The complete examples of a page: blocks of TypeScript that begin with what they import. What a client is written with
 * is compiled where that client is generated: test/runtime/openapi/client.test.ts.
 */
function examplesOf(page: string): string[] {
  const text = readFileSync(join(root, 'docs', page), 'utf8');
  return [...text.matchAll(/```ts\n(import [\s\S]*?)```/g)]
    .map((match) => match[1]!)
    .filter((example) => !example.includes("'./api.d.ts'"));
}

test('the examples of the docs compile against the public API', { timeout: 240_000 }, async () => {
  const folder = mkdtempSync(join(root, 'test', '.examples-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  let count = 0;
  for (const page of pages) {
    for (const [i, example] of examplesOf(page).entries()) {
      count += 1;
      writeFileSync(join(folder, `${page}-${i}.ts`), example.replaceAll("'../../index.ts'", "'../../src/index.ts'"));
    }
  }
  expect(count).toBeGreaterThan(3);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ extends: '../../tsconfig.json', include: ['*.ts'] }));
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  // With several threads each checks much of the same anew: twice the work.
  const run = promisify(execFile)(process.execPath, [tsc, '-p', folder, '--noEmit', '--singleThreaded']);
  await expect(run.catch((error: { stdout: string }) => error)).resolves.toMatchObject({ stdout: '' });
});
