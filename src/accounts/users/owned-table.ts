import type { PgTable } from 'drizzle-orm/pg-core';
import type { UserData } from '../../declare/host.ts';
import { getTableConfig } from '../../platform/data/postgres/drizzle.ts';
import { primaryKeyOf } from '../../platform/data/postgres/expired-rows.ts';
import type { Executor, Queryable } from '../../platform/data/postgres/queryable.ts';
import { readRowsInPages } from '../../platform/data/postgres/scan.ts';
import { writeInBatches } from '../../platform/data/postgres/write-in-batches.ts';

/** The properties of a Drizzle table that are columns. */
type ColumnOf<Table extends PgTable> = keyof Table['_']['columns'] & string;

/** How exports and erasures treat the rows of an owned table. */
interface OwnedRowsDescription<Column> extends Pick<UserData, 'name' | 'description'> {
  /** The exported columns, and names of other values with their SQL over the row. No secrets or hashes. Left out: no row is exported. */
  exported?: readonly (Column | readonly [name: string, sql: string])[];
  /** A condition: a row that belongs to none of the owners is about the user `$1`. An index should find these rows. */
  alsoOwned?: string;
  /** Other tables, whose rows an erasure removes as well. They are neither exported nor counted. */
  also?: readonly Pick<OwnedTable, 'table' | 'remove'>[];
}

/** A table whose rows belong to users. */
export interface OwnedTable<Column = never> {
  /** The name of the table. */
  table: string;
  /** Removes the rows of users. @param addedSince only the rows that were added at this time (ISO 8601) or later */
  remove(on: Executor, userIds: readonly string[], addedSince?: string): Promise<void>;
  /** Describes the rows of a user, for exports and erasures. */
  describe(database: Pick<Queryable, 'readSlowly' | 'write'>, description: OwnedRowsDescription<Column>): UserData;
}

/**
 * Defines the table whose rows belong to users. Every statement finds the rows by the owner columns, so each of them needs an index, or is the
 * start of the primary key.
 *
 * @param options `owners`: the columns with a user id, default `userId`; `addedAt`: the column with the time at which a row was added, default
 *   `createdAt`; `locksInOrder`: removes rows in the order of the primary key, because other statements lock several rows in that order
 */
export function defineOwnedTable<Table extends PgTable>(
  table: Table,
  options: { owners?: readonly ColumnOf<Table>[]; addedAt?: ColumnOf<Table>; locksInOrder?: boolean } = {},
): OwnedTable<ColumnOf<Table>> {
  const { owners = ['userId'], addedAt = 'createdAt', locksInOrder = false } = options;
  const { name } = getTableConfig(table);
  const columnOf = (property: string) => (table as unknown as Record<string, { name: string }>)[property]!.name;
  const ownedBy = (users: string) => `(${owners.map((owner) => `${columnOf(owner)} = ${users}`).join(' or ')})`;
  const key = primaryKeyOf(table).join(', ');
  // In a key of several columns, the owner comes first and is the same for all rows of a page.
  const pageKey = primaryKeyOf(table).at(-1)!;
  const keysSql = `select ${key} from ${name} where ${ownedBy('any($1)')} order by ${key} for update`;
  const removeSql = `delete from ${name} where ${locksInOrder ? `(${key}) in (${keysSql})` : ownedBy('any($1)')}`;

  return {
    table: name,
    async remove(on, userIds, addedSince) {
      if (addedSince === undefined) await on.write({ text: removeSql, values: [userIds] });
      else await on.write({ text: `${removeSql} and ${columnOf(addedAt)} >= $2`, values: [userIds, addedSince] });
    },
    describe(database, { exported = [], also = [], alsoOwned, ...names }) {
      const isOwned = alsoOwned === undefined ? ownedBy('$1') : `(${ownedBy('$1')} or ${alsoOwned})`;
      const eraseSql = `
        delete from ${name} where (${key}) in (select ${key} from ${name} where ${isOwned} limit $2) returning 1`;
      const values = exported.map((value) => (typeof value === 'string' ? ([value, columnOf(value)] as const) : value));
      const fields = ['key', ...values.map(([field]) => field)];
      const pageSql = `
        select ${[pageKey, ...values.map(([, sql]) => sql)].join(', ')} from ${name} where ${isOwned} and ${pageKey} > $2 order by ${pageKey} limit $3`;
      return {
        ...names,
        tables: [name, ...also.map((other) => other.table)],
        async *rows(userId) {
          if (values.length === 0) return;
          for await (const { key: _, ...row } of readRowsInPages(database, pageSql, fields, [userId])) yield row;
        },
        async erase(userId) {
          for (const other of also) await other.remove(database, [userId]);
          return writeInBatches(database, eraseSql, [userId]);
        },
      };
    },
  };
}
