import { Field } from '../../../declare/field.ts';
import { normalizeResourceName } from '../../../declare/naming.ts';
import type { FieldType } from '../field-type.ts';
import { idType } from './id.ts';

/** The id of a record of another resource: only its format is checked. */
export const refType = {
  ...idType,
  kind: 'ref',
  field: (target: string): Field<string> => new Field({ type: refType, target: normalizeResourceName(target) }),
  modifiers: ['unique', 'index', 'filterable', 'sortable', 'owner', 'populate'],
} satisfies FieldType;
