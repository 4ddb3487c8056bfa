import { z } from 'zod';
import { Field } from '../../../declare/field.ts';
import { type ColumnType, createStoredValueConverter } from '../column-type.ts';
import { COUNTED_VALUES, EQUALITY_COMPARISONS, type FieldType } from '../field-type.ts';

const BOOLEAN: ColumnType = {
  sql: 'boolean',
  noun: 'true or false',
  jsonSchema: { type: 'boolean' },
  castsToText: true,
  convertToStored: createStoredValueConverter(
    (value) => typeof value === 'boolean',
    () => true,
    '',
  ),
};

/** `true` and `false`. */
export const booleanType = {
  kind: 'boolean',
  field: (): Field<boolean> => new Field({ type: booleanType }),
  column: BOOLEAN,
  schema: () => z.boolean({ error: 'Must be true or false' }),
  jsonSchema: () => ({ type: 'boolean' }),
  jsonType: 'boolean',
  operators: EQUALITY_COMPARISONS,
  comparisons: () => EQUALITY_COMPARISONS,
  modifiers: ['unique', 'index', 'filterable', 'sortable', 'encrypted'],
  aggregations: COUNTED_VALUES,
  indexMethod: () => 'btree',
  indexedBytes: () => 1,
  comparable: (value) => (typeof value === 'boolean' ? value : undefined),
  fromQuery: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  personal: 'never',
} satisfies FieldType;
