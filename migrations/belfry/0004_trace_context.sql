ALTER TABLE "outbox" ADD COLUMN "trace_context" text;
--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD COLUMN "trace_context" text;
