import { fieldTypeNamed } from '../../../records/fields/f.ts';
import { type FieldType, fieldTypeOf } from '../../../records/fields/field-type.ts';
import type { DeclaredColumn } from './declared.ts';
import type { KeptMember, KeptMembers } from './members.ts';
import type { KeptColumn } from './snapshot.ts';

const itemOf = (kind: string) => (kind.startsWith('array of ') ? kind.slice('array of '.length) : undefined);

/** Finds the type of a kind. */
type TypeOf = (kind: string) => FieldType | undefined;

/** Whether every value of a kind has the form of another kind: a text, a number, a list of these. */
function fits(from: string, to: string, typeOf: TypeOf): boolean {
  if (from === to || typeOf(to)?.jsonType === 'any') return true;
  const [items, wanted] = [itemOf(from), itemOf(to)];
  if (items !== undefined && wanted !== undefined) return fits(items, wanted, typeOf);
  const [source, target] = [typeOf(from), typeOf(to)];
  if (source === undefined || target === undefined || source.jsonType !== target.jsonType) return false;
  return target.takesAll === true || (source.plainText === true && target.plainText === true);
}

/** Whether a kind accepts every value of its form. */
function isOpen(kind: string, typeOf: TypeOf): boolean {
  const item = itemOf(kind);
  return item === undefined ? typeOf(kind)?.takesAll === true : isOpen(item, typeOf);
}

/** Whether every value of a kind is a valid value of another kind. */
function takesAll(from: string, to: string): boolean {
  return from === to || (fits(from, to, fieldTypeNamed) && isOpen(to, fieldTypeNamed));
}

/** Finds types by kind, including that of a column, which may come from outside Belfry. */
function typesWith({ spec }: DeclaredColumn): TypeOf {
  let own = spec;
  while (own.inner !== undefined) own = own.inner.spec;
  return (kind) => (kind === own.type.kind ? fieldTypeOf(own) : fieldTypeNamed(kind));
}

/**
 * Why values could not be read as another kind although the column's type stays the same: values of jsonb columns and ciphertexts have
 * an inner form. Undefined if they can, or if their earlier kind is not known.
 */
export function misshapen(kept: KeptColumn | undefined, now: DeclaredColumn | undefined): string | undefined {
  if (kept === undefined || now === undefined || fits(kept.kind, now.kind, typesWith(now))) return undefined;
  const what = kept.bound === undefined ? 'values' : 'encrypted values';
  return `its ${what} are stored as ${kept.kind}, and ${now.field} would give them as ${now.kind} as they are`;
}

/**
 * A note on values that are kept although they may now be invalid: a sentence without its period; undefined if there is nothing to note.
 */
export function uncheckedNote(key: string, kept: KeptColumn | undefined, now: DeclaredColumn | undefined) {
  if (kept === undefined || now === undefined) return undefined;
  if (kept.kind !== now.kind && !isOpen(now.kind, typesWith(now)))
    return `${key} becomes ${now.kind}: values that are there stay as they are, unchecked`;
  const gone = kept.values?.filter((value) => now.values?.includes(value) === false) ?? [];
  if (kept.kind !== now.kind || gone.length === 0) return undefined;
  const named = gone.map((value) => JSON.stringify(value)).join(', ');
  return `${key} no longer takes ${named}: values that are there stay as they are, unchecked`;
}

const quoted = (names: readonly string[]) => names.map((name) => JSON.stringify(name)).join(', ');

function changesOfMember(path: string, before: KeptMember | undefined, now: KeptMember | undefined): string[] {
  const name = JSON.stringify(path);
  if (now === undefined) return [`${name} is no member any more`];
  if (before === undefined) return now.required ? [`${name} is a new member, and required`] : [];
  const changes = now.required && !before.required ? [`${name} is required now`] : [];
  if (!takesAll(before.kind, now.kind)) return [...changes, `${name} was ${before.kind} and is ${now.kind}`];
  const gone = before.values?.filter((value) => now.values?.includes(value) === false) ?? [];
  if (gone.length > 0) changes.push(`${name} no longer takes ${quoted(gone)}`);
  return [...changes, ...memberChanges(before.members, now.members, `${path}.`)];
}

/** The changes between two shapes that make stored objects invalid, in a few words each; empty if either shape is unknown. */
function memberChanges(before: KeptMembers | undefined, now: KeptMembers | undefined, path: string): string[] {
  if (before === undefined || now === undefined) return [];
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].flatMap((name) => changesOfMember(path + name, before[name], now[name]));
}

/**
 * A note on objects that are kept although they may now be invalid: a sentence without its period; undefined if there is nothing to note.
 */
export function membersNote(
  key: string,
  kept: KeptColumn | undefined,
  now: DeclaredColumn | undefined,
): string | undefined {
  const changes = memberChanges(kept?.members, now?.members, '');
  if (changes.length === 0) return undefined;
  return `${key}: ${changes.join(', ')}: values that are there stay as they are, unchecked`;
}
