import type { DeclaredColumn } from './declared.ts';
import type { KeptColumn } from './snapshot.ts';

/** Kinds whose values are texts, whatever else is asked of them. */
const TEXTS = new Set(['string', 'text', 'enum', 'email', 'url', 'id', 'ref']);
/** Kinds that take any value that is stored like theirs. */
const OPEN = new Set(['string', 'text', 'json', 'array of string', 'array of text', 'array of json']);

const itemOf = (kind: string) => (kind.startsWith('array of ') ? kind.slice('array of '.length) : undefined);

/** Whether every value of a kind is of the shape of another: a text, a number, a list of such. */
function fits(from: string, to: string): boolean {
  if (from === to || to === 'json') return true;
  const [items, wanted] = [itemOf(from), itemOf(to)];
  if (items !== undefined && wanted !== undefined) return fits(items, wanted);
  if (from === 'integer' && to === 'number') return true;
  if (from === 'date') return to === 'string' || to === 'text';
  return TEXTS.has(from) && TEXTS.has(to);
}

/** Whether every value of a kind is a valid one of another. */
export function takesAll(from: string, to: string): boolean {
  return from === to || (fits(from, to) && (OPEN.has(to) || to === 'number' || to === 'array of number'));
}

/**
 * Why values could not be read as another kind although the column's type stays: those of jsonb columns and ciphertexts have their
 * shape inside. Undefined when they can, or when it is not known what they were.
 */
export function misshapen(kept: KeptColumn | undefined, now: DeclaredColumn | undefined): string | undefined {
  if (kept === undefined || now === undefined || fits(kept.kind, now.kind)) return undefined;
  const what = kept.bound === undefined ? 'values' : 'encrypted values';
  return `its ${what} are stored as ${kept.kind}, and ${now.field} would give them as ${now.kind} as they are`;
}

/** What a person should know of values that stay as they are: a sentence without its end; undefined when there is nothing. */
export function uncheckedNote(key: string, kept: KeptColumn | undefined, now: DeclaredColumn | undefined) {
  if (kept === undefined || now === undefined) return undefined;
  if (kept.kind !== now.kind && !OPEN.has(now.kind))
    return `${key} becomes ${now.kind}: values that are there stay as they are, unchecked`;
  const gone = kept.values?.filter((value) => now.values?.includes(value) === false) ?? [];
  if (kept.kind !== now.kind || gone.length === 0) return undefined;
  const named = gone.map((value) => JSON.stringify(value)).join(', ');
  return `${key} no longer takes ${named}: values that are there stay as they are, unchecked`;
}
