import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type CsvRow,
  detectDelimiter,
  formatCsv,
  readCsv,
} from '../../../packages/pages/src/console/data/list/import/csv.ts';
import { en } from '../../../packages/pages/src/console/data/list/import/texts.en.ts';
import { readCsv as readOnServer } from '../../../src/records/bulk/csv.ts';

const read = (text: string) => [...readCsv(text, detectDelimiter(text), en)];
const outcomes = (rows: Iterable<CsvRow>) => Array.from(rows, ({ cells, error }) => error ?? cells);

test('rows have the numbers of a spreadsheet, with the header and empty rows', () => {
  expect(read('a,b\r1,2\n\n,\r\n"x\ny",6\r\r\n7,8')).toEqual([
    { number: 1, cells: ['a', 'b'] },
    { number: 2, cells: ['1', '2'] },
    { number: 5, cells: ['x\ny', '6'] },
    { number: 7, cells: ['7', '8'] },
  ]);
});

test.each([
  ['a quoted delimiter', 'a,"1,5"', ['a', '1,5']],
  ['quotes that are written twice', '"say ""hi""",b', ['say "hi"', 'b']],
  ['only two quotes that are written twice', '"""""",b', ['""', 'b']],
  ['a line break in quotes', '"a\r\nb",c', ['a\r\nb', 'c']],
  ['empty quoted cells', '"","",x', ['', '', 'x']],
  ['an empty last cell', 'a,', ['a', '']],
  ['spaces', ' a , b', [' a ', ' b']],
  ['a formula', '=1+1,b', ['=1+1', 'b']],
])('%s: is read as RFC 4180 says', (_, text, cells) => expect(outcomes(readCsv(text, ',', en))).toEqual([cells]));

test.each(['a "loose" quote', ' "x"', '"x"y', '"x" ', '"x', '"', '"x""'])(
  'a stray quote in %j costs its own row only',
  (cell) => {
    expect(read(`id,text\n1,ok\n2,${cell}\n3,"also, ok"`)).toEqual([
      { number: 1, cells: ['id', 'text'] },
      { number: 2, cells: ['1', 'ok'] },
      { number: 3, cells: ['2', cell], error: expect.stringContaining('Has a stray quote') },
      { number: 4, cells: ['3', 'also, ok'] },
    ]);
  },
);

describe('the delimiter', () => {
  test.each([
    ['a,b\n1;2;3,4', ','],
    ['a', ','],
    ['', ','],
    ['a;b\n1,5;2', ';'],
    ['a\tb', '\t'],
    ['"a, b, c";d', ';'],
    ['"a,\n,b";c', ';'],
    ['\r\n\na;b', ';'],
    ['sep=;\r\na,b,c;d', ';'],
  ])('of %j is %j', (text, delimiter) => expect(detectDelimiter(text)).toBe(delimiter));

  test('that the first line names is no row, and the next one is the first', () => {
    expect(read('sep=;\r\na;b')).toEqual([{ number: 1, cells: ['a', 'b'] }]);
  });
});

test('any text is read as the server reads it', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', '"', ',', ' ', '\n', '\r'), maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(text, async (given) => {
      const chunks = async function* () {
        yield given;
      };
      const { rows } = await readOnServer(chunks(), ',');
      expect(Array.from(readCsv(given, ',', en), ({ number: _, ...row }) => row)).toEqual(await Array.fromAsync(rows));
    }),
  );
});

test('what is written is read as it was', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', ';', '\t', '\n', '\r', ' ', 'é'), maxLength: 6 });
  const row = fc.array(cell, { minLength: 2, maxLength: 2 }).filter((cells) => cells.join('').trim() !== '');
  const delimiter = fc.constantFrom(',' as const, ';' as const, '\t' as const);
  fc.assert(
    fc.property(fc.array(row), delimiter, (rows, each) => {
      expect(outcomes(readCsv(formatCsv(rows, each), each, en))).toEqual(rows);
    }),
  );
});

test('a large file with a quote that is never closed is read in linear time', () => {
  const rows = read(`a,b\n1,"open\n${'2,text of a cell\n'.repeat(500_000)}`);
  expect([rows.length, rows.filter(({ error }) => error !== undefined).length]).toEqual([500_002, 1]);
});
