import type { Queryable } from '../../platform/data/postgres/queryable.ts';
import type { Entity } from '../../records/store/entity.ts';
import type { ImportRow } from './row.ts';

/** The result of storing one row of an import: see `RowInserter`. */
export type InsertResult = 'imported' | 'existing' | 'taken' | 'deleted';

/** Stores the rows of an import. */
interface RowInserter {
  /**
   * Stores rows in one statement and returns a result for each row, in order:
   *
   * - `existing`: an account with this e-mail exists; the row was skipped
   * - `taken`: its id, or another value that must be unique, belongs to another user
   * - `deleted`: its id belongs to a deleted user who can be restored
   */
  insert(rows: readonly ImportRow[]): Promise<InsertResult[]>;
  /** Returns the e-mail addresses of those rows that have an account. */
  findExistingEmails(rows: readonly ImportRow[]): Promise<Set<unknown>>;
}

/** Creates the inserter of users. */
export function createRowInserter(database: Queryable, { resource, codec, archive }: Entity): RowInserter {
  const { fields, timestamps, table } = resource;
  const columns = ['"id"', ...fields.map((field) => `"${field.column}"`)];
  if (timestamps) columns.push('"created_at"', '"updated_at"');
  const email = resource.field.get('email')!.column;
  const EXISTING = `select "${email}" from "${table}" where "${email}" = any($1)`;

  function columnValuesOf({ id, values, hash, createdAt, updatedAt }: ImportRow): unknown[] {
    const given = fields.map((field) =>
      field.name === 'password' ? hash : codec.toColumn(field, values[field.name], id),
    );
    const now = new Date().toISOString();
    return [id, ...given, ...(timestamps ? [createdAt ?? now, updatedAt ?? now] : [])];
  }

  /** Returns the ids of those rows that belong to archived users: users who are deleted, but can still be restored. */
  async function findDeletedIds(rows: readonly ImportRow[]): Promise<Set<string>> {
    const found = await archive?.only.readMany(rows.map(({ id }) => id));
    return new Set(found?.map(({ id }) => id));
  }

  async function findExistingEmails(rows: readonly ImportRow[]): Promise<Set<unknown>> {
    if (rows.length === 0) return new Set();
    const emails = rows.map(({ values }) => values.email);
    const found = await database.write<[string]>({ text: EXISTING, values: [emails] });
    return new Set(found.map(([address]) => address));
  }

  /** Stores rows whose ids belong to no archived user. Returns a result for each row, in order. */
  async function insertRows(rows: readonly ImportRow[]): Promise<InsertResult[]> {
    if (rows.length === 0) return [];
    const width = columns.length;
    const groups = rows.map((_, row) => `(${columns.map((_, i) => `$${row * width + i + 1}`).join(', ')})`);
    const text = `insert into "${table}" (${columns.join(', ')}) values ${groups.join(', ')} on conflict do nothing returning "id"`;
    const written = await database.write<[string]>({ text, values: rows.flatMap(columnValuesOf) });
    // If an id occurs twice in the batch, Postgres stored only the first row with that id.
    const imported = new Set(written.map(([id]) => id));
    const first = rows.map(({ id }) => imported.delete(id));
    const emails = await findExistingEmails(rows.filter((_, i) => !first[i]));
    return rows.map(({ values }, i) => {
      if (first[i]) return 'imported';
      return emails.has(values.email) ? 'existing' : 'taken';
    });
  }

  return {
    findExistingEmails,
    async insert(rows) {
      const deleted = await findDeletedIds(rows);
      const stored = (await insertRows(rows.filter(({ id }) => !deleted.has(id)))).values();
      return rows.map(({ id }) => (deleted.has(id) ? 'deleted' : stored.next().value!));
    },
  };
}
