CREATE TABLE "ranged_tables" (
	"table_name" text PRIMARY KEY NOT NULL,
	"table_oid" bigint NOT NULL,
	"until" timestamptz NOT NULL,
	"next" timestamptz,
	"next_xid" text
);
--> statement-breakpoint
CREATE TABLE "record_ranges" (
	"table_name" text NOT NULL,
	"from_at" timestamptz NOT NULL,
	"from_id" text NOT NULL,
	"rows" bigint NOT NULL,
	CONSTRAINT "record_ranges_table_name_from_at_from_id_pk" PRIMARY KEY("table_name","from_at","from_id")
);
--> statement-breakpoint
CREATE TABLE "record_range_changes" (
	"table_name" text NOT NULL,
	"at" timestamptz NOT NULL,
	"id" text NOT NULL,
	"change" integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX "record_range_changes_position_index" ON "record_range_changes" USING btree ("table_name","at");
--> statement-breakpoint
do $do$ begin execute format($format$
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
end $body$ $format$, current_schema()); end $do$;
--> statement-breakpoint
create or replace function belfry_count_in_ranges(counted text, sequence text) returns void language plpgsql as $body$
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
end $body$;
--> statement-breakpoint
ALTER TABLE "record_range_changes" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 1);
