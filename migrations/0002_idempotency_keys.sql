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
CREATE INDEX "idempotency_keys_created_at_index" ON "idempotency_keys" USING btree ("created_at");
