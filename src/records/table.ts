import { createHash } from 'node:crypto';
import { sql } from 'drizzle-orm';
import {
  customType,
  type ExtraConfigColumn,
  index,
  type PgColumnBuilderBase,
  type PgTable,
  pgTable,
  text,
  timestamp,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import { snakeCase } from '../declare/naming.ts';
import { type CompiledField, type CompiledResource, columnOf } from './compiled.ts';

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
  const gin = spec.kind === 'array' && field.type.column(spec).endsWith('[]');
  if (field.operators.size > 0 && gin) made.push(index(name('gin_index')).using('gin', own));
  if (spec.searchable) made.push(index(name('search_index')).using('gin', own.op('gin_trgm_ops')));
  if (
    spec.index ||
    (field.operators.size > 0 && !gin && !spec.unique && !spec.sortable && field.type.column(spec) !== 'jsonb')
  ) {
    // A long text does not fit into a btree; a hash finds equal ones whatever their length.
    made.push(spec.kind === 'text' ? index(name('index')).using('hash', own) : index(name('index')).on(own));
  }
  return made;
}

function declaredIndex(resource: CompiledResource, fields: readonly string[], unique: boolean, columns: Columns) {
  const terms = fields.map((term) => ({ name: term.replace(/^-/, ''), descending: term.startsWith('-') }));
  const names = terms.map((term) => columnOf(resource, term.name));
  const on = terms.map((term) => (term.descending ? columns[term.name]!.desc() : columns[term.name]!));
  const [first, ...rest] = on;
  const made = unique ? uniqueIndex(indexName(resource, names, 'unique')) : index(indexName(resource, names, 'index'));
  return made.on(first!, ...rest);
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
    const made = resource.fields.flatMap((field) => fieldIndexes(resource, field, columns));
    for (const declared of resource.declaration.indexes ?? []) {
      made.push(declaredIndex(resource, declared.fields, declared.unique ?? false, columns));
    }
    if (resource.timestamps) {
      made.push(index(indexName(resource, ['created_at'], 'index')).on(columns.createdAt!, columns.id!));
    }
    const owner = resource.ownerField;
    if (owner !== undefined && owner !== 'id') {
      const order = resource.timestamps ? [columns.createdAt!, columns.id!] : [columns.id!];
      made.push(index(indexName(resource, [snakeCase(owner)], 'owner_index')).on(columns[owner]!, ...order));
    }
    return made;
  }) as unknown as PgTable;
}
