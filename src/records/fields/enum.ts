import { z } from 'zod';
import { isStorable } from '../../platform/postgres/storable.ts';
import { EQUALITY, ORDER } from './comparisons.ts';
import type { FieldType } from './field-type.ts';
import { comparableText } from './text-rules.ts';

/** One of the declared values. */
export const enumType: FieldType = {
  kind: 'enum',
  column: () => 'text',
  schema: (spec) =>
    z.enum(spec.values as [string, ...string[]], { error: `Must be one of: ${spec.values!.join(', ')}` }),
  jsonSchema: (spec) => ({ type: 'string', enum: spec.values }),
  operators: EQUALITY,
  comparisons: () => ORDER,
  modifiers: ['unique', 'index', 'filterable', 'sortable', 'searchable', 'encrypted'],
  mistakes({ values }) {
    if (!Array.isArray(values) || values.length === 0 || new Set(values).size < values.length)
      return ['enum() needs at least one value, and each only once'];
    const wrong = values.filter((value) => typeof value !== 'string' || value === '' || !isStorable(value));
    return wrong.map((value) => `enum() has ${JSON.stringify(value)}; a value is a text that is not empty`);
  },
  textual: true,
  indexMethod: () => 'btree',
  indexedBytes: ({ values }) => Math.max(...values!.map((value) => Buffer.byteLength(value))),
  comparable: comparableText,
  fromQuery: (text, spec) => (spec.values!.includes(text) ? text : undefined),
};
