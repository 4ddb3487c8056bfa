import { namesBefore, type Unchecked } from './column-changes.ts';
import type { Declared } from './declared.ts';
import type { Renames } from './find-renames.ts';
import type { Snapshot } from './snapshot.ts';

// A hash has room for anything, and what finds substrings has no whole texts in it.
const INDEX = /^CREATE (?:UNIQUE )?INDEX "[^"]+" ON "([^"]+)" USING (?:btree|gin) \(([^)]+)\)/;

/**
 * What is to be known of new indexes over columns that are there: texts that fit into no index stop the migration.
 *
 * @param before with everything renamed already
 * @param indexes the statements that make them
 */
export function tightIndexes(
  before: Snapshot,
  indexes: readonly string[],
  declared: Declared,
  renames: Renames,
): Unchecked[] {
  const found = new Map<string, Unchecked>();
  for (const statement of indexes) {
    const [, table, terms] = INDEX.exec(statement) ?? [];
    if (table === undefined || terms!.includes('gin_trgm_ops')) continue;
    for (const [, column] of terms!.matchAll(/"([^"]+)"/g)) {
      const key = `${table}.${column}`;
      const type = before.tables[`public.${table}`]?.columns[column!]?.type;
      const room = declared.columns.get(key)?.room;
      const longest = before.belfry?.columns[key]?.longest;
      if (room === undefined || (longest !== undefined && longest <= room)) continue;
      if (type !== 'text' && type !== 'text[]') continue;
      const note = `${key} gets an index, which has room for ${room} bytes of a text: longer ones that are there may stop the migration`;
      found.set(key, { ...namesBefore(renames, table, column!), note, room, array: type === 'text[]' });
    }
  }
  return [...found.values()];
}
