import type { StoredRecord } from '../../declare/host.ts';
import { compareScalars, type Scalar } from '../fields/field-type.ts';
import type { Comparison, Condition } from './list-query.ts';

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

/** Whether a stored record may meet a condition if the values of some fields are unknown. */
export function mayMatchCondition(condition: Condition, record: StoredRecord, unknown: ReadonlySet<string>): boolean {
  if ('never' in condition) return false;
  if ('any' in condition) return condition.any.some((one) => mayMatchCondition(one, record, unknown));
  if ('every' in condition) return condition.every.every((one) => mayMatchCondition(one, record, unknown));
  return unknown.has(condition.field) || meetsComparison(condition, record[condition.field]);
}

const NO_UNKNOWN_FIELDS: ReadonlySet<string> = new Set();

/** Whether a stored record meets a condition. Returns the same result as the SQL, for records in memory (or deleted ones). */
export function matchesCondition(condition: Condition, record: StoredRecord): boolean {
  return mayMatchCondition(condition, record, NO_UNKNOWN_FIELDS);
}
