/** A record of a list. */
export interface ListRecord {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** The order of a list. */
export interface SortOrder {
  /** The fields by which the list is sorted; undefined if it is sorted by other records, so that only the server knows the order. */
  readonly fields: readonly string[] | undefined;
  /** Less than 0 if `a` comes before `b`. Undefined if only the server knows. */
  compare(a: ListRecord, b: ListRecord): number | undefined;
  /** Whether both records have the same place in the order, except for their ids. */
  hasSameKeys(a: ListRecord, b: ListRecord): boolean;
  /** Learns from records in the order of the server how it compares values. */
  learn(records: readonly ListRecord[]): void;
}

/**
 * How the server may compare the texts of a field. Responses contain decimal numbers as texts, too. Postgres sorts texts by code point, or, in a
 * database with the collation of a language, similar to a dictionary.
 */
type TextOrder = 'codePoint' | 'decimal' | 'collation';

interface Term {
  field: string;
  sign: 1 | -1;
  /** The orders that are possible, as far as is known. */
  possible: Set<TextOrder>;
}

/** Longer texts are sorted by their beginning only. */
const SORTED_CHARACTERS = 600;
const DECIMAL = /^-?(0|[1-9]\d*)(\.\d*[1-9])?$/;
/** Times and ids have the same order by code point and in every collation. */
const TIME_OR_ID = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|[0-9a-f]{24})$/;

/** Undefined where two collations differ, because the one of the database is unknown. */
let collators: readonly Intl.Collator[] | undefined;

function compareByCollation(a: string, b: string): number | undefined {
  if (a.startsWith(b)) return 1;
  if (b.startsWith(a)) return -1;
  collators ??= [new Intl.Collator('en'), new Intl.Collator('en', { ignorePunctuation: true })];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: letters beyond ASCII have different places in different languages
  if (!/^[\x00-\x7f]*$/.test(a + b)) return undefined;
  const [first, second] = collators.map((collator) => Math.sign(collator.compare(a, b)));
  return first === second && first !== 0 ? first : undefined;
}

/** Compares by code point, as UTF-8 does. UTF-16 sorts the characters beyond U+FFFF before some others. Undefined for the same beginning. */
function compareCodePoints(a: string, b: string): number | undefined {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  if (at >= SORTED_CHARACTERS) return undefined;
  // Compare whole characters if the second halves of two differ.
  if (at > 0 && /[\ud800-\udbff]/.test(a[at - 1]!)) at -= 1;
  return Math.sign((a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1));
}

/** Compares decimal numbers of any size. They have no superfluous zeros. */
function compareDecimals(a: string, b: string): number {
  const [isNegative, isOtherNegative] = [a.startsWith('-'), b.startsWith('-')];
  if (isNegative !== isOtherNegative) return isNegative ? -1 : 1;
  if (isNegative) return compareDecimals(b.slice(1), a.slice(1));
  const [wholeDigits, otherDigits] = [a, b].map((text) => text.split('.', 1)[0]!.length) as [number, number];
  return Math.sign(wholeDigits - otherDigits) || (a < b ? -1 : Number(a > b));
}

const isText = (value: unknown): value is string => typeof value === 'string';

/** The value by which a record is sorted. An expanded reference is sorted by its id. */
function sortValue(record: ListRecord, field: string): unknown {
  const value = record[field] ?? undefined;
  return typeof value === 'object' && value !== null && 'id' in value ? value.id : value;
}

const COMPARE: Readonly<Record<TextOrder, (a: string, b: string) => number | undefined>> = {
  codePoint: compareCodePoints,
  decimal: compareDecimals,
  collation: compareByCollation,
};

/** Compares texts in ascending order. Undefined if the possible orders disagree. */
function compareTexts({ possible }: Term, a: string, b: string): number | undefined {
  if (TIME_OR_ID.test(a) && TIME_OR_ID.test(b)) return a < b ? -1 : 1;
  if (!DECIMAL.test(a) || !DECIMAL.test(b)) possible.delete('decimal');
  const results = new Set([...possible].map((order) => COMPARE[order](a, b)));
  return results.size === 1 ? results.values().next().value : undefined;
}

/** Compares two values of a term. */
function compareValues(term: Term, a: unknown, b: unknown): number | undefined {
  if (a === b) return 0;
  // Missing values are the greatest ones.
  if (a === undefined || b === undefined) return term.sign * (a === undefined ? 1 : -1);
  if (isText(a) && isText(b)) {
    const result = compareTexts(term, a, b);
    return result && result * term.sign;
  }
  if (typeof a !== typeof b || (typeof a !== 'number' && typeof a !== 'boolean')) return undefined;
  return term.sign * (a < (b as typeof a) ? -1 : 1);
}

/** Drops the text orders that two adjacent values of the server contradict. One always remains, although it may never decide. */
function learnFromTexts({ possible, sign }: Term, a: string, b: string): void {
  for (const order of possible) {
    if (order === 'decimal' && !(DECIMAL.test(a) && DECIMAL.test(b))) possible.delete(order);
    else if (possible.size > 1 && (COMPARE[order](a, b) ?? 0) * sign > 0) possible.delete(order);
  }
}

/**
 * Creates the order of a list, as the server sorts.
 *
 * @param sort the fields; a `-` before a name reverses the order
 */
export function createSortOrder(sort: readonly string[]): SortOrder {
  const terms = sort.map((text): Term => {
    const isDescending = text.startsWith('-');
    const possible = new Set<TextOrder>(['codePoint', 'decimal', 'collation']);
    return { field: isDescending ? text.slice(1) : text, sign: isDescending ? -1 : 1, possible };
  });
  const idSign = terms.at(-1)?.sign ?? 1;
  const followsReferences = terms.some(({ field }) => field.includes('.'));

  return {
    fields: followsReferences ? undefined : terms.map(({ field }) => field),
    compare(a, b) {
      if (followsReferences) return undefined;
      for (const term of terms) {
        const result = compareValues(term, sortValue(a, term.field), sortValue(b, term.field));
        if (result !== 0) return result;
      }
      return a.id === b.id ? 0 : a.id < b.id ? -idSign : idSign;
    },
    hasSameKeys: (a, b) =>
      !followsReferences && terms.every(({ field }) => sortValue(a, field) === sortValue(b, field)),
    learn(records) {
      for (const [i, record] of records.entries()) {
        const next = records[i + 1];
        if (next === undefined) return;
        const term = terms.find(({ field }) => sortValue(record, field) !== sortValue(next, field));
        if (term === undefined) continue;
        const [a, b] = [sortValue(record, term.field), sortValue(next, term.field)];
        if (isText(a) && isText(b) && !(TIME_OR_ID.test(a) && TIME_OR_ID.test(b))) learnFromTexts(term, a, b);
      }
    },
  };
}
