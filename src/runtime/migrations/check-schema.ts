import type { ForeignKey, PgTable } from 'drizzle-orm/pg-core';
import type { Database } from '../../platform/data/postgres/database.ts';
import { getTableConfig, readExpression } from '../../platform/data/postgres/drizzle.ts';
import { StartupError } from '../../platform/helpers/config-errors.ts';
import { ARRAY_TEXT } from '../../records/fields/index-expressions.ts';
import type { DeclaredFacts } from './plan/declared.ts';

// Finds declared tables, columns, unique indexes, constraints and functions that the database lacks. Compares types by their OID, without precision;
// types that Postgres does not know are skipped. An index that an interrupted build left is invalid, so it counts as missing.
const FIND_MISSING = `
with place as (select oid from pg_namespace where nspname = current_schema()),
there as (
  select c.relname as "table", a.attname as "column", a.atttypid as type
    from pg_class c join pg_attribute a on a.attrelid = c.oid
   where c.relnamespace = (select oid from place) and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped)
select 'table ' || w."table" from unnest($1::text[]) as w("table")
 where not exists (select from there t where t."table" = w."table")
union all
select case when t.type is null then 'column ' || w."table" || '.' || w."column"
       else 'column ' || w."table" || '.' || w."column" || ' as ' || w.type || ' (it is ' || format_type(t.type, null) || ')' end
  from unnest($2::text[], $3::text[], $4::text[]) as w("table", "column", type)
  left join there t on t."table" = w."table" and t."column" = w."column"
 where exists (select from there t where t."table" = w."table")
   and (t.type is null or t.type <> to_regtype(w.type)::oid)
union all
select 'unique index ' || w.name from unnest($5::text[], $6::text[]) as w("table", name)
 where exists (select from there t where t."table" = w."table")
   and not exists (select from pg_class c join pg_index i on i.indexrelid = c.oid
                    where c.relname = w.name and c.relnamespace = (select oid from place) and i.indisunique and i.indisvalid)
union all
select w.kind || ' ' || w.name from unnest($8::text[], $9::text[], $10::text[]) as w("table", name, kind)
 where exists (select from there t where t."table" = w."table")
   and not exists (select from pg_constraint k join pg_class c on c.oid = k.conrelid
                    where k.conname = w.name and c.relname = w."table" and c.relnamespace = (select oid from place))
union all
select 'function ${ARRAY_TEXT}' where $7 and to_regprocedure('${ARRAY_TEXT}(text[])') is null`;

/** The declared tables, and the constraints that drizzle does not describe. */
export interface DeclaredSchema {
  tables: Record<string, PgTable>;
  declared: Pick<DeclaredFacts, 'constraints'>;
}

function uniqueIndexNames(table: PgTable): string[] {
  const { columns, indexes, uniqueConstraints } = getTableConfig(table);
  return [
    ...indexes.flatMap(({ config }) => (config.unique && config.name !== undefined ? [config.name] : [])),
    ...columns.flatMap((column) => (column.isUnique && column.uniqueName !== undefined ? [column.uniqueName] : [])),
    ...uniqueConstraints.flatMap((constraint) => constraint.getName() ?? []),
  ];
}

/**
 * Whether a foreign key keeps a reference of a resource valid: such keys have no action, because Belfry itself deletes and clears the referring
 * records. Those of Belfry's own tables only clean up, so a database of an earlier version may lack them.
 */
function isReferenceKey({ onDelete }: ForeignKey): boolean {
  return onDelete === undefined || onDelete === 'no action';
}

/** Whether an index of a table supports substring search in arrays. */
function tableHasArraySearchIndex({ indexes }: ReturnType<typeof getTableConfig>): boolean {
  return indexes.some(({ config }) => config.columns.some((term) => readExpression(term).includes(ARRAY_TEXT)));
}

/**
 * Finds the parts of the declarations that the database lacks: `table posts`, `column posts.title`, `column posts.age as bigint (it is
 * text)`, `unique index posts_slug_unique`, `foreign key comments_post_fkey`. Other indexes are not checked: without them queries are slow but correct.
 */
export async function findMissingSchemaParts(
  database: Database,
  { tables, declared }: DeclaredSchema,
): Promise<string[]> {
  const configs = Object.values(tables).map((table) => ({ ...getTableConfig(table), unique: uniqueIndexNames(table) }));
  const columns = configs.flatMap(({ name, columns }) => columns.map((column) => ({ name, column })));
  const declaredConstraints = Object.entries(declared.constraints).flatMap(([table, own]) =>
    Object.entries(own).map(([name, { kind }]) => ({ table, name, kind })),
  );
  const unique = [
    ...configs.flatMap(({ name: table, unique }) => unique.map((name) => ({ table, name }))),
    ...declaredConstraints.filter(({ kind }) => kind === 'unique'),
  ];
  const constraints = [
    ...configs.flatMap(({ name: table, foreignKeys }) =>
      foreignKeys.filter(isReferenceKey).map((key) => ({ table, name: key.getName(), kind: 'foreign key' })),
    ),
    ...declaredConstraints
      .filter(({ kind }) => kind !== 'unique')
      .map((constraint) => ({ ...constraint, kind: 'constraint' })),
  ];
  const rows = await database.write<[string]>({
    text: FIND_MISSING,
    values: [
      configs.map(({ name }) => name),
      columns.map(({ name }) => name),
      columns.map(({ column }) => column.name),
      columns.map(({ column }) => column.getSQLType()),
      unique.map(({ table }) => table),
      unique.map(({ name }) => name),
      configs.some(tableHasArraySearchIndex),
      constraints.map(({ table }) => table),
      constraints.map(({ name }) => name),
      constraints.map(({ kind }) => kind),
    ],
  });
  return rows.map(([missing]) => missing);
}

/**
 * Checks that the database has all declared parts.
 *
 * @param isDevelopment whether `belfry dev` may be about to add what is missing
 * @throws StartupError naming missing parts and what adds them
 */
export async function assertSchemaMatchesDeclarations(
  database: Database,
  schema: DeclaredSchema,
  isDevelopment = false,
): Promise<void> {
  const missing = await findMissingSchemaParts(database, schema);
  if (missing.length === 0) return;
  const listed = missing.slice(0, 10).join(', ') + (missing.length > 10 ? ` and ${missing.length - 10} more` : '');
  throw new StartupError('The database does not match the declarations:', [
    `missing: ${listed}`,
    ...(isDevelopment ? ['npx belfry dev adds it while it restarts: run this command again when it listens'] : []),
    `${isDevelopment ? 'for a database without belfry dev' : 'to fix it'}, run npx belfry migration generate (if the declarations changed), then npx belfry migrate`,
  ]);
}
