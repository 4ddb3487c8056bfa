import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ImportLine } from '../../../src/accounts/import/import.ts';
import { readLines } from '../../../src/cli/admin/lines.ts';

async function read(text: string | Buffer): Promise<ImportLine[]> {
  const folder = mkdtempSync(join(tmpdir(), 'belfry-lines-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'lines');
  writeFileSync(file, text);
  return Array.fromAsync(readLines(file));
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

test('multi-byte characters that span two reads stay intact', async () => {
  const long = `x${'ü'.repeat(200_000)}`;
  expect(await read(`${long}\n${long}`)).toEqual([long, long]);
});

test('a line longer than a megabyte is skipped, and the lines around it are not', async () => {
  const [long, fault] = ['x'.repeat(3_000_000), { error: 'Is too long' }];
  expect(await read(`a\n${long}\nb\n${long}`)).toEqual(['a', fault, 'b', fault]);
  expect(await read(`${'x'.repeat(1_048_576)}\n${'x'.repeat(1_048_577)}`)).toEqual(['x'.repeat(1_048_576), fault]);
});

test('a byte order mark is not part of the first line', async () => {
  expect(await read('\ufeffa\nb')).toEqual(['a', 'b']);
});

test('a line that is not UTF-8 is reported, not converted', async () => {
  const latin = Buffer.from('Jos\xe9', 'latin1');
  expect(await read(Buffer.concat([Buffer.from('a\n'), latin, Buffer.from('\nb')]))).toEqual([
    'a',
    { error: 'Is not UTF-8' },
    'b',
  ]);
});
