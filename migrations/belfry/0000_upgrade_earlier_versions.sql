-- 0000_init was rewritten several times before Belfry's migrations were frozen. This brings the tables of any database that
-- was created by an earlier version of it to the current one, and creates those that a project had dropped. It changes nothing
-- where they are current already.
DROP INDEX IF EXISTS "webhook_deliveries_event_endpoint_unique";
--> statement-breakpoint
DROP INDEX IF EXISTS "webhook_deliveries_log_index";
--> statement-breakpoint
DROP INDEX IF EXISTS "webhook_deliveries_finished_index";
--> statement-breakpoint
DO $$
DECLARE
	stale record;
BEGIN
	FOR stale IN
		SELECT indexname FROM pg_indexes
		WHERE schemaname = current_schema()
			AND (indexname = 'push_chunks_open_index' AND indexdef NOT LIKE '%(due_at)%'
				OR indexname = 'push_results_device_index' AND indexdef NOT LIKE 'CREATE UNIQUE INDEX%(device_id, push_id)%'
				OR indexname = 'webhook_endpoints_events_index' AND indexdef NOT LIKE '%fastupdate%'
				OR indexname = 'webhook_deliveries_lease_index' AND indexdef NOT LIKE '%(lease_until) WHERE (lease_until IS NOT NULL)%')
	LOOP
		EXECUTE format('DROP INDEX %I', stale.indexname);
	END LOOP;
END $$;
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "outbox" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "outbox_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"event_id" text NOT NULL,
	"name" text NOT NULL,
	"resource" text,
	"record_id" text,
	"user_id" text,
	"request_id" text,
	"payload" jsonb NOT NULL,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"available_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"error" text
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "encryption_keys" (
	"key_id" text PRIMARY KEY NOT NULL,
	"canary" text NOT NULL,
	"first_used_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"retired_at" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "encryption_processes" (
	"id" text PRIMARY KEY NOT NULL,
	"key_ids" text[] NOT NULL,
	"seen_at" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "idempotency_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"fingerprint" text,
	"record_id" text NOT NULL,
	"claim" text NOT NULL,
	"claimed_until" timestamp(3) with time zone NOT NULL,
	"status" integer,
	"answer" text,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "sessions" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"token_hash" text NOT NULL,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	"ip" text NOT NULL,
	"user_agent" text NOT NULL,
	CONSTRAINT "sessions_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "password_resets" (
	"user_id" text PRIMARY KEY NOT NULL,
	"token_hash" text,
	"requested_at" timestamp(3) with time zone NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "password_resets_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "pushes" (
	"id" text PRIMARY KEY NOT NULL,
	"message" jsonb NOT NULL,
	"audience" jsonb NOT NULL,
	"status" text NOT NULL,
	"devices" integer NOT NULL,
	"open_chunks" integer NOT NULL,
	"ok_devices" integer DEFAULT 0 NOT NULL,
	"captured_devices" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp(3) with time zone,
	"finished_at" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "push_gone" (
	"transport" text PRIMARY KEY NOT NULL,
	"devices" integer NOT NULL,
	"last_at" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "mails" (
	"id" text PRIMARY KEY NOT NULL,
	"kind" text,
	"data" jsonb,
	"recipient" text,
	"content" text,
	"status" text DEFAULT 'queued' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"claimed_until" timestamp(3) with time zone,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp(3) with time zone,
	"error" text
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "webhook_endpoints" (
	"id" text PRIMARY KEY NOT NULL,
	"owner_id" text NOT NULL,
	"url" text NOT NULL,
	"events" text[] NOT NULL,
	"description" text,
	"scope" text NOT NULL,
	"enabled" boolean DEFAULT true NOT NULL,
	"secret" text NOT NULL,
	"public_key" text,
	"previous_secret" text,
	"previous_secret_until" timestamp(3) with time zone,
	"older_secret" text,
	"older_secret_until" timestamp(3) with time zone,
	"consecutive_failures" integer DEFAULT 0 NOT NULL,
	"last_success_at" timestamp(3) with time zone,
	"last_failure_at" timestamp(3) with time zone,
	"last_error" text,
	"disabled_reason" text,
	"ordered" boolean DEFAULT false NOT NULL,
	"rate_limit" integer,
	"rate_window_seconds" integer,
	"slow" boolean DEFAULT false NOT NULL,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"removed_at" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "webhook_deliveries" (
	"id" text PRIMARY KEY NOT NULL,
	"endpoint_id" text NOT NULL,
	"event_id" text NOT NULL,
	"position" bigint,
	"message_id" text NOT NULL,
	"type" text NOT NULL,
	"subject_id" text,
	"body" text NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"schedule_attempts" integer DEFAULT 0 NOT NULL,
	"status_code" integer,
	"duration_ms" integer,
	"error" text,
	"response" text,
	"attempt_log" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"next_attempt_at" timestamp(3) with time zone,
	"lease_until" timestamp(3) with time zone,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "webhook_events" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"owner_id" text,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "webhook_recoveries" (
	"id" text PRIMARY KEY NOT NULL,
	"endpoint_id" text NOT NULL,
	"since" timestamp(3) with time zone NOT NULL,
	"status" text DEFAULT 'running' NOT NULL,
	"total" integer NOT NULL,
	"resent" integer DEFAULT 0 NOT NULL,
	"after_at" timestamp(3) with time zone NOT NULL,
	"after_id" text DEFAULT '' NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"finished_at" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "webhook_turns" (
	"endpoint_id" text PRIMARY KEY NOT NULL,
	"holder" text,
	"lease_until" timestamp(3) with time zone,
	"sending" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"rate" jsonb
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "api_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"key_hash" text NOT NULL,
	"name" text NOT NULL,
	"prefix" text NOT NULL,
	"scopes" text[] NOT NULL,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp(3) with time zone,
	"last_used_at" timestamp(3) with time zone,
	"last_used_ip" text,
	"revoked_at" timestamp(3) with time zone,
	CONSTRAINT "api_keys_key_hash_unique" UNIQUE("key_hash")
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "two_factors" (
	"user_id" text PRIMARY KEY NOT NULL,
	"secret" text NOT NULL,
	"last_step" bigint DEFAULT 0 NOT NULL,
	"recovery_codes" text[] DEFAULT '{}' NOT NULL,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"confirmed_at" timestamp(3) with time zone,
	"failures" integer DEFAULT 0 NOT NULL,
	"locked_until" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "two_factor_challenges" (
	"token_hash" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"password_proof" text NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "devices" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"session_id" text,
	"token" text NOT NULL,
	"token_hash" text NOT NULL,
	"platform" text NOT NULL,
	"name" text,
	"app_version" text,
	"locale" text,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"last_seen_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "devices_token_hash_unique" UNIQUE("token_hash"),
	CONSTRAINT "devices_session_id_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "sessions"("id") ON DELETE cascade ON UPDATE no action
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "push_audiences" (
	"push_id" text PRIMARY KEY NOT NULL,
	"user_ids" text[] NOT NULL,
	"device_ids" text[] NOT NULL,
	"tokens" text[] NOT NULL,
	"platform" text NOT NULL,
	"registered" integer NOT NULL,
	"raw" integer NOT NULL,
	"stage" text NOT NULL,
	"done" integer NOT NULL,
	"after_device" text,
	"next_chunk" integer NOT NULL,
	"next_position" integer NOT NULL,
	"touched_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "push_audiences_push_id_pushes_id_fk" FOREIGN KEY ("push_id") REFERENCES "pushes"("id") ON DELETE cascade ON UPDATE no action
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "push_chunks" (
	"push_id" text NOT NULL,
	"chunk" integer NOT NULL,
	"transport" text,
	"first_position" integer NOT NULL,
	"last_position" integer NOT NULL,
	"bulk" boolean DEFAULT false NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"unanswered" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"claimed_until" timestamp(3) with time zone,
	"answered_at" timestamp(3) with time zone,
	"finished_at" timestamp(3) with time zone,
	CONSTRAINT "push_chunks_push_id_chunk_pk" PRIMARY KEY("push_id","chunk"),
	CONSTRAINT "push_chunks_push_id_pushes_id_fk" FOREIGN KEY ("push_id") REFERENCES "pushes"("id") ON DELETE cascade ON UPDATE no action
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "push_results" (
	"push_id" text NOT NULL,
	"position" integer NOT NULL,
	"device_id" text,
	"user_id" text,
	"platform" text NOT NULL,
	"token" text,
	"token_hash" text,
	"masked_token" text NOT NULL,
	"ok" boolean,
	"provider_id" text,
	"error" text,
	"sent_at" timestamp(3) with time zone,
	"answered_at" timestamp(3) with time zone,
	"retry_at" timestamp(3) with time zone,
	"earlier" jsonb,
	"receipt" jsonb,
	"opened_at" timestamp(3) with time zone,
	CONSTRAINT "push_results_push_id_position_pk" PRIMARY KEY("push_id","position"),
	CONSTRAINT "push_results_push_id_pushes_id_fk" FOREIGN KEY ("push_id") REFERENCES "pushes"("id") ON DELETE cascade ON UPDATE no action
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "push_simulated_devices" (
	"device_id" text PRIMARY KEY NOT NULL,
	"behavior" text NOT NULL,
	CONSTRAINT "push_simulated_devices_device_id_devices_id_fk" FOREIGN KEY ("device_id") REFERENCES "devices"("id") ON DELETE cascade ON UPDATE no action
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "push_simulated_notifications" (
	"id" text PRIMARY KEY NOT NULL,
	"device_id" text NOT NULL,
	"push_id" text NOT NULL,
	"state" text NOT NULL,
	"message" jsonb NOT NULL,
	"expires_at" timestamp(3) with time zone,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"tapped_at" timestamp(3) with time zone,
	CONSTRAINT "push_simulated_notifications_device_id_devices_id_fk" FOREIGN KEY ("device_id") REFERENCES "devices"("id") ON DELETE cascade ON UPDATE no action
);
--> statement-breakpoint
ALTER TABLE "pushes" ADD COLUMN IF NOT EXISTS "audience" jsonb NOT NULL DEFAULT '{}'::jsonb;
--> statement-breakpoint
ALTER TABLE "pushes" ALTER COLUMN "audience" DROP DEFAULT;
--> statement-breakpoint
ALTER TABLE "pushes" ADD COLUMN IF NOT EXISTS "expires_at" timestamp(3) with time zone;
--> statement-breakpoint
ALTER TABLE "push_chunks" ADD COLUMN IF NOT EXISTS "bulk" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
ALTER TABLE "push_chunks" ADD COLUMN IF NOT EXISTS "attempts" integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE "push_chunks" ADD COLUMN IF NOT EXISTS "unanswered" integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE "push_chunks" ADD COLUMN IF NOT EXISTS "due_at" timestamp(3) with time zone DEFAULT now() NOT NULL;
--> statement-breakpoint
ALTER TABLE "push_chunks" ADD COLUMN IF NOT EXISTS "answered_at" timestamp(3) with time zone;
--> statement-breakpoint
ALTER TABLE "push_results" ADD COLUMN IF NOT EXISTS "token_hash" text;
--> statement-breakpoint
ALTER TABLE "push_results" ADD COLUMN IF NOT EXISTS "sent_at" timestamp(3) with time zone;
--> statement-breakpoint
ALTER TABLE "push_results" ADD COLUMN IF NOT EXISTS "retry_at" timestamp(3) with time zone;
--> statement-breakpoint
ALTER TABLE "push_results" ADD COLUMN IF NOT EXISTS "earlier" jsonb;
--> statement-breakpoint
ALTER TABLE "push_results" ADD COLUMN IF NOT EXISTS "opened_at" timestamp(3) with time zone;
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN IF NOT EXISTS "public_key" text;
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN IF NOT EXISTS "previous_secret" text;
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN IF NOT EXISTS "previous_secret_until" timestamp(3) with time zone;
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN IF NOT EXISTS "older_secret" text;
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN IF NOT EXISTS "older_secret_until" timestamp(3) with time zone;
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN IF NOT EXISTS "ordered" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN IF NOT EXISTS "rate_limit" integer;
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN IF NOT EXISTS "rate_window_seconds" integer;
--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD COLUMN IF NOT EXISTS "position" bigint;
--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD COLUMN IF NOT EXISTS "subject_id" text;
--> statement-breakpoint
ALTER TABLE "push_chunks" DROP COLUMN IF EXISTS "created_at";
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "outbox_available_at_index" ON "outbox" USING btree ("available_at");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "idempotency_keys_created_at_index" ON "idempotency_keys" USING btree ("created_at");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "sessions_user_id_index" ON "sessions" USING btree ("user_id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "sessions_expires_at_index" ON "sessions" USING btree ("expires_at");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "devices_user_id_index" ON "devices" USING btree ("user_id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "devices_session_id_index" ON "devices" USING btree ("session_id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "password_resets_expires_at_index" ON "password_resets" USING btree ("expires_at");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "pushes_created_at_index" ON "pushes" USING btree ("created_at");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "push_audiences_touched_at_index" ON "push_audiences" USING btree ("touched_at");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "push_chunks_open_index" ON "push_chunks" USING btree ("due_at") WHERE finished_at is null;
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "push_results_device_index" ON "push_results" USING btree ("device_id","push_id") WHERE device_id is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "push_results_token_index" ON "push_results" USING btree ("push_id","token_hash") WHERE token_hash is not null;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "push_simulated_notifications_device_index" ON "push_simulated_notifications" USING btree ("device_id","id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "mails_due_at_index" ON "mails" USING btree ("due_at") WHERE finished_at is null;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "mails_finished_at_index" ON "mails" USING btree ("finished_at");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "webhook_endpoints_owner_id_index" ON "webhook_endpoints" USING btree ("owner_id") WHERE removed_at is null;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "webhook_endpoints_events_index" ON "webhook_endpoints" USING gin ("events") WITH (fastupdate=false) WHERE enabled and removed_at is null;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "webhook_endpoints_global_index" ON "webhook_endpoints" USING btree ("id") WHERE scope = 'global' and enabled and removed_at is null;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "webhook_endpoints_previous_secret_index" ON "webhook_endpoints" USING btree ("previous_secret_until") WHERE previous_secret_until is not null;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "webhook_endpoints_removed_index" ON "webhook_endpoints" USING btree ("removed_at") WHERE removed_at is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "webhook_deliveries_endpoint_event_unique" ON "webhook_deliveries" USING btree ("endpoint_id","event_id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "webhook_deliveries_due_index" ON "webhook_deliveries" USING btree ("endpoint_id","next_attempt_at") WHERE status = 'pending';
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "webhook_deliveries_lease_index" ON "webhook_deliveries" USING btree ("lease_until") WHERE lease_until is not null;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "webhook_deliveries_failed_index" ON "webhook_deliveries" USING btree ("endpoint_id","created_at","id") WHERE status = 'failed';
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "webhook_recoveries_running_unique" ON "webhook_recoveries" USING btree ("endpoint_id") WHERE status = 'running';
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "webhook_recoveries_finished_at_index" ON "webhook_recoveries" USING btree ("finished_at");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "webhook_turns_lease_index" ON "webhook_turns" USING btree ("lease_until") WHERE lease_until is not null;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "api_keys_user_id_index" ON "api_keys" USING btree ("user_id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "api_keys_expires_at_index" ON "api_keys" USING btree ("expires_at");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "api_keys_revoked_at_index" ON "api_keys" USING btree ("revoked_at") WHERE revoked_at is not null;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "two_factors_unconfirmed_index" ON "two_factors" USING btree ("created_at") WHERE confirmed_at is null;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "two_factor_challenges_user_id_index" ON "two_factor_challenges" USING btree ("user_id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "two_factor_challenges_expires_at_index" ON "two_factor_challenges" USING btree ("expires_at");
