import { z } from 'zod';
import type { FieldType } from './field-type.ts';

/** One of the declared values. */
export const enumType: FieldType = {
  kind: 'enum',
  column: () => 'text',
  schema: (spec) =>
    z.enum(spec.values as [string, ...string[]], { error: `Must be one of: ${spec.values!.join(', ')}` }),
  jsonSchema: (spec) => ({ type: 'string', enum: spec.values }),
  operators: ['eq', 'ne', 'in', 'nin', 'exists'],
  modifiers: ['unique', 'index', 'filterable', 'sortable', 'searchable', 'encrypted'],
  fromQuery: (text, spec) => (spec.values!.includes(text) ? text : undefined),
};
