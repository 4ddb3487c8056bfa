import { quoteIdentifier } from '../../platform/postgres/identifiers.ts';
import { type CompiledField, type CompiledResource, columnOf } from '../schema/compiled.ts';
import { archiveTable } from '../schema/table-names.ts';
import type { Codec } from './codec.ts';
import { outboxInsertSql } from './event.ts';

/**
 * The SQL texts of a resource's writes. The last placeholders of each statement are those of its event (src/records/store/event.ts). Texts
 * are built once; a request only supplies values.
 */
export interface WriteStatements {
  /** Values: the id, each field in declared order, the event. */
  insert: string;
  /** Values: the id, each field in declared order, `createdAt`, `updatedAt`, the event. */
  insertWithTimes(): string;
  /** Values: those of `where`, the changed fields, the event. */
  update(changed: readonly CompiledField[], where: string, given: number): string;
  /** Values: those of `where`, those for the archive, those of the event. */
  remove(where: string, given: number): string;
  /** Values: those of `where`, the event. */
  restore(where: string, given: number): string;
}

const MAX_CACHED_UPDATES = 200;

/** Qualifies each column of a select list with an alias. */
export function qualifyColumns(columns: string, alias: string): string {
  return columns
    .split(', ')
    .map((column) => `${alias}.${column}`)
    .join(', ');
}

/**
 * The values that archive a deleted record.
 *
 * @param userId the id of the acting user: if the user owns the record, only ownership is stored, not `under`
 * @param under the privileges under which a viewer who does not own the record deletes it
 */
export function archiveParameterValues(
  { softDelete, ownerField }: CompiledResource,
  userId: string | undefined,
  under: readonly string[],
): unknown[] {
  if (!softDelete) return [];
  return ownerField === undefined ? [under] : [under, userId ?? null];
}

/** The columns of a resource's rows that its writes name: the id, the fields and the given times. */
function listColumnsAndTimes({ fields, timestamps }: CompiledResource, ...times: string[]): string {
  return ['"id"', ...fields.map((field) => quoteIdentifier(field.column)), ...(timestamps ? times : [])].join(', ');
}

/** The select list of `xmin`, which `*` does not include, for a resource without timestamps. */
export function xminColumnSql({ timestamps }: CompiledResource, alias = ''): string {
  return timestamps ? '' : `, ${alias}"xmin"`;
}

/**
 * The common table expression that archives deleted rows; empty without soft delete.
 *
 * @param given how many placeholders the statement uses before those of `archiveParameterValues`
 * @param from the common table expression of the deleted rows
 */
export function archiveInsertSql(resource: CompiledResource, given: number, from = '_new'): string {
  if (!resource.softDelete) return '';
  const archive = quoteIdentifier(archiveTable(resource.table));
  const columnsWithTimes = listColumnsAndTimes(resource, '"created_at"', '"updated_at"');
  const archived = `${columnsWithTimes}, "deleted_at", "deleted_under"`;
  // If the owner deletes the record, the archive stores `owner`, whatever other roles the owner has.
  const owner =
    resource.ownerField === undefined ? undefined : quoteIdentifier(columnOf(resource, resource.ownerField));
  const under =
    owner === undefined
      ? `$${given + 1}::text[]`
      : `case when ${owner} = $${given + 2}::text then array['owner'] else $${given + 1}::text[] end`;
  // If a deleted id was imported again, the archive already has a row with this id. Overwrite it with the latest state.
  return `\n  _kept as (insert into ${archive} (${archived}) select ${columnsWithTimes}, now(), ${under} from ${from}
    on conflict ("id") do update set (${archived}) = row(${qualifyColumns(archived, 'excluded')})),`;
}

/** The common table expressions that move archived rows back: `_new` has the restored rows. */
export function restoreSql(resource: CompiledResource, where: string): string {
  // A restored record gets a new `updated_at`: its version comes from this time and must never repeat.
  const restored = listColumnsAndTimes(
    resource,
    '"created_at"',
    `greatest(now(), "updated_at" + interval '1 millisecond')`,
  );
  return `_gone as (delete from ${quoteIdentifier(archiveTable(resource.table))} where ${where} returning *),
  _new as (insert into ${quoteIdentifier(resource.table)} (${listColumnsAndTimes(resource, '"created_at"', '"updated_at"')})
    select ${restored} from _gone returning *${xminColumnSql(resource)})`;
}

/** Creates the SQL texts of a resource's writes. */
export function createWriteStatements(resource: CompiledResource, codec: Codec): WriteStatements {
  const table = quoteIdentifier(resource.table);
  const columns = ['"id"', ...resource.fields.map((field) => quoteIdentifier(field.column))];
  const newAndOldColumns = `${qualifyColumns(codec.columns, '_new')}, ${qualifyColumns(codec.columns, '_old')}`;
  const xmin = (alias = '') => xminColumnSql(resource, alias);
  const updates = new Map<string, string>();

  function buildUpdateSql(changed: readonly CompiledField[], where: string, given: number): string {
    const sets = changed.map((field, i) => `${quoteIdentifier(field.column)} = $${given + i + 1}`);
    // The version of a record comes from `updated_at` and must never repeat, however quickly changes follow each other.
    if (resource.timestamps) {
      sets.push(`"updated_at" = greatest(now(), _row."updated_at" + interval '1 millisecond')`);
    }
    if (sets.length === 0) sets.push('"id" = _row."id"');
    return `with _old as (select *${xmin()} from ${table} where ${where} for update),
  _new as (update ${table} _row set ${sets.join(', ')} from _old where _row."id" = _old."id" returning _row.*${xmin('_row.')}),
  ${outboxInsertSql(resource, 'updated', given + changed.length)}
  select ${newAndOldColumns} from _new, _old`;
  }

  const buildInsertSql = (set: readonly string[]) => `with _new as (insert into ${table} (${set.join(', ')})
    values (${set.map((_, i) => `$${i + 1}`).join(', ')}) returning *${xmin()}),
  ${outboxInsertSql(resource, 'created', set.length)} select ${codec.columns} from _new`;

  return {
    insert: buildInsertSql(columns),

    insertWithTimes: () => buildInsertSql([...columns, '"created_at"', '"updated_at"']),

    update(changed, where, given) {
      const key = `${changed.map((field) => field.column).join()}|${where}`;
      let text = updates.get(key);
      if (text === undefined) {
        text = buildUpdateSql(changed, where, given);
        // Cache only some texts: clients choose which fields are changed together, so the number of combinations is unbounded.
        if (updates.size < MAX_CACHED_UPDATES) updates.set(key, text);
      }
      return text;
    },

    remove: (
      where,
      given,
    ) => `with _new as (delete from ${table} where ${where} returning *${xmin()}),${archiveInsertSql(resource, given)}
  ${outboxInsertSql(resource, 'deleted', given + archiveParameterValues(resource, '', []).length)} select ${codec.columns} from _new`,

    restore: (where, given) => `with ${restoreSql(resource, where)},
  ${outboxInsertSql(resource, 'restored', given)} select ${codec.columns} from _new`,
  };
}
