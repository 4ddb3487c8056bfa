-- A token is one device now, whatever platform was sent with it. Of devices with the same token, the one that was seen last stays.
-- A browser is identified by the endpoint in its subscription.
DELETE FROM "devices" WHERE "id" IN (
	SELECT "id" FROM (
		SELECT "id", row_number() OVER (
			PARTITION BY CASE WHEN "platform" = 'web' AND "token" LIKE '{%' THEN coalesce("token"::json ->> 'endpoint', "token") ELSE "token" END
			ORDER BY "last_seen_at" DESC, "id" DESC) AS "place" FROM "devices") AS "ranked"
	WHERE "place" > 1);
--> statement-breakpoint
UPDATE "devices" SET "token_hash" = encode(sha256(convert_to(
	CASE WHEN "platform" = 'web' AND "token" LIKE '{%' THEN coalesce("token"::json ->> 'endpoint', "token") ELSE "token" END, 'UTF8')), 'hex');
--> statement-breakpoint
CREATE TABLE "webhook_deleted_records" (
	"id" text PRIMARY KEY NOT NULL,
	"resource" text NOT NULL,
	"record_id" text NOT NULL,
	"owner_id" text,
	"record" jsonb,
	"encrypted_record" text,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "push_results" ADD COLUMN "device_name" text;
--> statement-breakpoint
ALTER TABLE "mails" ADD COLUMN "user_id" text;
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "api_key_id" text;
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "key_scopes" text[];
--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "key_expires_at" timestamp(3) with time zone;
--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD COLUMN "encrypted_body" text;
--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD COLUMN "encrypted_response" text;
--> statement-breakpoint
CREATE INDEX "webhook_deleted_records_record_id_index" ON "webhook_deleted_records" USING btree ("record_id");
--> statement-breakpoint
CREATE INDEX "webhook_deleted_records_owner_id_index" ON "webhook_deleted_records" USING btree ("owner_id");
