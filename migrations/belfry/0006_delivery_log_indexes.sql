-- belfry: no transaction
-- Each statement is committed separately, so that building an index does not block writes. After an interruption, run it again.
CREATE INDEX CONCURRENTLY "webhook_deliveries_finished_index" ON "webhook_deliveries" USING btree ("finished_at") WHERE finished_at is not null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY "webhook_turns_holder_index" ON "webhook_turns" USING btree ("endpoint_id") WHERE holder is not null;
