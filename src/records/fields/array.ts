import type { FieldSpec } from '../../declare/field.ts';
import { boundedArray } from '../../platform/bounded-array.ts';
import type { FieldType } from './field-type.ts';
import { boundKeywords } from './json-schema.ts';
import { presentSchema } from './presence.ts';
import { indexRoom, lengthMistakes } from './text-rules.ts';

// What nobody's list needs and anybody's server would suffer from.
const MAX_ITEMS = 10_000;

/**
 * Arrays: scalar items in a Postgres array, others in jsonb.
 *
 * @param typeOf the registry's look-up, for the items
 */
export function arrayTypeWith(typeOf: (spec: FieldSpec) => FieldType): FieldType {
  const itemColumn = ({ spec }: { spec: FieldSpec }) => typeOf(spec).column(spec);
  /** Whether the items are stored as jsonb: those that have no Postgres array of their own. */
  const holdsJson = ({ inner }: FieldSpec) => itemColumn(inner!) === 'jsonb' || itemColumn(inner!).endsWith('[]');
  return {
    kind: 'array',
    column: (spec) => (holdsJson(spec) ? 'jsonb' : `${itemColumn(spec.inner!)}[]`),
    schema: (spec, context) => {
      const min = spec.min === undefined ? 0 : Number(spec.min.value);
      const max = spec.max === undefined ? MAX_ITEMS : Number(spec.max.value);
      const item = spec.inner!.spec;
      const schema = context.inner(item, holdsJson(spec) ? undefined : indexRoom(spec, undefined));
      return boundedArray(presentSchema(item, schema), {
        min,
        max,
        tooFew: spec.min?.message,
        tooMany: spec.max?.message,
        error: 'Must be an array',
      });
    },
    jsonSchema: (spec, inner) => ({
      type: 'array',
      items: inner(spec.inner!.spec),
      maxItems: MAX_ITEMS,
      ...boundKeywords(spec, 'minItems', 'maxItems'),
    }),
    operators: ['eq', 'in', 'nin', 'all', 'exists'],
    comparisons: (spec) => (holdsJson(spec) ? ['exists'] : ['eq', 'ne', 'in', 'nin', 'all', 'exists']),
    modifiers: ['min', 'max', 'index', 'filterable', 'searchable', 'encrypted', 'populate'],
    mistakes: (spec) => [
      ...lengthMistakes(spec),
      ...(spec.max === undefined && Number(spec.min?.value) > MAX_ITEMS
        ? [`min(${spec.min?.value}) needs a max() of its own: without one an array has at most ${MAX_ITEMS} items`]
        : []),
      ...(spec.index && holdsJson(spec)
        ? [`index() does nothing on an array of ${spec.inner!.spec.kind} fields: nothing compares its items; remove it`]
        : []),
      ...(spec.searchable && !typeOf(spec.inner!.spec).textual
        ? [`searchable() needs an array of texts; remove it, or make it filterable()`]
        : []),
      ...(spec.populate && spec.inner!.spec.target === undefined
        ? ['populate() needs an array of references; remove it']
        : []),
    ],
    indexMethod: (spec) => (holdsJson(spec) ? undefined : 'gin'),
    comparable: (value, { inner }) => typeOf(inner!.spec).comparable?.(value, inner!.spec),
    toColumn: (value, spec) => (holdsJson(spec) ? JSON.stringify(value) : value),
    fromJson: (value, spec) => {
      const inner = typeOf(spec.inner!.spec);
      return inner.fromJson === undefined || holdsJson(spec)
        ? value
        : (value as unknown[]).map((item) => inner.fromJson!(item, spec.inner!.spec));
    },
    fromQuery: (text, spec) => typeOf(spec.inner!.spec).fromQuery?.(text, spec.inner!.spec),
  };
}
