import type { CompiledResource } from '../schema/compiled.ts';

/** The triggers on the table of a resource. All of them must exist and be enabled, or the table is not counted in ranges. */
export const RANGE_TRIGGERS = [
  'belfry_range_row_added',
  'belfry_range_row_removed',
  'belfry_range_row_moved',
  'belfry_range_rows_truncated',
] as const;

const TRIGGER_NAMES = RANGE_TRIGGERS.map((name) => `'${name}'`).join(', ');

/**
 * A condition: all changes of rows up to a time are stored. A trigger that someone has disabled and enabled again is not in the state in which
 * it was created (`A`).
 *
 * @param table SQL for the OID of the table
 * @param sequence SQL for the name of its sequence
 * @param until SQL for the time
 */
export const isStoringSql = (table: string, sequence: string, until: string) =>
  `(select count(*) from pg_trigger where tgrelid = ${table} and tgname in (${TRIGGER_NAMES}) and tgenabled = 'A') = ${RANGE_TRIGGERS.length}
      and pg_sequence_last_value(to_regclass(quote_ident(${sequence}))) >= floor(extract(epoch from ${until}))`;

/** Whether the rows of a resource can be counted in ranges: ranges are ordered by the time of creation. */
export function canHaveRanges({ timestamps, archived, source }: CompiledResource): boolean {
  return timestamps && !archived && source === undefined;
}

/**
 * The function that stores the change of a range. It has the rights of its owner, so that every role that may write the rows of a
 * table can. The search path is fixed; otherwise such a role could replace the tables.
 */
const STORE_CHANGE_FUNCTION = `do $do$ begin execute format($format$
create or replace function belfry_store_range_change() returns trigger language plpgsql security definer set search_path = pg_catalog, %I, pg_temp as $body$
begin
  if tg_op = 'TRUNCATE' then
    delete from ranged_tables where table_name = tg_table_name;
    return null;
  end if;
  if tg_op <> 'INSERT' then
    insert into record_range_changes (table_name, at, id, change) values (tg_table_name, old.created_at, old.id, -1);
  end if;
  if tg_op <> 'DELETE' then
    insert into record_range_changes (table_name, at, id, change) values (tg_table_name, new.created_at, new.id, 1);
  end if;
  return null;
end $body$ $format$, current_schema()); end $do$;`;

/**
 * The function that creates the triggers and the sequence of a table. A sequence, because every transaction sees its new value at once, whatever
 * its snapshot is. The condition of the triggers is also met if the value cannot be read: a stored change that no range needs does no harm.
 */
const CREATE_TRIGGERS_FUNCTION = `create or replace function belfry_count_in_ranges(counted text, sequence text) returns void language plpgsql as $body$
declare
  is_ranged text := format('created_at > to_timestamp(pg_sequence_last_value(%L::regclass))) is not true', quote_ident(sequence));
begin
  execute format('create sequence if not exists %I', sequence);
  execute format('alter sequence %I owned by %I.created_at', sequence, counted);
  perform nextval(quote_ident(sequence)::regclass);
  execute format('grant select on sequence %I to public', sequence);
  execute format('create or replace trigger belfry_range_row_added after insert on %I for each row
    when ((new.%s) execute function belfry_store_range_change()', counted, is_ranged);
  execute format('create or replace trigger belfry_range_row_removed after delete on %I for each row
    when ((old.%s) execute function belfry_store_range_change()', counted, is_ranged);
  execute format('create or replace trigger belfry_range_row_moved after update of created_at, id on %I for each row
    when ((old.created_at, old.id) is distinct from (new.created_at, new.id)) execute function belfry_store_range_change()', counted);
  execute format('create or replace trigger belfry_range_rows_truncated after truncate on %I for each statement
    execute function belfry_store_range_change()', counted);
  execute format('alter table %I enable always trigger belfry_range_row_added, enable always trigger belfry_range_row_removed,
    enable always trigger belfry_range_row_moved, enable always trigger belfry_range_rows_truncated', counted);
end $body$;`;

/**
 * The functions with which Postgres stores how the ranges of a table change, for every writer. The sweep creates the triggers of a table
 * once it is large. A new row that is newer than all ranges only costs a comparison.
 */
export const RANGE_STATEMENTS = [STORE_CHANGE_FUNCTION, CREATE_TRIGGERS_FUNCTION];
