import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatCell } from '../../../src/records/bulk/cells.ts';
import { type CsvRow, MAX_ROW_LENGTH, readCsv } from '../../../src/records/bulk/csv.ts';

async function* chunksOf(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

async function read(text: string, { size = 1 << 16, delimiter }: { size?: number; delimiter?: string } = {}) {
  const source = await readCsv(chunksOf(text, size), delimiter);
  return { ...source, rows: await Array.fromAsync(source.rows) };
}

/** The rows of a text, where each malformed row is its error. */
const outcomes = (rows: readonly CsvRow[]) => rows.map(({ cells, error }) => error ?? cells);
const STRAY = 'Has a stray quote. Quotes must enclose a whole cell, and a quote inside it is written twice';

test('each row ends with LF, CR LF or CR, whatever other rows end with', async () => {
  const { rows } = await read('a,b\r1,2\n3,4\r\n5,6\r\r\n7,8\n\n9,"x\ry\r\nz"\r');
  expect(outcomes(rows)).toEqual([
    ['a', 'b'],
    ['1', '2'],
    ['3', '4'],
    ['5', '6'],
    ['7', '8'],
    ['9', 'x\ry\r\nz'],
  ]);
});

test.each([
  ['in the middle of a cell', 'a "loose" quote'],
  ['behind digits', `37°36'37.8" N`],
  ['behind a space', ' "x"'],
  ['followed by text', '"x"y'],
  ['followed by a space', '"x" '],
  ['that is never closed', '"x'],
  ['alone', '"'],
  ['closed by an escaped quote', '"x""'],
])('a row with a quote %s is rejected with its text, and every other row is read', async (_, cell) => {
  const { rows } = await read(`id,text\n1,ok\n2,${cell}\n3,ok\n4,"also, ok"`);
  expect(rows).toEqual([
    { cells: ['id', 'text'] },
    { cells: ['1', 'ok'] },
    { cells: ['2', cell], error: STRAY },
    { cells: ['3', 'ok'] },
    { cells: ['4', 'also, ok'] },
  ]);
});

test('rows whose cells are empty are left out, in the middle and at the end', async () => {
  const { rows } = await read('\r\n,\r\na,b\r\n,\r\n1,2\r\n"", \r\n,\r\n,,,');
  expect(outcomes(rows)).toEqual([
    ['a', 'b'],
    ['1', '2'],
  ]);
});

describe('the delimiter', () => {
  test.each([
    ['commas', 'a,b\n1,2', ',', undefined],
    ['one column', 'a\n1', ',', undefined],
    ['semicolons', 'a;b\n1,5;2', ';', 'semicolons'],
    ['tabs', 'a\tb\n1\t2', '\t', 'tabs'],
    ['tabs before an empty first name', '\ta\tb\n1\t2\t3', '\t', 'tabs'],
    ['semicolons, with commas in a quoted name', '"a, b, c";d\n1;2', ';', 'semicolons'],
    ['semicolons, with a line break in a quoted name', '"a,\n,b";c\n1;2', ';', 'semicolons'],
    ['semicolons, behind empty lines', '\r\n\na;b\n1;2', ';', 'semicolons'],
    ['a first line of Excel', 'sep=;\r\na;b\r\n1;2', ';', undefined],
    ['a first line of Excel with a bar', 'SEP=|\na|b;c;d\n1|2', '|', undefined],
  ])('is found in a file with %s', async (_, text, delimiter, detected) => {
    const found = await read(text);
    expect([found.delimiter, found.detected]).toEqual([delimiter, detected]);
    expect(found.rows.every(({ cells, error }) => error === undefined && !cells.join('').includes('sep='))).toBe(true);
    expect((await read(text, { size: 1, delimiter })).rows).toEqual(found.rows);
  });

  test('can be given, also one that is special in patterns, and then nothing is detected', async () => {
    for (const delimiter of ['|', '^', '-', ']', '\\', '.', ' ', '§'])
      expect(await read(`a;x${delimiter}b;y\n"1"${delimiter}2`, { delimiter })).toEqual({
        delimiter,
        detected: undefined,
        rows: [{ cells: ['a;x', 'b;y'] }, { cells: ['1', '2'] }],
      });
  });
});

test('a cell of several megabytes is read, and a quote that stays open for longer costs one row', async () => {
  const long = 'x'.repeat(MAX_ROW_LENGTH / 2);
  expect(outcomes((await read(`a,b\n1,"${long}\n"\n2,3`)).rows)).toEqual([
    ['a', 'b'],
    ['1', `${long}\n`],
    ['2', '3'],
  ]);
  const { rows } = await read(`a,b\n1,"open\n${`2,${long.slice(0, 99)}\n`.repeat(100_000)}`);
  expect([rows.length, rows[1]!.error]).toEqual([100_002, STRAY]);
  expect(rows.filter(({ error }) => error !== undefined)).toHaveLength(1);
});

test('a line that is longer than the limit is refused', async () => {
  await expect(read(`a\n${'x'.repeat(MAX_ROW_LENGTH + 2)}`)).rejects.toThrow(
    'A row is longer than 8388608 characters.',
  );
});

test('what csv-stringify writes is read as it was, however the text is split into chunks', async () => {
  const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', ';', '\n', '\r', ' ', 'é', '😀'), maxLength: 6 });
  const row = fc
    .array(cell, { minLength: 2, maxLength: 2 })
    .filter((cells) => cells.some((text) => text.trim() !== ''));
  const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 8 }),
      lineEnd,
      fc.integer({ min: 1, max: 9 }),
      async (rows, end, size) => {
        const text = rows
          .map((cells) => stringify([cells], { record_delimiter: end, quoted_match: /[\r\n]/ }))
          .join('');
        expect(outcomes((await read(text, { size, delimiter: ',' })).rows)).toEqual(rows);
      },
    ),
  );
});

test('any text is read to its end, and splitting it into chunks changes nothing', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r'), maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 7 }), async (given, size) => {
      expect((await read(given, { size, delimiter: ',' })).rows).toEqual((await read(given, { delimiter: ',' })).rows);
    }),
  );
});

test.each(['=1', '＝1', '＋1', '－1', '＠x', '﹢1', '﹣1', '﹦1', '﹫x', '⁺1', '₌1', '\n=1', '\t=1', '\r=1', '-2+3'])(
  'the text %j gets an apostrophe for spreadsheets',
  (text) => expect(formatCell(text, 'string', true)).toBe(`'${text}`),
);

test.each(['1=1', 'a＝b', '#', 'é', '‐1', ''])('the text %j stays as it is for spreadsheets', (text) =>
  expect(formatCell(text, 'string', true)).toBe(text),
);
