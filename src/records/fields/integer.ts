import { z } from 'zod';
import { ORDER } from './comparisons.ts';
import type { FieldType } from './field-type.ts';
import { boundKeywords } from './json-schema.ts';
import { bounded, numberFromQuery, numberMistakes } from './number.ts';

/** Whole numbers within ±(2^53−1). */
export const integerType: FieldType = {
  kind: 'integer',
  column: () => 'bigint',
  schema: (spec) =>
    bounded(z.number({ error: 'Must be a whole number' }).int({ error: 'Must be a whole number' }), spec),
  jsonSchema: (spec) => ({
    type: 'integer',
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    ...boundKeywords(spec, 'minimum', 'maximum'),
  }),
  operators: ORDER,
  comparisons: () => ORDER,
  modifiers: ['min', 'max', 'unique', 'index', 'filterable', 'sortable', 'encrypted'],
  mistakes(spec) {
    const [min, max] = [spec.min, spec.max].map((bound) => bound?.value as number | undefined);
    const wrong = numberMistakes(spec);
    if (wrong.length > 0 || Number(min) > Number(max)) return wrong;
    const least = Math.ceil(Math.max(min ?? -Infinity, Number.MIN_SAFE_INTEGER));
    const most = Math.floor(Math.min(max ?? Infinity, Number.MAX_SAFE_INTEGER));
    return least <= most
      ? []
      : ['between min() and max() there is no whole number that is held exactly: no value would pass'];
  },
  indexMethod: () => 'btree',
  indexedBytes: () => 8,
  comparable: (value) => (Number.isSafeInteger(value) ? (value as number) : undefined),
  fromQuery: (text) => {
    const value = numberFromQuery(text);
    return Number.isSafeInteger(value) ? value : undefined;
  },
};
