import type { Database } from '../../platform/postgres/database.ts';
import type { Entity } from '../../records/context.ts';
import type { ImportRow } from './row.ts';

/** What became of a row. */
export type Stored = 'imported' | 'there' | 'taken' | 'deleted';

/**
 * Stores rows in one statement. A row whose e-mail is there already is passed over; it is `taken` when another value that must be
 * unique, or its id, belongs to somebody else, and `deleted` when its id is that of a user who may be restored.
 *
 * @returns what became of each, in order
 */
export function createInsert(
  database: Database,
  { resource, codec, archive }: Entity,
): (rows: readonly ImportRow[]) => Promise<Stored[]> {
  const { fields, timestamps, table } = resource;
  const columns = ['"id"', ...fields.map((field) => `"${field.column}"`)];
  if (timestamps) columns.push('"created_at"', '"updated_at"');
  const email = resource.field.get('email')!.column;
  const THERE = `select "${email}" from "${table}" where "${email}" = any($1)`;

  function valuesOf({ id, values, hash, createdAt, updatedAt }: ImportRow): unknown[] {
    const given = fields.map((field) =>
      field.name === 'password' ? hash : codec.toColumn(field, values[field.name], id),
    );
    const now = new Date().toISOString();
    return [id, ...given, ...(timestamps ? [createdAt ?? now, updatedAt ?? now] : [])];
  }

  /** Of these rows the ids that lie in the archive. */
  async function deletedOf(rows: readonly ImportRow[]): Promise<Set<string>> {
    const found = await archive?.only.readMany(rows.map(({ id }) => id));
    return new Set(found?.map(({ id }) => id));
  }

  /** Stores rows whose ids are nobody's in the archive. */
  async function insert(rows: readonly ImportRow[]): Promise<Stored[]> {
    if (rows.length === 0) return [];
    const width = columns.length;
    const groups = rows.map((_, row) => `(${columns.map((_, i) => `$${row * width + i + 1}`).join(', ')})`);
    const text = `insert into "${table}" (${columns.join(', ')}) values ${groups.join(', ')} on conflict do nothing returning "id"`;
    const written = await database.write<[string]>({ text, values: rows.flatMap(valuesOf) });
    // An id that stands in the rows twice is the first one's.
    const imported = new Set(written.map(([id]) => id));
    const first = rows.map(({ id }) => imported.delete(id));
    const left = rows.filter((_, i) => !first[i]).map(({ values }) => values.email);
    const there = left.length === 0 ? [] : await database.write<[string]>({ text: THERE, values: [left] });
    const emails = new Set<unknown>(there.map(([one]) => one));
    return rows.map(({ values }, i) => {
      if (first[i]) return 'imported';
      return emails.has(values.email) ? 'there' : 'taken';
    });
  }

  return async (rows) => {
    const deleted = await deletedOf(rows);
    const stored = (await insert(rows.filter(({ id }) => !deleted.has(id)))).values();
    return rows.map(({ id }) => (deleted.has(id) ? 'deleted' : stored.next().value!));
  };
}
