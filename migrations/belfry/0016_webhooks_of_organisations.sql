CREATE TABLE "webhook_endpoint_stats" (
	"endpoint_id" text NOT NULL,
	"hour" timestamp(3) with time zone NOT NULL,
	"attempts" integer NOT NULL,
	"succeeded" integer NOT NULL,
	"failed" integer NOT NULL,
	"delivery_attempts" integer NOT NULL,
	"duration_sum" bigint NOT NULL,
	"durations" integer[] NOT NULL,
	CONSTRAINT "webhook_endpoint_stats_endpoint_id_hour_pk" PRIMARY KEY("endpoint_id","hour")
);
--> statement-breakpoint
ALTER TABLE "background_jobs" ADD COLUMN "organisation_role" text;
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "organisation_role" text;
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "headers" text;
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "header_masks" jsonb;
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "alerted_at" timestamp(3) with time zone;
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "failing_mail_at" timestamp(3) with time zone;
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "filter" jsonb;
--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "organisation_role" text;
--> statement-breakpoint
CREATE INDEX "webhook_endpoint_stats_hour_index" ON "webhook_endpoint_stats" USING btree ("hour");
