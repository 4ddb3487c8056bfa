import { z } from 'zod';
import type { FieldType } from './field-type.ts';

/** `true` and `false`. */
export const booleanType: FieldType = {
  kind: 'boolean',
  column: () => 'boolean',
  schema: () => z.boolean({ error: 'Must be true or false' }),
  jsonSchema: () => ({ type: 'boolean' }),
  operators: ['eq', 'ne', 'in', 'nin', 'exists'],
  modifiers: ['index', 'filterable', 'sortable', 'encrypted'],
  fromQuery: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
};
