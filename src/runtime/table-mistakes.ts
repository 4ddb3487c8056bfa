import type { Extension } from '../declare/extension.ts';
import type { AnyResource } from '../declare/resource.ts';
import { getTableConfig, isTable } from '../platform/postgres/drizzle.ts';
import { MAX_IDENTIFIER_BYTES, primaryKeyName } from '../platform/postgres/identifiers.ts';
import { placesOf } from '../records/configuration/option-errors.ts';
import { archiveNames } from '../records/store/archive-table.ts';
import { keptNames, overlongNames } from './migrations/relation-names.ts';

/** Who has a name in the schema already: an extension, or somebody in words. */
type Holder = Extension | string;

function faultOf(extension: Extension, table: string, name: string, holder: Holder): string | undefined {
  const at = `extension "${extension.name}": table "${table}"`;
  if (typeof holder === 'string') return `${at}: "${name}" is ${holder}; rename it`;
  if (holder === extension) return `${at}: "${name}" is there twice; rename one`;
  // One that is installed twice has that as its mistake.
  if (holder.name === extension.name) return undefined;
  const what = name === table ? 'table' : 'index or key';
  return `${what} "${name}": two extensions have it, "${holder.name}" and "${extension.name}"; rename one`;
}

/**
 * The mistakes in the tables of extensions: what is none, and names in the schema that somebody else has. Where a resource has the
 * name, that is the resource's mistake.
 *
 * @param core the names that Belfry's own tables take
 */
export function tableMistakes(
  extensions: readonly Extension[],
  resources: readonly AnyResource[],
  core: ReadonlySet<string>,
): string[] {
  const mistakes: string[] = [];
  const holders = new Map<string, Holder>(
    [...core].map((name) => [name, "a table, an index or a key of Belfry's own"]),
  );
  const ofResources = new Set(resources.map((resource) => placesOf(resource).table));
  for (const resource of resources) {
    const { table } = placesOf(resource);
    holders.set(primaryKeyName(table), `the primary key of the resource "${resource.name}"`);
    if (!resource.softDelete) continue;
    const [archive, ...parts] = archiveNames(table);
    holders.set(archive!, `where the deleted records of "${resource.name}" are`);
    for (const part of parts) holders.set(part, `an index or a key of the deleted records of "${resource.name}"`);
  }
  for (const extension of extensions) {
    for (const [key, table] of Object.entries(extension.tables ?? {})) {
      if (!isTable(table)) {
        mistakes.push(
          `extension "${extension.name}": table "${key}": it is not a table; make it with drizzle's pgTable`,
        );
        continue;
      }
      const { name } = getTableConfig(table);
      for (const long of overlongNames(table)) {
        mistakes.push(
          `extension "${extension.name}": table "${name}": the name "${long}" has ${Buffer.byteLength(long)} bytes, and Postgres cuts names at ${MAX_IDENTIFIER_BYTES}; give a shorter one`,
        );
      }
      const names = keptNames(table);
      const taken = ofResources.has(name) ? undefined : names.find((one) => holders.has(one));
      const fault = taken && faultOf(extension, name, taken, holders.get(taken)!);
      if (fault !== undefined) mistakes.push(fault);
      for (const one of names) if (!holders.has(one)) holders.set(one, extension);
    }
  }
  return mistakes;
}
