import type { DeclaredColumn } from './declared.ts';
import { takesAll } from './kinds.ts';
import type { KeptMember, KeptMembers } from './members.ts';
import type { KeptColumn } from './snapshot.ts';

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

/** What a person should know of objects that stay as they are: a sentence without its end; undefined when there is nothing. */
export function membersNote(
  key: string,
  kept: KeptColumn | undefined,
  now: DeclaredColumn | undefined,
): string | undefined {
  const changes = memberChanges(kept?.members, now?.members, '');
  if (changes.length === 0) return undefined;
  return `${key}: ${changes.join(', ')}: values that are there stay as they are, unchecked`;
}
