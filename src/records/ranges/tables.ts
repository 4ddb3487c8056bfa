import {
  bigint,
  customType,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  vacuumOften,
} from '../../platform/data/postgres/drizzle.ts';

/** A time as precise as Postgres stores it: own SQL may write such times. */
const preciseTime = customType<{ data: string }>({ dataType: () => 'timestamptz' });

/** The tables of resources whose rows are counted in ranges. */
const rangedTables = pgTable('ranged_tables', {
  tableName: text('table_name').primaryKey(),
  /** The OID of the table: a table that was created anew under this name has other rows. */
  tableOid: bigint('table_oid', { mode: 'number' }).notNull(),
  /** Ranges and their changes cover the rows that were created until this whole second. Newer rows are counted when a list is read. */
  until: preciseTime('until').notNull(),
  /** The next `until`: changes of rows up to it are stored already. Null if there is none. */
  next: preciseTime('next'),
  /** The transactions before this one may have changed such rows without storing it. */
  nextXid: text('next_xid'),
});

/** The ranges: each holds the rows from its first position up to that of the next range, ordered by `created_at` and `id`. */
const recordRanges = pgTable(
  'record_ranges',
  {
    tableName: text('table_name').notNull(),
    fromAt: preciseTime('from_at').notNull(),
    fromId: text('from_id').notNull(),
    /** The number of rows, without the stored changes. */
    rows: bigint('rows', { mode: 'number' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.tableName, table.fromAt, table.fromId] })],
);

/** The rows that were added to ranges (`change` is 1) or removed from them (-1) and are not in the number of the range yet. */
const recordRangeChanges = vacuumOften(
  pgTable(
    'record_range_changes',
    {
      tableName: text('table_name').notNull(),
      at: preciseTime('at').notNull(),
      id: text('id').notNull(),
      change: integer('change').notNull(),
    },
    (table) => [index('record_range_changes_position_index').on(table.tableName, table.at)],
  ),
);

/** The tables that count the rows of large tables, by name. */
export const rangeTables = {
  ranged_tables: rangedTables,
  record_ranges: recordRanges,
  record_range_changes: recordRangeChanges,
};
