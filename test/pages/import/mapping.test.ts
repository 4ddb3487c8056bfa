import { describe, expect, test } from 'vitest';
import type { FieldInfo } from '../../../packages/pages/src/console/data/app-info.ts';
import {
  decodeText,
  detectEncoding,
  isWorkbook,
} from '../../../packages/pages/src/console/data/list/import/encoding.ts';
import {
  mapColumns,
  mappingProblem,
  missingFields,
  targetsOf,
} from '../../../packages/pages/src/console/data/list/import/mapping.ts';
import { en } from '../../../packages/pages/src/console/data/list/import/texts.en.ts';

describe('the encoding', () => {
  const utf16 = (text: string) => Buffer.from(text, 'utf16le');
  test.each([
    ['UTF-8', Buffer.from('Zoë'), 'utf-8'],
    ['UTF-8 with a byte order mark', Buffer.from('\uFEFFZoë'), 'utf-8'],
    ['UTF-16', utf16('\uFEFFZoë'), 'utf-16le'],
    ['UTF-16, big endian', utf16('\uFEFFZoë').swap16(), 'utf-16be'],
    ['Windows-1252', Buffer.from('Zoë', 'latin1'), 'windows-1252'],
  ] as const)('%s is found, and read without the mark', (_, bytes, encoding) => {
    expect(detectEncoding(bytes)).toBe(encoding);
    expect(decodeText(bytes, encoding)).toBe('Zoë');
  });

  test('the euro sign of Windows is read', () => expect(decodeText(Buffer.from([0x80]), 'windows-1252')).toBe('€'));
  test('an empty file is UTF-8', () => expect(detectEncoding(new Uint8Array())).toBe('utf-8'));
  test('a workbook is recognized', () =>
    expect([isWorkbook(Buffer.from('PK\x03\x04…')), isWorkbook(Buffer.from('PK,a'))]).toEqual([true, false]));
});

const labelOf = (name: string) => (name === 'startsAt' ? 'Kick-off' : name);

const field = (name: string, more: Partial<FieldInfo> = {}): FieldInfo => ({
  name,
  label: name,
  type: 'string',
  required: false,
  unique: false,
  immutable: false,
  readOnly: false,
  hidden: false,
  writeOnly: false,
  encrypted: false,
  pii: false,
  owner: false,
  tenant: false,
  operators: [],
  clientOperators: [],
  sortable: false,
  clientSortable: false,
  searchable: false,
  ...more,
});

describe('columns', () => {
  test.each([
    ['startsAt', 'startsAt'],
    ['Kick-off', 'startsAt'],
    ['Starts at', 'startsAt'],
    ['STARTS_AT', 'startsAt'],
    [' starts-at ', 'startsAt'],
    ['Ｔｉｔｌｅ', 'title'],
    ['Title of it', ''],
    ['', ''],
    ['_error', ''],
    ['constructor', ''],
  ])('%j sets %j', (column, name) =>
    expect(mapColumns([column], ['startsAt', 'title', 'error'], labelOf)).toEqual([name]),
  );

  test('a field is given to one column: to that with its exact name, else to the first', () => {
    expect(mapColumns(['Title', 'title', 'TITLE'], ['title'], labelOf)).toEqual(['', 'title', '']);
    expect(mapColumns(['Title', 'TITLE'], ['title'], labelOf)).toEqual(['title', '']);
    expect(mapColumns(['title', 'title'], ['title'], labelOf)).toEqual(['title', '']);
  });

  test('passwords and what is changed in the Accounts tab cannot be set', () => {
    const fields = [field('a'), field('p', { type: 'password' }), field('email', { accounts: 'create' })];
    expect(targetsOf({ fields, timestamps: true }, true, true)).toEqual(['id', 'a', 'email', 'createdAt', 'updatedAt']);
    expect(targetsOf({ fields, timestamps: true }, false, false)).toEqual(['a']);
  });

  test('required fields without a column and a default are named', () => {
    const required = { required: true };
    const fields = [
      field('title', required),
      field('state', { ...required, default: 'draft' }),
      field('day', { ...required, computedDefault: true }),
      field('note'),
      field('sku', required),
    ];
    expect(missingFields(fields, ['sku', ''], ['title', 'state', 'day', 'note', 'sku'])).toEqual(['title']);
  });

  test.each([
    [['title', 'title'], undefined, 'Two columns set title. Choose another field for one of them.'],
    [['', ''], undefined, 'Choose a field for at least one column.'],
    [['title'], 'sku', 'Choose the column that sets sku: it finds the records to update.'],
    [['title', '', ''], undefined, undefined],
    [['sku'], 'sku', undefined],
  ])('the problem of %j with %s is: %s', (mapping, upsertBy, problem) =>
    expect(mappingProblem(mapping, en, upsertBy)).toBe(problem),
  );
});
