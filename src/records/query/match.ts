import type { StoredRecord } from '../../declare/host.ts';
import { compareScalars, type Scalar } from '../fields/field-type.ts';
import { type Comparison, type Condition, RelatedCondition } from './list-query.ts';

function meetsComparison({ op, value, order = compareScalars }: Comparison, stored: unknown): boolean {
  if (op === 'exists') return (stored !== undefined) === value;
  if (Array.isArray(stored)) {
    const wanted = (Array.isArray(value) ? value : [value]) as unknown[];
    if (op === 'all') return wanted.every((item) => stored.includes(item));
    const containsAny = wanted.some((item) => stored.includes(item));
    return op === 'ne' || op === 'nin' ? !containsAny : containsAny;
  }
  switch (op) {
    case 'eq':
      return stored === value;
    case 'ne':
      return stored !== value;
    case 'in':
      return (value as unknown[]).includes(stored);
    case 'nin':
      return !(value as unknown[]).includes(stored);
    case 'all':
      return false;
  }
  if (stored === undefined) return false;
  const difference = order(stored as Scalar, value as Scalar);
  if (op === 'gt') return difference > 0;
  if (op === 'gte') return difference >= 0;
  return op === 'lt' ? difference < 0 : difference <= 0;
}

/** The known facts about a record in memory: which values were erased, and which conditions on related records it meets. */
interface KnownFacts {
  /** Fields whose values are unknown: conditions on them count as met. */
  unknown: ReadonlySet<string>;
  isRelated(condition: RelatedCondition): boolean;
}

function meets(condition: Condition, record: StoredRecord, known: KnownFacts): boolean {
  if (condition instanceof RelatedCondition) return known.isRelated(condition);
  if ('never' in condition) return false;
  if ('any' in condition) return condition.any.some((one) => meets(one, record, known));
  if ('every' in condition) return condition.every.every((one) => meets(one, record, known));
  return known.unknown.has(condition.field) || meetsComparison(condition, record[condition.field]);
}

function relatedConditionsIn(condition: Condition): RelatedCondition[] {
  if (condition instanceof RelatedCondition) return [condition];
  if ('any' in condition) return condition.any.flatMap(relatedConditionsIn);
  return 'every' in condition ? condition.every.flatMap(relatedConditionsIn) : [];
}

const NO_UNKNOWN_FIELDS: ReadonlySet<string> = new Set();

/** Looks up whether a record in memory, or a deleted one, has related records that meet a condition. */
export type RelatedLookup = (condition: RelatedCondition, record: StoredRecord) => Promise<boolean>;

/**
 * Whether a stored record meets all conditions. Returns the same result as the SQL, for records in memory or deleted ones; a promise if the
 * result depends on related records.
 *
 * @param unknown fields of the record whose values are unknown: conditions on them count as met
 */
export function meetsConditions(
  conditions: readonly Condition[],
  record: StoredRecord,
  lookUp: RelatedLookup,
  unknown = NO_UNKNOWN_FIELDS,
): boolean | Promise<boolean> {
  const meetsAll = (isRelated: KnownFacts['isRelated']) =>
    conditions.every((one) => meets(one, record, { unknown, isRelated }));
  // Related records are only looked up if the result depends on them.
  if (!meetsAll(() => true)) return false;
  return meetsAll(() => false) || meetsRelatedCondition(conditions, record, lookUp, meetsAll);
}

async function meetsRelatedCondition(
  conditions: readonly Condition[],
  record: StoredRecord,
  lookUp: RelatedLookup,
  meetsAll: (isRelated: KnownFacts['isRelated']) => boolean,
): Promise<boolean> {
  const related = conditions.flatMap(relatedConditionsIn);
  const results = await Promise.all(related.map((one) => lookUp(one, record)));
  const met = new Set(related.filter((_, i) => results[i]));
  return meetsAll((one) => met.has(one));
}
