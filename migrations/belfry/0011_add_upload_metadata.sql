ALTER TABLE "stored_files" ADD COLUMN "upload_metadata" text;
