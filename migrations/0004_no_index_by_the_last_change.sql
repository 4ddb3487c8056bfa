DROP INDEX "users_updated_at_index";
--> statement-breakpoint
DROP INDEX "posts_updated_at_index";
--> statement-breakpoint
DROP INDEX "comments_updated_at_index";
