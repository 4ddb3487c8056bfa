DROP INDEX "webhook_turns_lease_index";
--> statement-breakpoint
CREATE TABLE "webhook_delivery_log" (
	"id" text NOT NULL,
	"endpoint_id" text NOT NULL,
	"event_id" text NOT NULL,
	"position" bigint,
	"message_id" text NOT NULL,
	"type" text NOT NULL,
	"subject_id" text,
	"body" text NOT NULL,
	"encrypted_body" text,
	"status" text DEFAULT 'pending' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"schedule_attempts" integer DEFAULT 0 NOT NULL,
	"status_code" integer,
	"duration_ms" integer,
	"error" text,
	"response" text,
	"encrypted_response" text,
	"attempt_log" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"trace_context" text,
	"mentions" text[],
	"finished_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "webhook_delivery_log_id_finished_at_pk" PRIMARY KEY("id","finished_at")
) PARTITION BY RANGE ("finished_at");
--> statement-breakpoint
CREATE TABLE "webhook_delivery_log_default" PARTITION OF "webhook_delivery_log" DEFAULT;
--> statement-breakpoint
CREATE INDEX "webhook_delivery_log_default_finished_at_index" ON "webhook_delivery_log_default" USING btree ("finished_at");
--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD COLUMN "mentions" text[];
--> statement-breakpoint
ALTER TABLE "webhook_turns" ADD COLUMN "due_from" timestamp(3) with time zone;
--> statement-breakpoint
CREATE INDEX "webhook_delivery_log_endpoint_event_index" ON "webhook_delivery_log" USING btree ("endpoint_id","event_id");
--> statement-breakpoint
CREATE INDEX "webhook_delivery_log_failed_index" ON "webhook_delivery_log" USING btree ("endpoint_id","created_at","id") WHERE status = 'failed';
--> statement-breakpoint
CREATE INDEX "webhook_delivery_log_mentions_index" ON "webhook_delivery_log" USING gin ("mentions") WITH (fastupdate=false);
--> statement-breakpoint
CREATE INDEX "webhook_delivery_log_unknown_mentions_index" ON "webhook_delivery_log" USING btree ("id") WHERE mentions is null;

--> statement-breakpoint
-- Tables through which every event passes: most rows of these tables are deleted soon after they are written. By default, vacuum waits until a fifth of a table has changed.
-- An empty table keeps its pages (vacuum_truncate), so that Postgres does not plan to scan it as if it stayed empty.
ALTER TABLE "webhook_deliveries" SET (vacuum_truncate = false, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 1);
--> statement-breakpoint
-- Room for the new versions of a row on the page of the old one, so that updates need no new index entries.
ALTER TABLE "webhook_turns" SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 1);
--> statement-breakpoint
ALTER TABLE "outbox" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 1);
