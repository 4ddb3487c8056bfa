import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { quoteLiteral } from '../../platform/data/postgres/values.ts';
import { findFileRules } from '../../records/fields/types/file.ts';
import type { CompiledResource } from '../../records/schema/compiled.ts';
import { archiveTable } from '../../records/schema/table-names.ts';

/** Time for which an unused file is kept, so that a change which is undone at once finds it again. */
const GRACE = '1 hour';

/**
 * The trigger function that follows what records refer to. Every statement that changes or deletes a record (a request, a purge, an
 * erasure, a script) also updates the state of its files, in the same transaction. Its arguments: the resource, the state of files to
 * which rows of this table refer, the other table that may hold the record (empty: none), their state, the columns with files.
 *
 * Columns are read as JSON, so that the function also works on a table from which one of them was removed.
 */
const FUNCTION = `create or replace function belfry_track_files() returns trigger language plpgsql as $$
declare
  before_ids jsonb := '[]';
  own_ids jsonb := '[]';
  other_ids jsonb := '[]';
  other_row jsonb;
  paths text[] := tg_argv[4:tg_nargs - 1];
  old_row jsonb := to_jsonb(old);
  new_row jsonb;
begin
  select coalesce(jsonb_agg(old_row -> name), '[]') into before_ids from unnest(paths) name;
  before_ids := jsonb_path_query_array(before_ids, 'lax $[*].id');
  if before_ids = '[]' then return null; end if;
  if tg_op = 'UPDATE' then
    new_row := to_jsonb(new);
    select coalesce(jsonb_agg(new_row -> name), '[]') into own_ids from unnest(paths) name;
    own_ids := jsonb_path_query_array(own_ids, 'lax $[*].id');
    if own_ids = before_ids then return null; end if;
  end if;
  if tg_argv[2] <> '' and to_regclass(quote_ident(tg_argv[2])) is not null then
    execute format('select to_jsonb(r) from %I r where id = $1', tg_argv[2]) into other_row using old.id;
    select coalesce(jsonb_agg(other_row -> name), '[]') into other_ids from unnest(paths) name;
    other_ids := jsonb_path_query_array(other_ids, 'lax $[*].id');
  end if;
  update stored_files files set
    state = case when own_ids ? id then tg_argv[1] when other_ids ? id then tg_argv[3] else 'unused' end,
    due_at = case when own_ids ? id or other_ids ? id then null else now() + interval '${GRACE}' end
  where record_id = old.id and resource = tg_argv[0] and state in ('attached', 'archived', 'unused');
  return null;
end $$`;

/** The names of the fields of a resource that hold files. */
function fileFieldsOf({ fields }: Pick<CompiledResource, 'fields'>) {
  return fields.filter(({ spec }) => findFileRules(spec) !== undefined);
}

function triggerSql(table: string, parameters: readonly string[]): string {
  return `create or replace trigger belfry_track_files after update or delete on ${quoteIdentifier(table)}
  for each row execute function belfry_track_files(${parameters.map(quoteLiteral).join(', ')})`;
}

/** The SQL statements that create the triggers on the tables of resources with file fields; none if there are no such fields. */
export function createTrackingStatements(resources: readonly CompiledResource[]): string[] {
  const triggers = resources.flatMap((resource) => {
    const columns = fileFieldsOf(resource).map(({ column }) => column);
    if (columns.length === 0) return [];
    const { name, table, softDelete } = resource;
    const archive = archiveTable(table);
    return [
      triggerSql(table, [name, 'attached', softDelete ? archive : '', 'archived', ...columns]),
      ...(softDelete ? [triggerSql(archive, [name, 'archived', table, 'attached', ...columns])] : []),
    ];
  });
  return triggers.length === 0 ? [] : [FUNCTION, ...triggers];
}
