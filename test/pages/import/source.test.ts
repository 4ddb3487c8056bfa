import { expect, test } from 'vitest';
import { readSource } from '../../../packages/pages/src/console/data/list/import/source.ts';
import { en } from '../../../packages/pages/src/console/data/list/import/texts.en.ts';

const read = (text: string, choice = {}) =>
  readSource(new File([text], 'people.csv'), choice, new AbortController().signal, en);

test('columns at the end that are empty in all rows are left out', async () => {
  const { header, rows } = await read('name;age;;\nAda;36;;\nBen;40; ;\n');
  expect(header).toEqual(['name', 'age']);
  expect(rows.map(({ cells, error }) => [cells, error])).toEqual([
    [['Ada', '36'], undefined],
    [['Ben', '40'], undefined],
  ]);
});

test('a column without a name stays if a row has a value in it', async () => {
  const { header, rows } = await read('name,,\nAda,x,\n');
  expect(header).toEqual(['name', '']);
  expect(rows[0]?.cells).toEqual(['Ada', 'x']);
});

test('a row of another length says so', async () => {
  const { rows } = await read('name,age\nAda\n');
  expect(rows[0]?.error).toBe('Has 1 cells, but the first row has 2');
});

test.each([
  ['an empty file', '', {}, 'The file is empty. Its first row must name the columns.'],
  [
    'a workbook',
    'PK\x03\x04',
    {},
    'This is an Excel workbook. In Excel, save it as "CSV UTF-8", then choose that file.',
  ],
  ['600 columns', `${'a,'.repeat(599)}a\n`, {}, 'The first row has 600 columns. At most 500 can be imported.'],
  [
    'another delimiter',
    '"Name";"City"\n',
    { delimiter: ',' },
    /^The first row must name the columns\. It has a stray quote/,
  ],
])('%s is refused', async (_, text, choice, message) => {
  await expect(read(text, choice)).rejects.toThrow(message);
});
