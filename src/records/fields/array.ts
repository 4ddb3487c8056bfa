import { z } from 'zod';
import type { FieldSpec } from '../../declare/field.ts';
import type { FieldType } from './field-type.ts';
import { boundKeywords } from './json-schema.ts';

// What nobody's list needs and anybody's server would suffer from.
const MOST_ITEMS = 10_000;

/** Whether the items are stored as jsonb: those that have no Postgres array of their own. */
function holdsJson(spec: FieldSpec): boolean {
  return ['object', 'json', 'array'].includes(spec.inner!.spec.kind);
}

/**
 * Arrays: scalar items in a Postgres array, others in jsonb.
 *
 * @param typeOf the registry's look-up, for the items
 */
export function arrayTypeWith(typeOf: (spec: FieldSpec) => FieldType): FieldType {
  return {
    kind: 'array',
    column: (spec) => (holdsJson(spec) ? 'jsonb' : `${typeOf(spec.inner!.spec).column(spec.inner!.spec)}[]`),
    schema: (spec, context) => {
      const min = spec.min === undefined ? 0 : Number(spec.min.value);
      const max = spec.max === undefined ? MOST_ITEMS : Number(spec.max.value);
      const count = (n: number) => `${n} ${n === 1 ? 'item' : 'items'}`;
      return z
        .array(z.unknown(), { error: 'Must be an array' })
        .min(min, { error: spec.min?.message ?? `Must have at least ${count(min)}` })
        .max(max, { error: spec.max?.message ?? `Must have at most ${count(max)}` })
        .pipe(z.array(context.inner(spec.inner!.spec)));
    },
    jsonSchema: (spec, inner) => ({
      type: 'array',
      items: inner(spec.inner!.spec),
      maxItems: MOST_ITEMS,
      ...boundKeywords(spec, 'minItems', 'maxItems'),
    }),
    operators: ['eq', 'in', 'nin', 'all', 'exists'],
    modifiers: ['min', 'max', 'filterable', 'encrypted', 'populate'],
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
