-- belfry: no transaction
-- Each statement is committed separately, so that building an index does not block writes. After an interruption, run it again.
CREATE INDEX CONCURRENTLY "pushes_unsent_to_index" ON "pushes" USING btree (left(audience->>'to', 40)) WHERE status = 'no-devices';
--> statement-breakpoint
CREATE INDEX CONCURRENTLY "mails_recipient_index" ON "mails" USING btree (left(lower(recipient), 254)) WHERE user_id is null and recipient is not null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY "mails_data_owner_index" ON "mails" USING btree (left(data->>'owner', 40)) WHERE data->>'owner' is not null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY "mails_data_email_index" ON "mails" USING btree (left(lower(trim(data->>'email')), 254)) WHERE user_id is null and data->>'email' is not null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY "invitations_email_index" ON "invitations" USING btree ("email");
--> statement-breakpoint
CREATE INDEX CONCURRENTLY "organisation_invitations_email_index" ON "organisation_invitations" USING btree ("email");
