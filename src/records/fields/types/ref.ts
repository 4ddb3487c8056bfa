import { Field } from '../../../declare/field.ts';
import { normalizeResourceName, type ResourceName } from '../../../declare/naming.ts';
import type { ReferenceOptions } from '../../../declare/relation.ts';
import { findUnknownOptions } from '../../../platform/helpers/did-you-mean.ts';
import type { FieldType } from '../field-type.ts';
import { idType } from './id.ts';

const ON_DELETE = ['restrict', 'cascade', 'setNull'];

/** The id of a record of another resource. By default, only its format is checked. */
export const refType = {
  ...idType,
  kind: 'ref',
  field: <const N extends string>(
    target: N,
    { onDelete = 'keep', exists = onDelete !== 'keep', ...unknown }: ReferenceOptions = {},
  ): Field<string, 'optional', string, string, 'open', `to:${ResourceName<N>}`> =>
    new Field({
      type: refType,
      target: normalizeResourceName(target),
      ...(onDelete !== 'keep' && { onDelete }),
      ...((exists || onDelete !== 'keep') && { exists }),
      unknownOptions: Object.keys(unknown),
    }),
  modifiers: ['unique', 'index', 'filterable', 'sortable', 'owner', 'populate'],
  errors({ onDelete, exists, required, unknownOptions = [] }) {
    if (unknownOptions.length > 0) return findUnknownOptions(unknownOptions, ['onDelete', 'exists']);
    if (exists !== undefined && typeof exists !== 'boolean') return ['exists must be true or false'];
    if (onDelete === undefined) return [];
    if (!ON_DELETE.includes(onDelete)) return [`onDelete can be ${ON_DELETE.join(', ')} or keep`];
    if (!exists) return [`onDelete: '${onDelete}' checks that the record exists; remove exists: false`];
    if (onDelete === 'setNull' && required)
      return [`onDelete: 'setNull' would clear a required field; remove required(), or use 'restrict' or 'cascade'`];
    return [];
  },
} satisfies FieldType;
