import type { StoredRecord } from '../../declare/host.ts';
import type { Queryable } from '../../platform/postgres/queryable.ts';
import type { CompiledResource } from '../compiled.ts';
import type { Condition } from '../query/condition.ts';
import { conditionSql, parameters, quoted } from '../query/sql.ts';
import { countStatement, pageStatement, type Selection, type Slice } from '../query/statements.ts';
import { type Unchanged, unchangedSql } from '../query/unchanged.ts';
import type { Codec } from '../stored.ts';
import type { Values } from '../validate.ts';
import { type Cause, outboxExpression } from './event.ts';
import { createStatementNames } from './statements.ts';

/** Narrows down what a write can reach. */
export type WriteCondition = Condition | Unchanged;

/** The records of a resource in Postgres. No policy is asked here; `conditions` narrow down what a call can reach. */
export interface Store {
  read(id: string, conditions?: readonly Condition[]): Promise<StoredRecord | undefined>;
  /** Records by id, in no order; unknown ids are left out. One query. */
  readMany(ids: readonly string[], conditions?: readonly Condition[]): Promise<StoredRecord[]>;
  /** A part of a sorted list. @param slow whether it may scan */
  list(selection: Selection, slice: Slice, slow: boolean): Promise<StoredRecord[]>;
  count(selection: Selection, slow: boolean): Promise<number>;
  insert(id: string, values: Values, cause: Cause): Promise<StoredRecord>;
  /** Undefined when no record with that id meets the conditions. */
  update(
    id: string,
    changes: Values,
    conditions: readonly WriteCondition[],
    cause: Cause,
  ): Promise<{ record: StoredRecord; previous: StoredRecord } | undefined>;
  remove(id: string, conditions: readonly WriteCondition[], cause: Cause): Promise<StoredRecord | undefined>;
  /** The same records through another connection: that of a transaction. */
  on(database: Queryable): Store;
}

/** Makes the store of a resource. */
export function createStore(
  resource: CompiledResource,
  codec: Codec,
  database: Queryable,
  names = createStatementNames(),
): Store {
  const { name: statement } = names;
  const table = quoted(resource.table);
  const width = codec.columns.split(', ').length;

  const lists = (slow: boolean) => (slow ? database.readSlowly : database.readList);

  const guarded = (id: string, conditions: readonly WriteCondition[]) => {
    const params = parameters([id]);
    const terms = conditions.map((condition) =>
      'held' in condition ? unchangedSql(condition, params) : conditionSql(resource, condition, params),
    );
    return { params, where: ['"id" = $1', ...terms].join(' and ') };
  };

  return {
    async read(id, conditions = []) {
      const { params, where } = guarded(id, conditions);
      const rows = await database.read(
        statement(`select ${codec.columns} from ${table} where ${where}`, params.values),
      );
      return rows[0] === undefined ? undefined : codec.fromRow(rows[0]);
    },

    async readMany(ids, conditions = []) {
      const params = parameters([ids]);
      const terms = conditions.map((condition) => conditionSql(resource, condition, params));
      const where = ['"id" = any($1)', ...terms].join(' and ');
      const rows = await database.read(
        statement(`select ${codec.columns} from ${table} where ${where}`, params.values),
      );
      return rows.map(codec.fromRow);
    },

    async list(selection, slice, slow) {
      const { text, values } = pageStatement(resource, codec.columns, selection, slice);
      return (await lists(slow)(statement(text, values))).map(codec.fromRow);
    },

    async count(selection, slow) {
      const { text, values } = countStatement(resource, selection);
      return (await lists(slow)<[number]>(statement(text, values)))[0]![0];
    },

    async insert(id, values, cause) {
      const params = parameters([id]);
      const columns = ['"id"', ...resource.fields.map((field) => quoted(field.column))];
      const places = [
        '$1',
        ...resource.fields.map((field) => params.add(codec.toColumn(field, values[field.name], id))),
      ];
      const text = `with _new as (insert into ${table} (${columns.join(', ')}) values (${places.join(', ')}) returning *),
  ${outboxExpression(resource, 'created', cause, params)} select ${codec.columns} from _new`;
      const rows = await database.write(statement(text, params.values));
      return codec.fromRow(rows[0]!);
    },

    async update(id, changes, conditions, cause) {
      const { params, where } = guarded(id, conditions);
      // Declared order, whatever the order in the body: fewer texts to prepare.
      const changed = resource.fields.filter((field) => Object.hasOwn(changes, field.name));
      const sets = changed.map(
        (field) => `${quoted(field.column)} = ${params.add(codec.toColumn(field, changes[field.name], id))}`,
      );
      // A version must never come again, however quickly changes follow each other.
      if (resource.timestamps) {
        sets.push(`"updated_at" = greatest(now(), _row."updated_at" + interval '1 millisecond')`);
      }
      if (sets.length === 0) sets.push('"id" = _row."id"');
      const text = `with _old as (select * from ${table} where ${where} for update),
  _new as (update ${table} _row set ${sets.join(', ')} from _old where _row."id" = _old."id" returning _row.*),
  ${outboxExpression(resource, 'updated', cause, params)}
  select ${prefixed(codec.columns, '_new')}, ${prefixed(codec.columns, '_old')} from _new, _old`;
      const rows = await database.write(statement(text, params.values));
      const row = rows[0];
      if (row === undefined) return undefined;
      return { record: codec.fromRow(row), previous: codec.fromRow(row.slice(width)) };
    },

    async remove(id, conditions, cause) {
      const { params, where } = guarded(id, conditions);
      const text = `with _new as (delete from ${table} where ${where} returning *),
  ${outboxExpression(resource, 'deleted', cause, params)} select ${codec.columns} from _new`;
      const rows = await database.write(statement(text, params.values));
      return rows[0] === undefined ? undefined : codec.fromRow(rows[0]);
    },

    on: (other) => createStore(resource, codec, other, names),
  };
}

function prefixed(columns: string, alias: string): string {
  return columns
    .split(', ')
    .map((column) => `${alias}.${column}`)
    .join(', ');
}
