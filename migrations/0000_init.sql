CREATE EXTENSION IF NOT EXISTS pg_trgm;
--> statement-breakpoint
CREATE TABLE "outbox" (
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
CREATE TABLE "encryption_keys" (
	"key_id" text PRIMARY KEY NOT NULL,
	"canary" text NOT NULL,
	"first_used_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"retired_at" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE "encryption_processes" (
	"id" text PRIMARY KEY NOT NULL,
	"key_ids" text[] NOT NULL,
	"seen_at" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
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
CREATE TABLE "sessions" (
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
CREATE TABLE "devices" (
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
	CONSTRAINT "devices_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE "password_resets" (
	"user_id" text PRIMARY KEY NOT NULL,
	"token_hash" text,
	"requested_at" timestamp(3) with time zone NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "password_resets_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE "pushes" (
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
CREATE TABLE "push_audiences" (
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
	"touched_at" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "push_chunks" (
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
	CONSTRAINT "push_chunks_push_id_chunk_pk" PRIMARY KEY("push_id","chunk")
);
--> statement-breakpoint
CREATE TABLE "push_results" (
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
	CONSTRAINT "push_results_push_id_position_pk" PRIMARY KEY("push_id","position")
);
--> statement-breakpoint
CREATE TABLE "push_gone" (
	"transport" text PRIMARY KEY NOT NULL,
	"devices" integer NOT NULL,
	"last_at" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "push_simulated_devices" (
	"device_id" text PRIMARY KEY NOT NULL,
	"behavior" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "push_simulated_notifications" (
	"id" text PRIMARY KEY NOT NULL,
	"device_id" text NOT NULL,
	"push_id" text NOT NULL,
	"state" text NOT NULL,
	"message" jsonb NOT NULL,
	"expires_at" timestamp(3) with time zone,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"tapped_at" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE "mails" (
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
CREATE TABLE "webhook_endpoints" (
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
CREATE TABLE "webhook_deliveries" (
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
CREATE TABLE "webhook_events" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"owner_id" text,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhook_recoveries" (
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
CREATE TABLE "webhook_turns" (
	"endpoint_id" text PRIMARY KEY NOT NULL,
	"holder" text,
	"lease_until" timestamp(3) with time zone,
	"sending" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"rate" jsonb
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
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
CREATE TABLE "two_factors" (
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
CREATE TABLE "two_factor_challenges" (
	"token_hash" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"password_proof" text NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text,
	"email" text,
	"password" text,
	"roles" text[],
	"status" text,
	"avatar_url" text,
	"bio" text,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "posts" (
	"id" text PRIMARY KEY NOT NULL,
	"title" text,
	"body" text,
	"status" text,
	"tags" text[],
	"author" text,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "comments" (
	"id" text PRIMARY KEY NOT NULL,
	"post" text,
	"body" text,
	"author" text,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "devices" ADD CONSTRAINT "devices_session_id_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."sessions"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "push_audiences" ADD CONSTRAINT "push_audiences_push_id_pushes_id_fk" FOREIGN KEY ("push_id") REFERENCES "public"."pushes"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "push_chunks" ADD CONSTRAINT "push_chunks_push_id_pushes_id_fk" FOREIGN KEY ("push_id") REFERENCES "public"."pushes"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "push_results" ADD CONSTRAINT "push_results_push_id_pushes_id_fk" FOREIGN KEY ("push_id") REFERENCES "public"."pushes"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "push_simulated_devices" ADD CONSTRAINT "push_simulated_devices_device_id_devices_id_fk" FOREIGN KEY ("device_id") REFERENCES "public"."devices"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "push_simulated_notifications" ADD CONSTRAINT "push_simulated_notifications_device_id_devices_id_fk" FOREIGN KEY ("device_id") REFERENCES "public"."devices"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX "outbox_available_at_index" ON "outbox" USING btree ("available_at");
--> statement-breakpoint
CREATE INDEX "idempotency_keys_created_at_index" ON "idempotency_keys" USING btree ("created_at");
--> statement-breakpoint
CREATE INDEX "sessions_user_id_index" ON "sessions" USING btree ("user_id");
--> statement-breakpoint
CREATE INDEX "sessions_expires_at_index" ON "sessions" USING btree ("expires_at");
--> statement-breakpoint
CREATE INDEX "devices_user_id_index" ON "devices" USING btree ("user_id");
--> statement-breakpoint
CREATE INDEX "devices_session_id_index" ON "devices" USING btree ("session_id");
--> statement-breakpoint
CREATE INDEX "password_resets_expires_at_index" ON "password_resets" USING btree ("expires_at");
--> statement-breakpoint
CREATE INDEX "pushes_created_at_index" ON "pushes" USING btree ("created_at");
--> statement-breakpoint
CREATE INDEX "push_audiences_touched_at_index" ON "push_audiences" USING btree ("touched_at");
--> statement-breakpoint
CREATE INDEX "push_chunks_open_index" ON "push_chunks" USING btree ("due_at") WHERE finished_at is null;
--> statement-breakpoint
CREATE UNIQUE INDEX "push_results_device_index" ON "push_results" USING btree ("device_id","push_id") WHERE device_id is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "push_results_token_index" ON "push_results" USING btree ("push_id","token_hash") WHERE token_hash is not null;
--> statement-breakpoint
CREATE INDEX "push_simulated_notifications_device_index" ON "push_simulated_notifications" USING btree ("device_id","id");
--> statement-breakpoint
CREATE INDEX "mails_due_at_index" ON "mails" USING btree ("due_at") WHERE finished_at is null;
--> statement-breakpoint
CREATE INDEX "mails_finished_at_index" ON "mails" USING btree ("finished_at");
--> statement-breakpoint
CREATE INDEX "webhook_endpoints_owner_id_index" ON "webhook_endpoints" USING btree ("owner_id") WHERE removed_at is null;
--> statement-breakpoint
CREATE INDEX "webhook_endpoints_events_index" ON "webhook_endpoints" USING gin ("events") WITH (fastupdate=false) WHERE enabled and removed_at is null;
--> statement-breakpoint
CREATE INDEX "webhook_endpoints_global_index" ON "webhook_endpoints" USING btree ("id") WHERE scope = 'global' and enabled and removed_at is null;
--> statement-breakpoint
CREATE INDEX "webhook_endpoints_previous_secret_index" ON "webhook_endpoints" USING btree ("previous_secret_until") WHERE previous_secret_until is not null;
--> statement-breakpoint
CREATE INDEX "webhook_endpoints_removed_index" ON "webhook_endpoints" USING btree ("removed_at") WHERE removed_at is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_deliveries_endpoint_event_unique" ON "webhook_deliveries" USING btree ("endpoint_id","event_id");
--> statement-breakpoint
CREATE INDEX "webhook_deliveries_due_index" ON "webhook_deliveries" USING btree ("endpoint_id","next_attempt_at") WHERE status = 'pending';
--> statement-breakpoint
CREATE INDEX "webhook_deliveries_lease_index" ON "webhook_deliveries" USING btree ("lease_until") WHERE lease_until is not null;
--> statement-breakpoint
CREATE INDEX "webhook_deliveries_failed_index" ON "webhook_deliveries" USING btree ("endpoint_id","created_at","id") WHERE status = 'failed';
--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_recoveries_running_unique" ON "webhook_recoveries" USING btree ("endpoint_id") WHERE status = 'running';
--> statement-breakpoint
CREATE INDEX "webhook_recoveries_finished_at_index" ON "webhook_recoveries" USING btree ("finished_at");
--> statement-breakpoint
CREATE INDEX "webhook_turns_lease_index" ON "webhook_turns" USING btree ("lease_until") WHERE lease_until is not null;
--> statement-breakpoint
CREATE INDEX "api_keys_user_id_index" ON "api_keys" USING btree ("user_id");
--> statement-breakpoint
CREATE INDEX "api_keys_expires_at_index" ON "api_keys" USING btree ("expires_at");
--> statement-breakpoint
CREATE INDEX "api_keys_revoked_at_index" ON "api_keys" USING btree ("revoked_at") WHERE revoked_at is not null;
--> statement-breakpoint
CREATE INDEX "two_factors_unconfirmed_index" ON "two_factors" USING btree ("created_at") WHERE confirmed_at is null;
--> statement-breakpoint
CREATE INDEX "two_factor_challenges_user_id_index" ON "two_factor_challenges" USING btree ("user_id");
--> statement-breakpoint
CREATE INDEX "two_factor_challenges_expires_at_index" ON "two_factor_challenges" USING btree ("expires_at");
--> statement-breakpoint
CREATE INDEX "users_name_sort_index" ON "users" USING btree ("name","id");
--> statement-breakpoint
CREATE INDEX "users_name_search_index" ON "users" USING gin ("name" gin_trgm_ops);
--> statement-breakpoint
CREATE UNIQUE INDEX "users_email_unique" ON "users" USING btree ("email");
--> statement-breakpoint
CREATE INDEX "users_roles_gin_index" ON "users" USING gin ("roles");
--> statement-breakpoint
CREATE INDEX "users_status_index" ON "users" USING btree ("status");
--> statement-breakpoint
CREATE INDEX "users_created_at_index" ON "users" USING btree ("created_at","id");
--> statement-breakpoint
CREATE INDEX "posts_title_sort_index" ON "posts" USING btree ("title","id");
--> statement-breakpoint
CREATE INDEX "posts_title_search_index" ON "posts" USING gin ("title" gin_trgm_ops);
--> statement-breakpoint
CREATE INDEX "posts_status_index" ON "posts" USING btree ("status");
--> statement-breakpoint
CREATE INDEX "posts_tags_gin_index" ON "posts" USING gin ("tags");
--> statement-breakpoint
CREATE INDEX "posts_created_at_index" ON "posts" USING btree ("created_at","id");
--> statement-breakpoint
CREATE INDEX "posts_author_owner_index" ON "posts" USING btree ("author","created_at","id");
--> statement-breakpoint
CREATE INDEX "comments_post_index" ON "comments" USING btree ("post");
--> statement-breakpoint
CREATE INDEX "comments_created_at_index" ON "comments" USING btree ("created_at","id");
--> statement-breakpoint
CREATE INDEX "comments_author_owner_index" ON "comments" USING btree ("author","created_at","id");
