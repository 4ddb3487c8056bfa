import { z } from 'zod';
import type { FieldSpec } from '../../declare/field.ts';
import { isStorable, UNSTORABLE } from '../../platform/data/postgres/values.ts';
import { tooManyBytesMessage } from './column-type.ts';
import type { TypedModifier } from './field-type.ts';

/** The modifiers that every short text supports. */
export const TEXT_MODIFIERS: readonly TypedModifier[] = [
  'min',
  'max',
  'pattern',
  'trim',
  'unique',
  'index',
  'filterable',
  'sortable',
  'searchable',
  'encrypted',
];

/** Returns a text that a record may hold, unchanged, as a value to compare with; undefined for any other value. */
export function toComparableText(value: unknown): string | undefined {
  return typeof value === 'string' && isStorable(value) ? value : undefined;
}

// The quick check of Unicode Standard Annex #15: every character before U+0300 is in NFC, and composes with no other one before it. Searching
// for other characters costs a fraction of normalizing.
const NEEDS_NORMALIZATION = /[\u0300-\uffff]/;
// Every character before U+00C0 is its own decomposition.
const NEEDS_DECOMPOSITION = /[\u00c0-\uffff]/;

// More marks on one letter than any language writes (the Stream-Safe Text Format of UAX #15). Normalizing sorts them in quadratic time, so a text
// of a megabyte would block the process for minutes.
const ENDLESS_MARKS = /\p{M}{31}/u;

/**
 * Returns a text in NFC, where composed and decomposed letters are the same characters. A text with more than 30 marks on one letter stays
 * as it is.
 */
export function toNfc(text: string): string {
  return NEEDS_NORMALIZATION.test(text) && !ENDLESS_MARKS.test(text) ? text.normalize('NFC') : text;
}

/** Whether texts of a field are stored in NFC: strings, and long texts that must be unique, unless the declaration disables it. */
export function isStoredInNfc({ normalize, unique, type }: FieldSpec): boolean {
  return normalize ?? (type.kind === 'text' && unique === true);
}

/** A text in its stored form: trimmed, in the declared case, and in NFC unless the field keeps the characters as they are. */
export function normalizeText(text: string, spec: FieldSpec): string {
  const trimmed = spec.trim ? text.trim() : text;
  const cased = spec.lowercase ? trimmed.toLowerCase() : spec.uppercase ? trimmed.toUpperCase() : trimmed;
  // Last, because a text in NFC may leave it when its case changes.
  return isStoredInNfc(spec) ? toNfc(cased) : cased;
}

/** A text of code, such as a value of a scope filter, as records hold it. */
export function toComparedText(text: string, spec: FieldSpec): string {
  return isStoredInNfc(spec.inner?.spec ?? spec) ? toNfc(text) : text;
}

/**
 * The forms that a field may hold of a text that is compared with its values. Long texts are stored as they were sent: composed,
 * decomposed, or like the compared text itself. Normalizing them in Postgres would cost many times as much as searching them, and would
 * need its own indexes.
 */
export function findStoredForms(text: string, spec: FieldSpec): string[] {
  if (spec.type.kind !== 'text' || spec.normalize !== undefined || isStoredInNfc(spec)) return [text];
  if (!NEEDS_DECOMPOSITION.test(text) || ENDLESS_MARKS.test(text)) return [text];
  return [...new Set([toNfc(text), text.normalize('NFD'), text])];
}

/** Returns the number of code points of a well-formed text. `[...text].length` would take longer than parsing the JSON of a long text. */
function countCharacters(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit <= 0xdbff) count--;
  }
  return count;
}

/** Whether a text has more characters (code points) than a maximum. Counts only when the length in UTF-16 does not decide. */
export function isLongerThan(text: string, limit: number): boolean {
  return text.length > limit && (text.length > 2 * limit || countCharacters(text) > limit);
}

/** Whether a text has fewer characters (code points) than a minimum. Counts only when the length in UTF-16 does not decide. */
function isShorterThan(text: string, limit: number): boolean {
  return text.length < limit || (text.length < 2 * limit && countCharacters(text) < limit);
}

/** Errors in the bounds of a length or a count. */
export function lengthErrors({ min, max }: FieldSpec): string[] {
  const isInvalid = (value: unknown) => !(Number.isSafeInteger(value) && (value as number) >= 0);
  return Object.entries({ min, max })
    .filter(([, bound]) => bound !== undefined && isInvalid(bound.value))
    .map(([name, bound]) => `${name}(${String(bound!.value)}) must be a whole number of at least 0`);
}

/** Errors in the bounds of a text. */
export function textBoundErrors(spec: FieldSpec): string[] {
  const errors = lengthErrors(spec);
  if (errors.length > 0 || !spec.required || spec.max?.value !== 0) return errors;
  return ['required() and max(0) cannot be combined: no text would pass; remove one'];
}

// A btree page accepts entries of at most 2,704 bytes, including the id and headers.
/** Maximum total bytes of the values of one index entry, besides the record's id. */
export const MAX_INDEXED_BYTES = 2600;
// Maximum bytes of a character in UTF-8.
const MAX_BYTES_OF_A_CHARACTER = 4;

/** Whether the values must fit into the field's own index. */
function hasIndexModifier({ unique, index, filterable, sortable }: FieldSpec): boolean {
  return Boolean(unique || index || filterable || sortable);
}

/** Bytes of the longest text that a declaration allows; infinite if it does not limit the length. */
export function longestTextBytes({ max, standard }: FieldSpec): number {
  // The output of a Standard Schema may have any length.
  const isLimited = max !== undefined && standard === undefined;
  return isLimited ? Number(max.value) * MAX_BYTES_OF_A_CHARACTER : Number.POSITIVE_INFINITY;
}

/** Bytes of the longest text that a declaration allows; undefined if such a text may not fit into an index. */
export function maxDeclaredTextBytes(spec: FieldSpec): number | undefined {
  const bytes = longestTextBytes(spec);
  return bytes <= MAX_INDEXED_BYTES ? bytes : undefined;
}

/**
 * Maximum bytes of a string or URL by the field's own modifiers; undefined if a value may not fit into an index. Decides whether the default
 * sort order gets an index. Does not count the limits of the resource's `indexes` option.
 */
export function maxTextBytesByModifiers(spec: FieldSpec): number | undefined {
  return maxDeclaredTextBytes(spec) ?? (hasIndexModifier(spec) ? MAX_INDEXED_BYTES : undefined);
}

// Many harmless-looking expressions take quadratic time, so texts without a declared maximum are matched only up to this length.
const MAX_MATCHED_LENGTH = 5000;

/**
 * The schema of a text: normalised, storable, within bounds, matching the pattern.
 *
 * @param normalized creates the stored form of a text
 */
export function textSchema(spec: FieldSpec, maxBytes?: number, normalized = normalizeText): z.ZodType<string> {
  const min = spec.min === undefined ? undefined : Number(spec.min.value);
  const declared = spec.max === undefined ? undefined : Number(spec.max.value);
  const max = declared ?? (spec.pattern === undefined ? undefined : MAX_MATCHED_LENGTH);
  return z
    .string({ error: 'Must be a string' })
    .transform((text) => normalized(text, spec))
    .superRefine((text, context) => {
      // Skip the field type's own checks, such as URL parsing: the text is already invalid.
      const refuse = (message: string) => context.addIssue({ code: 'custom', message, input: text, continue: false });
      if (spec.required && text === '') return refuse(spec.requiredMessage ?? 'Is required');
      if (!isStorable(text)) return refuse(UNSTORABLE);
      if (min !== undefined && isShorterThan(text, min)) {
        return refuse(spec.min?.message ?? `Must be at least ${min} ${min === 1 ? 'character' : 'characters'}`);
      }
      if (max !== undefined && isLongerThan(text, max)) {
        return refuse(spec.max?.message ?? `Must be at most ${max} ${max === 1 ? 'character' : 'characters'}`);
      }
      if (maxBytes !== undefined && Buffer.byteLength(text) > maxBytes) {
        return refuse(tooManyBytesMessage(maxBytes));
      }
      if (spec.pattern !== undefined && !matchesPattern(spec.pattern.regex, text)) {
        refuse(spec.pattern.message ?? 'Must be text that matches the required pattern');
      }
    });
}

/**
 * Maximum bytes of a field's text, or of a text in its array, that the indexes can hold; undefined if the field is in no index.
 *
 * @param room the room in the declared indexes over the field
 */
export function maxBytesInIndex(spec: FieldSpec, room: number | undefined): number | undefined {
  return room ?? (hasIndexModifier(spec) ? MAX_INDEXED_BYTES : undefined);
}

/** The schema of a text that may be in an index: a text that is too long for the index is refused. */
export function shortTextSchema(
  spec: FieldSpec,
  { maxBytes }: { maxBytes?: number | undefined },
  normalized = normalizeText,
): z.ZodType<string> {
  return textSchema(spec, maxBytesInIndex(spec, maxBytes), normalized);
}

function matchesPattern(regex: RegExp, text: string): boolean {
  // A global or sticky expression would continue where its last match ended.
  regex.lastIndex = 0;
  return regex.test(text);
}
