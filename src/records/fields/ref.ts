import type { FieldType } from './field-type.ts';
import { idType } from './id.ts';

/** The id of a record of another resource: only its form is checked. */
export const refType: FieldType = {
  ...idType,
  kind: 'ref',
  modifiers: ['unique', 'index', 'filterable', 'sortable', 'owner', 'populate'],
};
