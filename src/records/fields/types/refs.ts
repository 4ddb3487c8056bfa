import { Field, type FieldSpec } from '../../../declare/field.ts';
import type { ResourceName } from '../../../declare/naming.ts';
import type { ReferenceListOptions } from '../../../declare/relation.ts';
import { findUnknownOptions } from '../../../platform/helpers/did-you-mean.ts';
import type { FieldType } from '../field-type.ts';
import { arrayType } from './array.ts';
import { refType } from './ref.ts';

const MAX_REFERENCES = 1000;
const ON_DELETE = ['remove', 'restrict'];

/** The positions of the ids that stand in a list before. */
function findRepeatedItems(ids: readonly string[]): number[] {
  const seen = new Set<string>();
  return ids.flatMap((id, i) => {
    if (seen.has(id)) return [i];
    seen.add(id);
    return [];
  });
}

/** The ids of several records of another resource, each at most once, in their order. Every id refers to an existing record. */
export const refsType = {
  ...arrayType,
  kind: 'refs',
  field: <const N extends string>(
    target: N,
    { onDelete = 'remove', max = MAX_REFERENCES, ...unknown }: ReferenceListOptions = {},
  ): Field<string[], 'optional', string[], string[], 'open', 'list' | `to:${ResourceName<N>}`> =>
    new Field({
      type: refsType,
      inner: refType.field(target),
      onDelete,
      exists: true,
      max: { value: max },
      unknownOptions: Object.keys(unknown),
    }),
  schema: (spec, context) =>
    arrayType.schema(spec, context).superRefine((value, issues) => {
      for (const i of findRepeatedItems(value as string[]))
        issues.addIssue({ code: 'custom', path: [i], message: 'Is already in the list' });
    }),
  jsonSchema: (spec: FieldSpec, inner, direction) => ({
    ...arrayType.jsonSchema(spec, inner),
    ...(direction === 'query' ? {} : { uniqueItems: true }),
  }),
  modifiers: ['min', 'max', 'index', 'filterable', 'populate'],
  errors(spec) {
    const { onDelete, min, max, unknownOptions = [] } = spec;
    if (unknownOptions.length > 0) return findUnknownOptions(unknownOptions, ['onDelete', 'max']);
    const own = arrayType.errors(spec);
    if (own.length > 0) return own;
    if (Number(max?.value) > MAX_REFERENCES) return [`a list of references has at most ${MAX_REFERENCES}; lower max`];
    if (onDelete === undefined || !ON_DELETE.includes(onDelete)) return [`onDelete can be ${ON_DELETE.join(' or ')}`];
    if (onDelete === 'remove' && Number(min?.value ?? 0) > 0)
      return [
        `a deletion could leave fewer references than min(${min?.value}); remove min(), or use onDelete: 'restrict'`,
      ];
    return [];
  },
} satisfies FieldType;
