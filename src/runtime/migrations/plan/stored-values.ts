import { fieldTypeByKind } from '../../../records/fields/f.ts';
import { type FieldType, fieldTypeOf } from '../../../records/fields/field-type.ts';
import type { DeclaredColumn } from './declared.ts';
import type { StoredMember, StoredMembers } from './members.ts';
import type { StoredColumn } from './snapshot.ts';

const parseItemKind = (kind: string) => (kind.startsWith('array of ') ? kind.slice('array of '.length) : undefined);

/** Finds the field type of a kind such as `string`; undefined if the kind is unknown. */
type TypeOf = (kind: string) => FieldType | undefined;

/** Whether every value of a kind has the JSON form of another kind: both are texts, numbers, or lists of one form. */
function hasSameForm(from: string, to: string, typeOf: TypeOf): boolean {
  if (from === to || typeOf(to)?.jsonType === 'any') return true;
  const [items, wanted] = [parseItemKind(from), parseItemKind(to)];
  if (items !== undefined && wanted !== undefined) return hasSameForm(items, wanted, typeOf);
  const [source, target] = [typeOf(from), typeOf(to)];
  if (source === undefined || target === undefined || source.jsonType !== target.jsonType) return false;
  return target.takesAll === true || (source.plainText === true && target.plainText === true);
}

/** Whether a kind accepts every value of its JSON form, as `string` accepts every text. */
function acceptsEveryValue(kind: string, typeOf: TypeOf): boolean {
  const item = parseItemKind(kind);
  return item === undefined ? typeOf(kind)?.takesAll === true : acceptsEveryValue(item, typeOf);
}

/** Whether every value of a kind is a valid value of another kind. */
function acceptsAll(from: string, to: string): boolean {
  return from === to || (hasSameForm(from, to, fieldTypeByKind) && acceptsEveryValue(to, fieldTypeByKind));
}

/** Creates the lookup of field types by kind. It includes the type of the column, which may be a type from outside Belfry. */
function createTypeLookup({ spec }: DeclaredColumn): TypeOf {
  let own = spec;
  while (own.inner !== undefined) own = own.inner.spec;
  return (kind) => (kind === own.type.kind ? fieldTypeOf(own) : fieldTypeByKind(kind));
}

/**
 * Returns why a column's values could not be read as another kind although its Postgres type stays the same: values of jsonb columns and
 * ciphertexts have an inner form. Undefined if they can be read, or if their earlier kind is not known.
 */
export function findShapeMismatchReason(
  kept: StoredColumn | undefined,
  now: DeclaredColumn | undefined,
): string | undefined {
  if (kept === undefined || now === undefined || hasSameForm(kept.kind, now.kind, createTypeLookup(now)))
    return undefined;
  const what = kept.bound === undefined ? 'values' : 'encrypted values';
  return `its ${what} are stored as ${kept.kind}, and ${now.field} would return them unchanged as ${now.kind}`;
}

/**
 * Returns a note on values that are kept although they may now be invalid: a sentence without its period. Undefined if there are none.
 */
export function describeUncheckedValues(key: string, kept: StoredColumn | undefined, now: DeclaredColumn | undefined) {
  if (kept === undefined || now === undefined) return undefined;
  if (kept.kind !== now.kind && !acceptsEveryValue(now.kind, createTypeLookup(now)))
    return `${key} becomes ${now.kind}: existing values are kept without a check`;
  const gone = kept.values?.filter((value) => now.values?.includes(value) === false) ?? [];
  if (kept.kind !== now.kind || gone.length === 0) return undefined;
  const named = gone.map((value) => JSON.stringify(value)).join(', ');
  return `${key} no longer allows ${named}: existing values are kept without a check`;
}

const quoteNames = (names: readonly string[]) => names.map((name) => JSON.stringify(name)).join(', ');

function findMemberChanges(path: string, before: StoredMember | undefined, now: StoredMember | undefined): string[] {
  const name = JSON.stringify(path);
  if (now === undefined) return [`${name} is no longer a member`];
  if (before === undefined) return now.required ? [`${name} is a new required member`] : [];
  const changes = now.required && !before.required ? [`${name} is required now`] : [];
  if (!acceptsAll(before.kind, now.kind)) return [...changes, `${name} was ${before.kind} and is ${now.kind}`];
  const gone = before.values?.filter((value) => now.values?.includes(value) === false) ?? [];
  if (gone.length > 0) changes.push(`${name} no longer allows ${quoteNames(gone)}`);
  return [...changes, ...findShapeChanges(before.members, now.members, `${path}.`)];
}

/** Describes the changes between two object shapes that make stored objects invalid; empty if either shape is unknown. */
function findShapeChanges(before: StoredMembers | undefined, now: StoredMembers | undefined, path: string): string[] {
  if (before === undefined || now === undefined) return [];
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].flatMap((name) => findMemberChanges(path + name, before[name], now[name]));
}

/**
 * Returns a note on objects that are kept although they may now be invalid: a sentence without its period. Undefined if there are none.
 */
export function describeUncheckedMembers(
  key: string,
  kept: StoredColumn | undefined,
  now: DeclaredColumn | undefined,
): string | undefined {
  const changes = findShapeChanges(kept?.members, now?.members, '');
  if (changes.length === 0) return undefined;
  return `${key}: ${changes.join(', ')}: existing values are kept without a check`;
}
