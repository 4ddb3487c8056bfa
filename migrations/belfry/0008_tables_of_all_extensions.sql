-- The tables of all extensions of Belfry are created by Belfry's own migrations from here on, so that an extension needs no migration of the
-- project. Projects that used audit, privacy or realtime before have created these tables themselves. Such tables are kept as they are: they
-- had the same columns and indexes from the beginning.
CREATE TABLE IF NOT EXISTS "audit_entries" (
	"id" bigint PRIMARY KEY NOT NULL,
	"at" timestamp(3) with time zone NOT NULL,
	"action" text NOT NULL,
	"resource" text,
	"record_id" text,
	"user_id" text,
	"via" text,
	"credential_id" text,
	"ip" text,
	"request_id" text,
	"changes" jsonb,
	"details" jsonb,
	"previous_hash" text NOT NULL,
	"hash" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "audit_anchors" (
	"id" bigint PRIMARY KEY NOT NULL,
	"hash" text NOT NULL,
	"at" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "audit_values" (
	"entry_id" bigint PRIMARY KEY NOT NULL,
	"owner_id" text NOT NULL,
	"salt" text NOT NULL,
	"values_by_field" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "privacy_exports" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"requested_by" text NOT NULL,
	"status" text DEFAULT 'waiting' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"lease_until" timestamp(3) with time zone NOT NULL,
	"secret" text NOT NULL,
	"token_hash" text NOT NULL,
	"records" bigint DEFAULT 0 NOT NULL,
	"bytes" bigint,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp(3) with time zone,
	"expires_at" timestamp(3) with time zone,
	CONSTRAINT "privacy_exports_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "privacy_export_chunks" (
	"export_id" text NOT NULL,
	"position" integer NOT NULL,
	"data" "bytea" NOT NULL,
	CONSTRAINT "privacy_export_chunks_export_id_position_pk" PRIMARY KEY("export_id","position"),
	CONSTRAINT "privacy_export_chunks_export_id_privacy_exports_id_fk" FOREIGN KEY ("export_id") REFERENCES "privacy_exports"("id") ON DELETE cascade ON UPDATE no action
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "privacy_erasures" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"requested_by" text NOT NULL,
	"status" text DEFAULT 'running' NOT NULL,
	"counts" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"kept" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"requested_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp(3) with time zone,
	"due_at" timestamp(3) with time zone DEFAULT now(),
	"looks" integer DEFAULT 0 NOT NULL,
	"notice_id" text,
	CONSTRAINT "privacy_erasures_user_id_unique" UNIQUE("user_id")
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "realtime_waiting" (
	"event_id" text PRIMARY KEY NOT NULL,
	"position" bigint NOT NULL,
	"entry" text NOT NULL,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "realtime_tickets" (
	"ticket_hash" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"session_id" text NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "audit_entries_at_index" ON "audit_entries" USING btree ("at","id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "audit_entries_user_id_index" ON "audit_entries" USING btree ("user_id","at","id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "audit_entries_resource_index" ON "audit_entries" USING btree ("resource","at","id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "audit_entries_record_id_index" ON "audit_entries" USING btree ("record_id","at","id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "audit_entries_action_index" ON "audit_entries" USING btree ("action","at","id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "audit_values_owner_id_index" ON "audit_values" USING btree ("owner_id");
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "privacy_exports_user_unique" ON "privacy_exports" USING btree ("user_id","requested_by");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "privacy_exports_requested_by_index" ON "privacy_exports" USING btree ("requested_by");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "privacy_exports_expires_at_index" ON "privacy_exports" USING btree ("expires_at");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "privacy_exports_open_index" ON "privacy_exports" USING btree ("lease_until") WHERE status in ('waiting', 'running');
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "privacy_erasures_due_at_index" ON "privacy_erasures" USING btree ("due_at") WHERE due_at is not null;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "privacy_erasures_notice_id_index" ON "privacy_erasures" USING btree ("notice_id") WHERE notice_id is not null;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "realtime_waiting_position_index" ON "realtime_waiting" USING btree ("position");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "realtime_tickets_expires_at_index" ON "realtime_tickets" USING btree ("expires_at");
--> statement-breakpoint
-- The number of days was part of audit_stays before. It is kept where a project has set it, because rows may be younger than the default.
DO $$
DECLARE
	days text;
BEGIN
	IF to_regprocedure('audit_keep_days()') IS NULL THEN
		SELECT substring(prosrc FROM 'interval ''([0-9]+) days''') INTO days FROM pg_proc WHERE oid = to_regprocedure('audit_stays()');
		EXECUTE format('create function audit_keep_days() returns integer language sql immutable as %L', format(' select %s ', coalesce(days, '365')));
	END IF;
END $$;
--> statement-breakpoint
create or replace function audit_stays() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  keep_days integer;
  newest bigint;
begin
  execute pg_catalog.format('select %I.audit_keep_days()', tg_table_schema) into keep_days;
  if tg_op = 'DELETE' and tg_table_name = 'audit_entries' then
    if old.at <= pg_catalog.now() - pg_catalog.make_interval(days => keep_days) then
      return old;
    end if;
  elsif tg_op = 'DELETE' then
    execute pg_catalog.format('select max(id) from %I.audit_anchors', tg_table_schema) into newest;
    if old.id < newest then
      return old;
    end if;
  end if;
  raise exception 'the audit trail is append-only: % on % is refused', tg_op, tg_table_name
    using errcode = 'insufficient_privilege',
      hint = pg_catalog.format('Rows are removed by the relay when they are %s days old.', keep_days);
end
$$;
--> statement-breakpoint
create or replace trigger audit_row_stays before update or delete on audit_entries for each row execute function audit_stays();
create or replace trigger audit_table_stays before truncate on audit_entries for each statement execute function audit_stays();
alter table audit_entries enable always trigger audit_row_stays;
alter table audit_entries enable always trigger audit_table_stays;
--> statement-breakpoint
create or replace trigger audit_row_stays before update or delete on audit_anchors for each row execute function audit_stays();
create or replace trigger audit_table_stays before truncate on audit_anchors for each statement execute function audit_stays();
alter table audit_anchors enable always trigger audit_row_stays;
alter table audit_anchors enable always trigger audit_table_stays;
