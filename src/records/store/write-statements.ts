import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { type CompiledField, type CompiledResource, columnOf, sqlTypeOf } from '../schema/compiled.ts';
import { archiveTable } from '../schema/table-names.ts';
import type { Codec } from './codec.ts';
import { outboxInsertSql } from './event.ts';

/**
 * The SQL texts of a resource's writes. The last placeholders of each statement belong to its event (src/records/store/event.ts). Texts are
 * built once; a request only supplies values.
 */
export interface WriteStatements {
  /** Values: the id, each field in declared order, the event. */
  insert: string;
  /** Values: the id, each field in declared order, `createdAt`, `updatedAt`, the event. */
  insertWithTimes(): string;
  /**
   * An update that changes nothing writes nothing: neither the row nor its event. Columns of a result row: the record after and before the
   * update, and whether it has changed. Values: the values of `where`, the changed fields, the event.
   *
   * @param isForced whether the record is known to change: an encrypted value cannot be compared in SQL
   */
  update(changed: readonly CompiledField[], where: string, given: number, isForced: boolean): string;
  /** Locks a record that an update without any field leaves unchanged. Columns: as for `update`. Values: the values of `where`. */
  lockUnchanged(where: string): string;
  /** Values: the values of `where`, of the archive, of the event. */
  remove(where: string, given: number): string;
  /** Values: the values of `where`, the changed fields, the event. */
  restore(changed: readonly CompiledField[], where: string, given: number): string;
}

const MAX_CACHED_UPDATES = 200;

/**
 * The condition that a value differs from the stored one. Ciphertexts differ even for equal values, so the condition of an encrypted field
 * only tells whether one of the two is missing.
 */
function differsSql(field: CompiledField, placeholder: string): string {
  const stored = `_old.${quoteIdentifier(field.column)}`;
  const value = `${placeholder}::${sqlTypeOf(field)}`;
  return field.spec.encrypted ? `(${stored} is null) <> (${value} is null)` : `${stored} is distinct from ${value}`;
}

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
 * @param under the privileges of a viewer who deletes a record of another owner
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
 * @param given how many placeholders of the statement come before the placeholders of `archiveParameterValues`
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

/**
 * The common table expressions that move archived rows back: `_new` has the restored rows.
 *
 * @param changed fields with new values; their placeholders follow the first `given` ones
 */
export function restoreSql(
  resource: CompiledResource,
  where: string,
  changed: readonly CompiledField[] = [],
  given = 0,
): string {
  const values = resource.fields.map((field) => {
    const place = changed.indexOf(field);
    return place === -1 ? quoteIdentifier(field.column) : `$${given + place + 1}::${sqlTypeOf(field)}`;
  });
  // A restored record gets a new `updated_at`: its version comes from this time and must never repeat.
  const times = ['"created_at"', `greatest(now(), "updated_at" + interval '1 millisecond')`];
  const restored = ['"id"', ...values, ...(resource.timestamps ? times : [])].join(', ');
  return `_gone as (delete from ${quoteIdentifier(archiveTable(resource.table))} where ${where} returning *),
  _new as (insert into ${quoteIdentifier(resource.table)} (${listColumnsAndTimes(resource, '"created_at"', '"updated_at"')})
    select ${restored} from _gone returning *${xminColumnSql(resource)})`;
}

/** Creates the SQL texts of a resource's writes. */
export function createWriteStatements(resource: CompiledResource, codec: Codec): WriteStatements {
  const table = quoteIdentifier(resource.table);
  const columns = ['"id"', ...resource.fields.map((field) => quoteIdentifier(field.column))];
  const oldColumns = qualifyColumns(codec.columns, '_old');
  const newAndOldColumns = `${qualifyColumns(codec.columns, '_new')}, ${oldColumns}`;
  const xmin = (alias = '') => xminColumnSql(resource, alias);
  const updates = new Map<string, string>();

  function buildUpdateSql(changed: readonly CompiledField[], where: string, given: number, isForced: boolean): string {
    const sets = changed.map((field, i) => `${quoteIdentifier(field.column)} = $${given + i + 1}`);
    // The version of a record comes from `updated_at` and must never repeat, however quickly changes follow each other.
    if (resource.timestamps) {
      sets.push(`"updated_at" = greatest(now(), _row."updated_at" + interval '1 millisecond')`);
    }
    const differs = changed.map((field, i) => differsSql(field, `$${given + i + 1}`)).join(' or ');
    return `with _old as (select *${xmin()} from ${table} where ${where} for update),
  _new as (update ${table} _row set ${sets.join(', ')} from _old
    where _row."id" = _old."id"${isForced ? '' : ` and (${differs})`} returning _row.*${xmin('_row.')}),
  ${outboxInsertSql(resource, 'updated', given + changed.length)}
  select ${newAndOldColumns}, _new."id" is not null from _old left join _new on true`;
  }

  const buildInsertSql = (set: readonly string[]) => `with _new as (insert into ${table} (${set.join(', ')})
    values (${set.map((_, i) => `$${i + 1}`).join(', ')}) returning *${xmin()}),
  ${outboxInsertSql(resource, 'created', set.length)} select ${codec.columns} from _new`;

  return {
    insert: buildInsertSql(columns),

    insertWithTimes: () => buildInsertSql([...columns, '"created_at"', '"updated_at"']),

    update(changed, where, given, isForced) {
      const key = `${isForced}|${changed.map((field) => field.column).join()}|${where}`;
      let text = updates.get(key);
      if (text === undefined) {
        text = buildUpdateSql(changed, where, given, isForced);
        // Cache only some texts: clients choose which fields are changed together, so the number of combinations is unbounded.
        if (updates.size < MAX_CACHED_UPDATES) updates.set(key, text);
      }
      return text;
    },

    lockUnchanged: (where) =>
      `with _old as (select *${xmin()} from ${table} where ${where} for update)
  select ${oldColumns}, ${oldColumns}, false from _old`,

    remove: (
      where,
      given,
    ) => `with _new as (delete from ${table} where ${where} returning *${xmin()}),${archiveInsertSql(resource, given)}
  ${outboxInsertSql(resource, 'deleted', given + archiveParameterValues(resource, '', []).length)} select ${codec.columns} from _new`,

    restore: (changed, where, given) => `with ${restoreSql(resource, where, changed, given)},
  ${outboxInsertSql(resource, 'restored', given + changed.length)} select ${codec.columns} from _new`,
  };
}
