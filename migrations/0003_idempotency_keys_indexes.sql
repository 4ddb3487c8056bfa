-- belfry: no transaction
-- Each statement is committed by itself, so that nobody who writes has to wait for an index. Broken off, it is run again.
CREATE INDEX CONCURRENTLY "users_updated_at_index" ON "users" USING btree ("updated_at","id");
--> statement-breakpoint
CREATE INDEX CONCURRENTLY "posts_updated_at_index" ON "posts" USING btree ("updated_at","id");
--> statement-breakpoint
CREATE INDEX CONCURRENTLY "comments_updated_at_index" ON "comments" USING btree ("updated_at","id");
