-- belfry: no transaction
-- Each statement is committed by itself, so that nobody who writes has to wait for an index. Broken off, it is run again.
CREATE INDEX CONCURRENTLY "pushes_unsent_index" ON "pushes" USING btree ("id") WHERE status = 'no-devices';
--> statement-breakpoint
CREATE INDEX CONCURRENTLY "push_results_user_index" ON "push_results" USING btree ("user_id","push_id","position") WHERE user_id is not null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY "mails_user_id_index" ON "mails" USING btree ("user_id") WHERE user_id is not null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY "webhook_endpoints_removed_owner_index" ON "webhook_endpoints" USING btree ("owner_id") WHERE removed_at is not null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY "webhook_endpoints_api_key_index" ON "webhook_endpoints" USING btree ("api_key_id") WHERE api_key_id is not null and enabled and removed_at is null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY "webhook_events_owner_index" ON "webhook_events" USING btree ("owner_id","id") WHERE owner_id is not null;
