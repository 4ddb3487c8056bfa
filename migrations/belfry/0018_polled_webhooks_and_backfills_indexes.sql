-- belfry: no transaction
-- Each statement is committed separately, so that building an index does not block writes. After an interruption, run it again.
CREATE INDEX CONCURRENTLY "webhook_deliveries_waiting_index" ON "webhook_deliveries" USING btree ("endpoint_id","poll_number","position","event_id") WHERE status = 'waiting';
--> statement-breakpoint
CREATE INDEX CONCURRENTLY "webhook_deliveries_backfill_index" ON "webhook_deliveries" USING btree ("endpoint_id") WHERE backfill;
