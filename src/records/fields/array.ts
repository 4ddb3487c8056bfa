import { z } from 'zod';
import type { FieldSpec } from '../../declare/field.ts';
import { MOST_DETAILS } from '../../platform/errors.ts';
import type { FieldType } from './field-type.ts';
import { boundKeywords } from './json-schema.ts';
import { presentSchema } from './presence.ts';
import { indexRoom, lengthMistakes } from './text-rules.ts';

// What nobody's list needs and anybody's server would suffer from.
const MOST_ITEMS = 10_000;

/** Checks items one by one, and stops after enough errors: refusing a long array must not cost more than reading it. */
function itemsBy(schema: z.ZodType) {
  return (items: unknown[], context: z.core.$RefinementCtx): unknown[] => {
    const values: unknown[] = [];
    let faults = 0;
    for (const [i, item] of items.entries()) {
      const parsed = schema.safeParse(item);
      if (parsed.success) {
        values.push(parsed.data);
        continue;
      }
      const placed = parsed.error.issues.map((issue) => ({ ...issue, path: [i, ...issue.path], input: item }));
      context.issues.push(...(placed as z.core.$ZodRawIssue[]));
      faults += parsed.error.issues.length;
      if (faults >= MOST_DETAILS) break;
    }
    return values;
  };
}

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
      const max = spec.max === undefined ? MOST_ITEMS : Number(spec.max.value);
      const count = (n: number) => `${n} ${n === 1 ? 'item' : 'items'}`;
      const item = spec.inner!.spec;
      const schema = context.inner(item, holdsJson(spec) ? undefined : indexRoom(spec, undefined));
      return z
        .array(z.unknown(), { error: 'Must be an array' })
        .min(min, { error: spec.min?.message ?? `Must be at least ${count(min)}` })
        .max(max, { error: spec.max?.message ?? `Must be at most ${count(max)}` })
        .transform(itemsBy(presentSchema(item, schema)));
    },
    jsonSchema: (spec, inner) => ({
      type: 'array',
      items: inner(spec.inner!.spec),
      maxItems: MOST_ITEMS,
      ...boundKeywords(spec, 'minItems', 'maxItems'),
    }),
    operators: ['eq', 'in', 'nin', 'all', 'exists'],
    comparisons: (spec) => (holdsJson(spec) ? ['exists'] : ['eq', 'ne', 'in', 'nin', 'all', 'exists']),
    modifiers: ['min', 'max', 'index', 'filterable', 'searchable', 'encrypted', 'populate'],
    mistakes: (spec) => [
      ...lengthMistakes(spec),
      ...(spec.max === undefined && Number(spec.min?.value) > MOST_ITEMS
        ? [`min(${spec.min?.value}) needs a max() of its own: without one an array has at most ${MOST_ITEMS} items`]
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
