-- Each result is updated once or twice, with values that fill half of the row. Room for the new version on the page of the old one means that
-- updates need no new index entries. Existing pages get this room as old rows are replaced.
-- By default, vacuum waits until a fifth of the table has changed.
ALTER TABLE "push_results" SET (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 1);
