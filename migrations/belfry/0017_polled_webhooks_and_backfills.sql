CREATE TABLE "webhook_event_log" (
	"id" text NOT NULL,
	"position" bigint NOT NULL,
	"name" text NOT NULL,
	"resource" text,
	"owner_id" text,
	"record" jsonb,
	"encrypted_record" text,
	"data" text,
	"bytes" integer NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"changed" text[],
	CONSTRAINT "webhook_event_log_id_created_at_pk" PRIMARY KEY("id","created_at")
) PARTITION BY RANGE ("created_at");
--> statement-breakpoint
CREATE TABLE "webhook_event_log_default" PARTITION OF "webhook_event_log" DEFAULT;
--> statement-breakpoint
CREATE INDEX "webhook_event_log_default_created_at_index" ON "webhook_event_log_default" USING btree ("created_at");
--> statement-breakpoint
CREATE TABLE "webhook_backfills" (
	"id" text PRIMARY KEY NOT NULL,
	"endpoint_id" text NOT NULL,
	"status" text DEFAULT 'running' NOT NULL,
	"since" timestamp(3) with time zone NOT NULL,
	"until" timestamp(3) with time zone NOT NULL,
	"events" text[],
	"sent" integer DEFAULT 0 NOT NULL,
	"after_at" timestamp(3) with time zone NOT NULL,
	"after_position" bigint DEFAULT -1 NOT NULL,
	"started_at" timestamp(3) with time zone,
	"created_at" timestamp(3) with time zone NOT NULL,
	"finished_at" timestamp(3) with time zone
);
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "delivery" text DEFAULT 'push' NOT NULL;
--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD COLUMN "backfill" boolean;
--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD COLUMN "poll_number" bigint;
--> statement-breakpoint
ALTER TABLE "webhook_delivery_log" ADD COLUMN "backfill" boolean;
--> statement-breakpoint
ALTER TABLE "webhook_turns" ADD COLUMN "last_poll_number" bigint DEFAULT 0 NOT NULL;
--> statement-breakpoint
CREATE INDEX "webhook_event_log_created_at_index" ON "webhook_event_log" USING btree ("created_at","position");
--> statement-breakpoint
CREATE INDEX "webhook_event_log_owner_index" ON "webhook_event_log" USING btree ("owner_id") WHERE owner_id is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_backfills_unfinished_unique" ON "webhook_backfills" USING btree ("endpoint_id") WHERE status in ('running', 'paused');
--> statement-breakpoint
CREATE INDEX "webhook_backfills_running_index" ON "webhook_backfills" USING btree ("id") WHERE status = 'running';
--> statement-breakpoint
CREATE INDEX "webhook_backfills_endpoint_index" ON "webhook_backfills" USING btree ("endpoint_id","id");
--> statement-breakpoint
CREATE INDEX "webhook_backfills_finished_at_index" ON "webhook_backfills" USING btree ("finished_at");
