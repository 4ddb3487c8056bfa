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

