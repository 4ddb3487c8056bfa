import type { ExtraConfigColumn, PgColumnBuilderBase, PgTable } from 'drizzle-orm/pg-core';
import { customType, index, pgTable, sql, text, timestamp, uniqueIndex } from '../platform/postgres/drizzle.ts';
import type { CompiledField, CompiledResource, Index } from './compiled.ts';
import { archiveIndex } from './store/archive-table.ts';

function column(field: CompiledField): PgColumnBuilderBase {
  const type = field.spec.encrypted ? 'text' : field.type.column(field.spec);
  return customType<{ data: unknown }>({ dataType: () => type })(field.column);
}

type Columns = Record<string, ExtraConfigColumn>;

// Where ORDER BY … DESC expects them; drizzle's own choice would be the other end, and an index that serves no sort.
function directed(column: ExtraConfigColumn, descending: boolean) {
  return descending ? column.desc().nullsFirst() : column;
}

function madeIndex({ name, method, unique, terms }: Index, columns: Columns) {
  const own = columns[terms[0]!.field]!;
  if (method === 'search') return index(name).using('gin', own.op('gin_trgm_ops'));
  if (method !== 'btree') return index(name).using(method, own);
  const [first, ...rest] = terms.map((term) => directed(columns[term.field]!, term.descending));
  return (unique ? uniqueIndex(name) : index(name)).on(first!, ...rest);
}

/** The drizzle table of a resource. */
export function resourceTable(resource: CompiledResource): PgTable {
  const times = {
    createdAt: timestamp('created_at', { withTimezone: true, precision: 3, mode: 'string' })
      .notNull()
      .default(sql`now()`),
    updatedAt: timestamp('updated_at', { withTimezone: true, precision: 3, mode: 'string' })
      .notNull()
      .default(sql`now()`),
  };
  const fields = Object.fromEntries(resource.fields.map((field) => [field.name, column(field)]));
  const archived = {
    deletedAt: timestamp('deleted_at', { withTimezone: true, precision: 3, mode: 'string' }).notNull(),
  };
  const shape = {
    id: text('id').primaryKey(),
    ...fields,
    ...(resource.timestamps ? times : {}),
    ...(resource.archived ? archived : {}),
  };
  return pgTable(resource.table, shape, (table) => {
    const columns = table as unknown as Columns;
    const purged = resource.archived ? [index(archiveIndex(resource.table)).on(columns.deletedAt!)] : [];
    return [...resource.indexes.map((one) => madeIndex(one, columns)), ...purged];
  }) as unknown as PgTable;
}
