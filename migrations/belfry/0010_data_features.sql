CREATE TABLE "stored_files" (
	"id" text PRIMARY KEY NOT NULL,
	"state" text NOT NULL,
	"due_at" timestamp(3) with time zone,
	"resource" text,
	"field" text,
	"record_id" text,
	"user_id" text,
	"uploader" text NOT NULL,
	"token_hash" text,
	"storage_key" text NOT NULL,
	"name" text NOT NULL,
	"type" text NOT NULL,
	"bytes" bigint NOT NULL,
	"received_bytes" bigint,
	"fence" integer DEFAULT 0 NOT NULL,
	"sha256" text,
	"width" integer,
	"height" integer,
	"variants" jsonb,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "background_jobs" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"input" jsonb,
	"status" text DEFAULT 'waiting' NOT NULL,
	"run_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"scheduled_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"unique_key" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"claims" integer DEFAULT 0 NOT NULL,
	"lease_until" timestamp(3) with time zone,
	"progress" jsonb,
	"result" jsonb,
	"error" text,
	"schedule" text,
	"user_id" text,
	"request_id" text,
	"trace" text,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp(3) with time zone,
	"finished_at" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE "background_schedules" (
	"name" text PRIMARY KEY NOT NULL,
	"definition" text NOT NULL,
	"next_at" timestamp(3) with time zone NOT NULL,
	"last_at" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE "organisation_invitations" (
	"id" text PRIMARY KEY NOT NULL,
	"organisation" text NOT NULL,
	"email" text NOT NULL,
	"role" text NOT NULL,
	"invited_by" text NOT NULL,
	"token_hash" text,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	"accepted_at" timestamp(3) with time zone,
	"accepted_by" text,
	CONSTRAINT "organisation_invitations_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE "organisation_deletions" (
	"id" text PRIMARY KEY NOT NULL,
	"deleted_by" text,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "organisation" text;
--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "organisation" text;
--> statement-breakpoint
CREATE INDEX "stored_files_due_at_index" ON "stored_files" USING btree ("due_at") WHERE due_at is not null;
--> statement-breakpoint
CREATE INDEX "stored_files_record_id_index" ON "stored_files" USING btree ("record_id") WHERE record_id is not null;
--> statement-breakpoint
CREATE INDEX "stored_files_uploader_index" ON "stored_files" USING btree ("uploader") WHERE state in ('receiving', 'pending');
--> statement-breakpoint
CREATE UNIQUE INDEX "background_jobs_unique_key_index" ON "background_jobs" USING btree ("name","unique_key") WHERE unique_key is not null and finished_at is null;
--> statement-breakpoint
CREATE UNIQUE INDEX "background_jobs_tick_index" ON "background_jobs" USING btree ("schedule","scheduled_at") WHERE schedule is not null;
--> statement-breakpoint
CREATE INDEX "background_jobs_waiting_index" ON "background_jobs" USING btree ("name","run_at") WHERE status = 'waiting';
--> statement-breakpoint
CREATE INDEX "background_jobs_running_index" ON "background_jobs" USING btree ("lease_until") WHERE status = 'running';
--> statement-breakpoint
CREATE INDEX "background_jobs_open_tick_index" ON "background_jobs" USING btree ("schedule") WHERE schedule is not null and finished_at is null;
--> statement-breakpoint
CREATE INDEX "background_jobs_done_index" ON "background_jobs" USING btree ("finished_at") WHERE status in ('succeeded', 'cancelled');
--> statement-breakpoint
CREATE INDEX "background_jobs_failed_index" ON "background_jobs" USING btree ("finished_at") WHERE status = 'failed';
--> statement-breakpoint
CREATE INDEX "background_jobs_failed_id_index" ON "background_jobs" USING btree ("id") WHERE status = 'failed';
--> statement-breakpoint
CREATE INDEX "background_jobs_user_index" ON "background_jobs" USING btree ("user_id","id") WHERE user_id is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "organisation_invitations_pending_index" ON "organisation_invitations" USING btree ("organisation","email") WHERE accepted_at is null;
--> statement-breakpoint
CREATE INDEX "organisation_invitations_organisation_index" ON "organisation_invitations" USING btree ("organisation","id");
--> statement-breakpoint
CREATE INDEX "organisation_invitations_invited_by_index" ON "organisation_invitations" USING btree ("invited_by","id");
--> statement-breakpoint
CREATE INDEX "organisation_invitations_accepted_by_index" ON "organisation_invitations" USING btree ("accepted_by") WHERE accepted_by is not null;
--> statement-breakpoint
CREATE INDEX "organisation_invitations_expires_at_index" ON "organisation_invitations" USING btree ("expires_at");
