import { quoteLiteral } from '../../platform/postgres/quote-literal.ts';

/** A value as it goes to its column, written out in SQL with the column's type: for statements that take no parameters. */
export function literal(value: unknown, type: string): string {
  if (Array.isArray(value)) return `ARRAY[${value.map(scalar).join(', ')}]::${type}`;
  return `${scalar(value)}::${type}`;
}

function scalar(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return quoteLiteral(String(value));
}
