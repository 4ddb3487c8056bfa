import type { Client } from 'pg';

/** Every row of every table of a database, each as a text. */
export async function readAllRows(sql: Client): Promise<string[]> {
  const tables = await sql.query<{ name: string }>(
    `select format('%I', relname) as name from pg_class c
     where relkind = 'r' and relnamespace = (select oid from pg_namespace where nspname = current_schema())`,
  );
  const texts: string[] = [];
  for (const { name } of tables.rows) {
    const { rows } = await sql.query<{ row: string }>(`select t::text as row from ${name} t`);
    texts.push(...rows.map(({ row }) => row));
  }
  return texts;
}
