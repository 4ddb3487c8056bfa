import type { BulkField } from '../../declare/bulk.ts';
import { parseFileDate } from '../fields/types/date.ts';

const BOOLEANS: Record<string, boolean> = { true: true, false: false, yes: true, no: false, 1: true, 0: false };

/**
 * Texts that a spreadsheet would calculate as a formula, after compatibility normalization: spreadsheets also read signs of full width.
 * https://owasp.org/www-community/attacks/CSV_Injection
 */
const FORMULA = /^[=+\-@\t\r\n]/;

/** Decimal digits, or the exponents that JSON and so an export writes: `1e+21`. Not what else `Number` reads, such as `0x1F`. */
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)$|^-?\d(?:\.\d+)?e[+-]\d{1,3}$/;

function parseJsonCell(text: string, expected: string): { value: unknown } | { error: string } {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { error: `Must be JSON, such as ${expected}` };
  }
}

/**
 * Converts the text of a CSV cell to a value of a field. The value is validated later. A text that is not a number stays a text: the error
 * then comes from the field.
 */
export function parseCell({ type }: BulkField, text: string): { value: unknown } | { error: string } {
  if (type.kind === 'date') return { value: parseFileDate(text) ?? text };
  switch (type.jsonType) {
    case 'number':
      return { value: NUMBER.test(text.trim()) ? Number(text) : text };
    case 'boolean':
      return { value: BOOLEANS[text.trim().toLowerCase()] ?? text };
    case 'array':
      return parseJsonCell(text, '["a", "b"]');
    case 'object':
      return parseJsonCell(text, '{"a": 1}');
    case 'any': {
      const parsed = parseJsonCell(text, '');
      return 'value' in parsed ? parsed : { value: text };
    }
    default:
      return { value: text };
  }
}

/**
 * Formats a value as the text of a CSV cell. Texts are written as they are, everything else as JSON; no value is an empty cell.
 *
 * @param jsonType the JSON type of the field; `any` also quotes texts, because the text `5` would otherwise become the number 5
 * @param forSpreadsheet puts an apostrophe before texts that a spreadsheet would calculate as a formula
 */
export function formatCell(value: unknown, jsonType: string, forSpreadsheet: boolean): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' && jsonType !== 'any' ? value : JSON.stringify(value);
  return forSpreadsheet && typeof value === 'string' && FORMULA.test(text.slice(0, 1).normalize('NFKC'))
    ? `'${text}`
    : text;
}
