import { fieldTypeNamed } from '../../records/fields/f.ts';
import { type FieldType, fieldTypeOf } from '../../records/fields/field-type.ts';
import type { DeclaredColumn } from './declared.ts';
import type { KeptMember, KeptMembers } from './members.ts';
import type { KeptColumn } from './snapshot.ts';

const itemOf = (kind: string) => (kind.startsWith('array of ') ? kind.slice('array of '.length) : undefined);

/** Finds the type of a kind. */
type TypeOf = (kind: string) => FieldType | undefined;

/** Whether every value of a kind has the shape of another: a text, a number, a list of such. */
function fits(from: string, to: string, typeOf: TypeOf): boolean {
  if (from === to || typeOf(to)?.jsonType === 'any') return true;
  const [items, wanted] = [itemOf(from), itemOf(to)];
  if (items !== undefined && wanted !== undefined) return fits(items, wanted, typeOf);
  const [source, target] = [typeOf(from), typeOf(to)];
  if (source === undefined || target === undefined || source.jsonType !== target.jsonType) return false;
  return target.takesAll === true || (source.plainText === true && target.plainText === true);
}

/** Whether a kind takes every value of the shape of its own. */
function isOpen(kind: string, typeOf: TypeOf): boolean {
  const item = itemOf(kind);
  return item === undefined ? typeOf(kind)?.takesAll === true : isOpen(item, typeOf);
}

/** Whether every value of a kind is a valid one of another. */
function takesAll(from: string, to: string): boolean {
  return from === to || (fits(from, to, fieldTypeNamed) && isOpen(to, fieldTypeNamed));
}

/** Finds types by kind, that of a column among them, which need not be one of Belfry's own. */
function typesWith({ spec }: DeclaredColumn): TypeOf {
  let own = spec;
  while (own.inner !== undefined) own = own.inner.spec;
  return (kind) => (kind === own.type.kind ? fieldTypeOf(own) : fieldTypeNamed(kind));
}

/**
 * Why values could not be read as another kind although the column's type stays: those of jsonb columns and ciphertexts have their
 * shape inside. Undefined when they can, or when it is not known what they were.
 */
export function misshapen(kept: KeptColumn | undefined, now: DeclaredColumn | undefined): string | undefined {
  if (kept === undefined || now === undefined || fits(kept.kind, now.kind, typesWith(now))) return undefined;
  const what = kept.bound === undefined ? 'values' : 'encrypted values';
  return `its ${what} are stored as ${kept.kind}, and ${now.field} would give them as ${now.kind} as they are`;
}

/** A note on values that stay although they may be invalid now: a sentence without its period; undefined when there is nothing to note. */
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

/** What makes stored objects invalid between two shapes, a few words each; nothing where one of them is not known. */
function memberChanges(before: KeptMembers | undefined, now: KeptMembers | undefined, path: string): string[] {
  if (before === undefined || now === undefined) return [];
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].flatMap((name) => changesOfMember(path + name, before[name], now[name]));
}

/** A note on objects that stay although they may be invalid now: a sentence without its period; undefined when there is nothing to note. */
export function membersNote(
  key: string,
  kept: KeptColumn | undefined,
  now: DeclaredColumn | undefined,
): string | undefined {
  const changes = memberChanges(kept?.members, now?.members, '');
  if (changes.length === 0) return undefined;
  return `${key}: ${changes.join(', ')}: values that are there stay as they are, unchecked`;
}
