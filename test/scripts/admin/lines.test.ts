import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { linesOf } from '../../../scripts/admin/lines.ts';

async function read(text: string): Promise<(string | undefined)[]> {
  const folder = mkdtempSync(join(tmpdir(), 'belfry-lines-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'lines');
  writeFileSync(file, text);
  return Array.fromAsync(linesOf(file));
}

test.each<[string, string[]]>([
  ['', []],
  ['a', ['a']],
  ['a\n', ['a']],
  ['a\n\nb', ['a', '', 'b']],
  ['a\r\nb\r\n', ['a\r', 'b\r']],
])('%j', async (text, lines) => {
  expect(await read(text)).toEqual(lines);
});

test('characters of several bytes that stand across two reads stay whole', async () => {
  const long = `x${'ü'.repeat(200_000)}`;
  expect(await read(`${long}\n${long}`)).toEqual([long, long]);
});

test('a line above a million characters is left out, and those around it are not', async () => {
  const long = 'x'.repeat(3_000_000);
  expect(await read(`a\n${long}\nb\n${long}`)).toEqual(['a', undefined, 'b', undefined]);
});
