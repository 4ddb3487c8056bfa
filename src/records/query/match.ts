import type { StoredRecord } from '../../declare/host.ts';
import type { Comparison, Condition } from './condition.ts';

type Ordered = string | number | boolean;

function compares({ op, value }: Comparison, stored: unknown): boolean {
  if (op === 'exists') return (stored !== undefined) === value;
  if (Array.isArray(stored)) {
    const wanted = (Array.isArray(value) ? value : [value]) as unknown[];
    if (op === 'all') return wanted.every((item) => stored.includes(item));
    const hit = wanted.some((item) => stored.includes(item));
    return op === 'ne' || op === 'nin' ? !hit : hit;
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
  const [a, b] = [stored as Ordered, value as Ordered];
  if (op === 'gt') return a > b;
  if (op === 'gte') return a >= b;
  return op === 'lt' ? a < b : a <= b;
}

/** Whether a stored record meets a condition: the same answer as its SQL gives, for records that are at hand (or gone). */
export function matches(condition: Condition, record: StoredRecord): boolean {
  if ('never' in condition) return false;
  if ('any' in condition) return condition.any.some((one) => matches(one, record));
  if ('every' in condition) return condition.every.every((one) => matches(one, record));
  const stored = record[condition.field];
  if ('contains' in condition) {
    return typeof stored === 'string' && stored.toLowerCase().includes(condition.contains.toLowerCase());
  }
  return compares(condition, stored);
}
