ALTER TABLE "webhook_turns" ADD COLUMN "requested" text[] DEFAULT '{}' NOT NULL;
