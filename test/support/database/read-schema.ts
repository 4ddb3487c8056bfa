import { readFrameworkMigrations } from '../../../src/runtime/migrations/framework.ts';

interface Queryable {
  // biome-ignore lint/suspicious/noExplicitAny: rows as the query selects them
  query(text: string): Promise<any[]>;
}

const COLUMNS = `select c.relname as "table", concat_ws(' ', 'column', c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod),
    case when a.attnotnull then 'not null' end, 'identity ' || nullif(a.attidentity::text, ''), 'default ' || pg_get_expr(d.adbin, d.adrelid)) as line
  from pg_attribute a join pg_class c on c.oid = a.attrelid left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped`;
const TABLES = `select relname as "table", concat_ws(' ', 'table', relname, relkind::text, pg_get_expr(relpartbound, oid), pg_get_partkeydef(oid),
    (select string_agg(one, ' ' order by one) from unnest(reloptions) one)) as line
  from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`;
const INDEXES = `select tablename as "table", indexdef || ' ' || i.indisvalid as line from pg_indexes x
  join pg_class c on c.relname = x.indexname join pg_index i on i.indexrelid = c.oid where schemaname = 'public'`;
const CONSTRAINTS = `select conrelid::regclass::text as "table", conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) as line
  from pg_constraint where connamespace = 'public'::regnamespace and contype <> 'n'`;
const TRIGGERS = `select tgrelid::regclass::text as "table", pg_get_triggerdef(oid) || ' ' || tgenabled::text as line
  from pg_trigger where not tgisinternal`;
const FUNCTIONS = `select null as "table", pg_get_functiondef(oid) as line from pg_proc p where pronamespace = 'public'::regnamespace
  and not exists (select from pg_depend where objid = p.oid and deptype = 'e')`;
const SEQUENCES = `select null as "table", concat_ws(' ', 'sequence', sequencename, data_type, start_value, min_value, max_value, increment_by) as line
  from pg_sequences where schemaname = 'public'`;
const EXTENSIONS = `select null as "table", 'extension ' || extname as line from pg_extension`;

async function readLines({ query }: Queryable, parts: string[]): Promise<{ table: string | null; line: string }[]> {
  const rows = await query(parts.join(' union all '));
  return rows.filter(({ line }) => !line.includes('belfry_sync')).sort((a, b) => (a.line < b.line ? -1 : 1));
}

/** Returns the schema of a database, one line per object, independent of column order. */
export async function readSchema(database: Queryable): Promise<string[]> {
  const parts = [TABLES, COLUMNS, INDEXES, CONSTRAINTS, TRIGGERS, FUNCTIONS, SEQUENCES, EXTENSIONS];
  return (await readLines(database, parts)).map(({ line }) => line);
}

/** Like `readSchema`, only the tables of resources: migrations create Belfry's own tables, even those that an app does not declare. */
export async function readResourceSchema(database: Queryable): Promise<string[]> {
  const ofFramework = new Set(
    readFrameworkMigrations().flatMap(({ sql }) =>
      [...sql.matchAll(/CREATE TABLE (?:IF NOT EXISTS )?"(\w+)"/g)].map(([, name]) => name!),
    ),
  );
  const lines = await readLines(database, [TABLES, COLUMNS, INDEXES, CONSTRAINTS]);
  return lines.filter(({ table }) => !ofFramework.has(table!)).map(({ line }) => line);
}

/** Removes the defaults that fields have in the database, which the first migration of this repository did not create yet. */
export function removeFieldDefaults(schema: readonly string[]): string[] {
  return schema.map((line) => line.replace(/^(column (?:users|posts|comments)\..*?) default (?!now\(\)).*$/s, '$1'));
}
