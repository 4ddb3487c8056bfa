import { createHash } from 'node:crypto';
import type { ExtraConfigColumn, PgColumnBuilderBase, PgTable } from 'drizzle-orm/pg-core';
import { customType, index, pgTable, sql, text, timestamp, uniqueIndex } from '../platform/postgres/drizzle.ts';
import { type CompiledField, type CompiledResource, columnOf, type SortTerm } from './compiled.ts';
import { totalOrder } from './sort-index.ts';

// Postgres cuts identifiers at 63 bytes, which could make two of them one.
function identifier(name: string): string {
  if (Buffer.byteLength(name) <= 63) return name;
  return `${name.slice(0, 54)}_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
}

function indexName(resource: CompiledResource, columns: readonly string[], kind: string): string {
  return identifier(`${resource.table}_${columns.join('_')}_${kind}`);
}

/** The name of the unique index of a column: a violation is traced back to its field by it. */
export function uniqueIndexName(resource: CompiledResource, column: string): string {
  return indexName(resource, [column], 'unique');
}

function column(field: CompiledField): PgColumnBuilderBase {
  const type = field.spec.encrypted ? 'text' : field.type.column(field.spec);
  return customType<{ data: unknown }>({ dataType: () => type })(field.column);
}

type Columns = Record<string, ExtraConfigColumn>;

function fieldIndexes(resource: CompiledResource, field: CompiledField, columns: Columns) {
  const { spec } = field;
  const own = columns[field.name]!;
  const name = (kind: string) => indexName(resource, [field.column], kind);
  const made = [];
  if (spec.unique) made.push(uniqueIndex(name('unique')).on(own));
  // The id makes the order of a sorted page total, and lets the index give it.
  if (spec.sortable) made.push(index(name('sort_index')).on(own, columns.id!));
  const method = field.type.indexMethod?.(spec);
  const gin = method === 'gin';
  if (field.operators.size > 0 && gin) made.push(index(name('gin_index')).using('gin', own));
  if (spec.searchable) made.push(index(name('search_index')).using('gin', own.op('gin_trgm_ops')));
  // An owner's records have an index of their own.
  const owner = field.name === resource.ownerField;
  if (
    (spec.index && !owner) ||
    (field.operators.size > 0 && !owner && !gin && !spec.unique && !spec.sortable && method !== undefined)
  ) {
    made.push(method === 'hash' ? index(name('index')).using('hash', own) : index(name('index')).on(own));
  }
  return made;
}

function declaredIndexes(resource: CompiledResource, columns: Columns) {
  return (resource.declaration.indexes ?? []).flatMap(({ fields, unique }) => {
    const terms = fields.map((term) => ({ name: term.replace(/^-/, ''), descending: term.startsWith('-') }));
    // It has one already.
    if (!unique && resource.timestamps && terms.length === 1 && terms[0]!.name === 'createdAt') return [];
    const names = terms.map((term) => columnOf(resource, term.name));
    const [first, ...rest] = terms.map((term) => directed(columns[term.name]!, term.descending));
    const made = unique
      ? uniqueIndex(indexName(resource, names, 'unique'))
      : index(indexName(resource, names, 'index'));
    return [made.on(first!, ...rest)];
  });
}

// Where ORDER BY … DESC expects them; drizzle's own choice would be the other end, and an index that serves no sort.
function directed(column: ExtraConfigColumn, descending: boolean) {
  return descending ? column.desc().nullsFirst() : column;
}

/**
 * The indexes that give the orders of lists: by the time of creation, the default one, that of an owner's records. None by the
 * last change: every update would have to write every index of the table (https://www.postgresql.org/docs/current/storage-hot.html).
 */
function orderIndexes(resource: CompiledResource, columns: Columns) {
  const { ownerField: owner, timestamps, defaultOrder } = resource;
  const order = (name: string, terms: readonly SortTerm[]) => {
    const [first, ...rest] = terms.map((term) => directed(columns[term.field]!, term.descending));
    return index(name).on(first!, ...rest);
  };
  const ascending = (field: string): SortTerm => ({ field, column: columnOf(resource, field), descending: false });
  const made = timestamps
    ? [order(indexName(resource, ['created_at'], 'index'), totalOrder([ascending('createdAt')]))]
    : [];
  if (defaultOrder !== undefined && needsOwnIndex(resource, defaultOrder)) {
    const columnNames = defaultOrder.map((term) => term.column);
    made.push(order(indexName(resource, columnNames, 'order_index'), defaultOrder));
  }
  if (owner !== undefined && owner !== 'id') {
    const within = defaultOrder ?? totalOrder(timestamps ? [ascending('createdAt')] : []);
    const rest = within.filter((term) => term.field !== owner);
    made.push(order(indexName(resource, [columnOf(resource, owner)], 'owner_index'), [ascending(owner), ...rest]));
  }
  return made;
}

// The id has an index, and a sortable field and the timestamps have one with the id.
function needsOwnIndex({ timestamps, field }: CompiledResource, order: readonly SortTerm[]): boolean {
  const [first] = order;
  if (first!.field === 'id') return false;
  if (order.length > 2) return true;
  const spec = field.get(first!.field)?.spec;
  return spec === undefined ? !timestamps : !spec.sortable;
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
  const shape = { id: text('id').primaryKey(), ...fields, ...(resource.timestamps ? times : {}) };
  return pgTable(resource.table, shape, (table) => {
    const columns = table as unknown as Columns;
    return [
      ...resource.fields.flatMap((field) => fieldIndexes(resource, field, columns)),
      ...declaredIndexes(resource, columns),
      ...orderIndexes(resource, columns),
    ];
  }) as unknown as PgTable;
}
