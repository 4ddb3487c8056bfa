import { z } from 'zod';
import type { FieldSpec } from '../../declare/field.ts';

/** Message of a value that Postgres can't hold: NUL, or half of a surrogate pair. */
export const UNSTORABLE = 'Must not contain NUL or broken characters';

/** Whether a text can be stored as it is: no NUL, no lone surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** A text as it is stored: trimmed and in the declared case. */
export function normalize(text: string, spec: FieldSpec): string {
  const trimmed = spec.trim ? text.trim() : text;
  if (spec.lowercase) return trimmed.toLowerCase();
  return spec.uppercase ? trimmed.toUpperCase() : trimmed;
}

/** Counts characters as people do (code points), cheaply where the length in UTF-16 already decides. */
function longerThan(text: string, limit: number): boolean {
  return text.length > limit && (text.length > 2 * limit || [...text].length > limit);
}

// What a btree page takes of one entry is 2,704 bytes, the id beside it and headers included.
const MOST_INDEXED_BYTES = 2600;

/** Whether the value must fit into a btree index. */
function isIndexed({ kind, unique, index, filterable, sortable }: FieldSpec): boolean {
  return kind !== 'text' && Boolean(unique || index || filterable || sortable);
}

// Many a harmless looking expression takes the square of the length: no text without a declared maximum is matched beyond this.
const MOST_MATCHED = 5000;

/** The schema of string-like types: normalised, storable, within bounds, matching the pattern. */
export function textSchema(spec: FieldSpec): z.ZodType<string> {
  const min = spec.min === undefined ? undefined : Number(spec.min.value);
  const declared = spec.max === undefined ? undefined : Number(spec.max.value);
  const max = declared ?? (spec.pattern === undefined ? undefined : MOST_MATCHED);
  const indexed = isIndexed(spec);
  return z
    .string({ error: 'Must be a string' })
    .transform((text) => normalize(text, spec))
    .superRefine((text, context) => {
      const fault = (message: string) => context.addIssue({ code: 'custom', message });
      if (spec.required && text === '') return fault(spec.requiredMessage ?? 'Is required');
      if (!isStorable(text)) return fault(UNSTORABLE);
      if (min !== undefined && [...text].length < min) {
        return fault(spec.min?.message ?? `Must be at least ${min} ${min === 1 ? 'character' : 'characters'}`);
      }
      if (max !== undefined && longerThan(text, max)) {
        return fault(spec.max?.message ?? `Must be at most ${max} ${max === 1 ? 'character' : 'characters'}`);
      }
      if (indexed && Buffer.byteLength(text) > MOST_INDEXED_BYTES) {
        return fault(`Must be at most ${MOST_INDEXED_BYTES} bytes`);
      }
      if (spec.pattern !== undefined && !matches(spec.pattern.regex, text)) {
        fault(spec.pattern.message ?? 'Must match the required pattern');
      }
    });
}

function matches(regex: RegExp, text: string): boolean {
  // A global or sticky expression remembers where it stopped.
  regex.lastIndex = 0;
  return regex.test(text);
}
