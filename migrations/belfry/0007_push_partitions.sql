-- belfry: no transaction
-- Partitions pushes, push_chunks and push_results by the day of the push's id. No row is copied, and no scan blocks a write: each table as it
-- is becomes the partition of all days up to two weeks ahead. Each statement may run again after an interruption.
-- Each statement locks the tables in the order in which the app does, to avoid deadlocks.
DO $$
BEGIN
	LOCK TABLE "pushes", "push_chunks", "push_results", "push_audiences" IN ACCESS EXCLUSIVE MODE;
	ALTER TABLE "push_audiences" DROP CONSTRAINT IF EXISTS "push_audiences_push_id_pushes_id_fk";
	ALTER TABLE "push_chunks" DROP CONSTRAINT IF EXISTS "push_chunks_push_id_pushes_id_fk";
	ALTER TABLE "push_results" DROP CONSTRAINT IF EXISTS "push_results_push_id_pushes_id_fk";
END $$;
--> statement-breakpoint
-- A constraint that the ids are of these days. It has the name that the partition will have. Ids begin with 8 hex digits of a Unix second.
-- A process whose clock was wrong may have stored an id that is further ahead: then the days end with that of the greatest id.
-- If the migration is interrupted after this statement, ids of later days are refused until it continues.
DO $$
DECLARE
	last_day date;
	least_excluded text;
	greatest_id text;
	tab text;
	col text;
	old text;
BEGIN
	LOCK TABLE "pushes", "push_chunks", "push_results" IN ACCESS EXCLUSIVE MODE;
	FOR tab, col IN VALUES ('pushes', 'id'), ('push_chunks', 'push_id'), ('push_results', 'push_id') LOOP
		CONTINUE WHEN (SELECT relkind FROM pg_class WHERE oid = to_regclass(tab)) = 'p';
		FOR old IN SELECT conname FROM pg_constraint WHERE conrelid = to_regclass(tab) AND contype = 'c' AND conname ~ ('^' || tab || '_\d{8}$') LOOP
			EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', tab, old);
		END LOOP;
		last_day := (now() AT TIME ZONE 'utc')::date + 14;
		EXECUTE format('SELECT max(%I) FROM %I', col, tab) INTO greatest_id;
		IF greatest_id ~ '^[0-9a-f]{8}' THEN
			last_day := greatest(last_day, (to_timestamp(('x' || left(greatest_id, 8))::bit(32)::bigint) AT TIME ZONE 'utc')::date);
		END IF;
		least_excluded := rpad(lpad(to_hex(extract(epoch FROM last_day + 1)::bigint), 8, '0'), 24, '0');
		EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I CHECK (%I < %L) NOT VALID', tab, tab || to_char(last_day, '_YYYYMMDD'), col, least_excluded);
	END LOOP;
END $$;
--> statement-breakpoint
-- Scans the rows, while others read and write.
DO $$
DECLARE
	tab text;
	con text;
BEGIN
	FOR tab, con IN SELECT conrelid::regclass::text, conname FROM pg_constraint
		WHERE conrelid IN (to_regclass('pushes'), to_regclass('push_chunks'), to_regclass('push_results'))
			AND contype = 'c' AND conname ~ '^push(es|_chunks|_results)_\d{8}$' AND NOT convalidated
	LOOP
		EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT %I', tab, con);
	END LOOP;
END $$;
--> statement-breakpoint
-- Replaces each table by a partitioned one with the same columns, indexes, keys, owner and privileges, and attaches the earlier table: its constraint proves that
-- its rows belong there, and its indexes become parts of the new ones, so this changes only catalogs.
DO $$
DECLARE
	tab text;
	col text;
	con text;
	least_excluded text;
	has_rows boolean;
	one record;
	definitions text[];
	acl aclitem[];
	owner_name name;
BEGIN
	LOCK TABLE "pushes", "push_chunks", "push_results" IN ACCESS EXCLUSIVE MODE;
	FOR tab, col IN VALUES ('pushes', 'id'), ('push_chunks', 'push_id'), ('push_results', 'push_id') LOOP
		CONTINUE WHEN (SELECT relkind FROM pg_class WHERE oid = to_regclass(tab)) = 'p';
		EXECUTE format('SELECT EXISTS (SELECT FROM %I)', tab) INTO has_rows;
		SELECT relacl, pg_get_userbyid(relowner) INTO acl, owner_name FROM pg_class WHERE oid = to_regclass(tab);
		SELECT conname INTO STRICT con FROM pg_constraint
			WHERE conrelid = to_regclass(tab) AND contype = 'c' AND conname ~ ('^' || tab || '_\d{8}$') AND convalidated;
		least_excluded := rpad(lpad(to_hex(extract(epoch FROM to_date(right(con, 8), 'YYYYMMDD') + 1)::bigint), 8, '0'), 24, '0');
		definitions := '{}';
		FOR one IN
			SELECT c.relname AS name, pg_get_indexdef(i.indexrelid) AS definition, k.conname, pg_get_constraintdef(k.oid) AS key
			FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
				LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.conrelid = i.indrelid AND k.contype IN ('p', 'u')
			WHERE i.indrelid = to_regclass(tab) AND i.indisvalid
		LOOP
			definitions := definitions || CASE WHEN one.conname IS NULL THEN one.definition
				ELSE format('ALTER TABLE %I ADD CONSTRAINT %I %s', tab, one.conname, one.key) END;
			EXECUTE format('ALTER INDEX %I RENAME TO %I', one.name, one.name || '_earlier');
		END LOOP;
		EXECUTE format('ALTER TABLE %I RENAME TO %I', tab, con);
		EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING STORAGE) PARTITION BY RANGE (%I)', tab, con, col);
		FOR i IN 1 .. cardinality(definitions) LOOP
			EXECUTE definitions[i];
		END LOOP;
		IF has_rows THEN
			EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', tab, con, least_excluded);
			EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', con, con);
		ELSE
			EXECUTE format('DROP TABLE %I', con);
		END IF;
		EXECUTE format('CREATE TABLE %I PARTITION OF %I DEFAULT', tab || '_default', tab);
		EXECUTE format('ALTER TABLE %I OWNER TO %I', tab, owner_name);
		EXECUTE format('ALTER TABLE %I OWNER TO %I', tab || '_default', owner_name);
		FOR one IN SELECT a.privilege_type, a.is_grantable, coalesce(r.rolname, '') AS grantee FROM aclexplode(acl) a LEFT JOIN pg_roles r ON r.oid = a.grantee LOOP
			EXECUTE format('GRANT %s ON %I, %I TO %s%s', one.privilege_type, tab, tab || '_default',
				CASE one.grantee WHEN '' THEN 'PUBLIC' ELSE quote_ident(one.grantee) END,
				CASE WHEN one.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
		END LOOP;
	END LOOP;
END $$;
