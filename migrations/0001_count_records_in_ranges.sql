select belfry_count_in_ranges('users', 'users_ranged_until');
--> statement-breakpoint
select belfry_count_in_ranges('posts', 'posts_ranged_until');
--> statement-breakpoint
select belfry_count_in_ranges('comments', 'comments_ranged_until');
