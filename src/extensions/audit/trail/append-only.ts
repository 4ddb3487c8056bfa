/**
 * Returns the SQL that makes the audit trail append-only for every role: rows cannot be changed, or removed before they are
 * `keepDays` old, and the newest anchor stays. The days are part of the function and not in a table, so that the app cannot shorten
 * them. The search path is fixed; otherwise a role that may create operators could replace the comparison of times.
 *
 * @param keepDays a whole number
 */
export function appendOnly(keepDays: number): string[] {
  const trigger = (table: string) => `
create or replace trigger audit_row_stays before update or delete on ${table} for each row execute function audit_stays();
create or replace trigger audit_table_stays before truncate on ${table} for each statement execute function audit_stays();
alter table ${table} enable always trigger audit_row_stays;
alter table ${table} enable always trigger audit_table_stays;`;
  return [
    `create or replace function audit_stays() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  newest bigint;
begin
  if tg_op = 'DELETE' and tg_table_name = 'audit_entries' then
    if old.at <= pg_catalog.now() - interval '${keepDays} days' then
      return old;
    end if;
  elsif tg_op = 'DELETE' then
    execute pg_catalog.format('select max(id) from %I.audit_anchors', tg_table_schema) into newest;
    if old.id < newest then
      return old;
    end if;
  end if;
  raise exception 'the audit trail is append-only: % on % is refused', tg_op, tg_table_name
    using errcode = 'insufficient_privilege', hint = 'Rows are removed by the relay when they are ${keepDays} days old.';
end
$$;`,
    trigger('audit_entries').trim(),
    trigger('audit_anchors').trim(),
  ];
}
