ALTER TABLE "webhook_turns" SET (fillfactor = 10);
