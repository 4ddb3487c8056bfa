import type { StoredRecord } from '../../declare/host.ts';
import type { Database, Executor } from '../../platform/postgres/database.ts';
import type { CompiledResource } from '../compiled.ts';
import type { Condition } from '../query/condition.ts';
import type { ListQuery } from '../query/list-query.ts';
import { conditionSql, parameters, quoted, whereSql } from '../query/sql.ts';
import type { Codec } from '../stored.ts';
import type { Values } from '../validate.ts';
import { type Cause, outboxExpression } from './event.ts';
import { createStatementNames } from './statements.ts';

/** The records of a resource in Postgres. No policy is asked here; `conditions` narrow down what a call can reach. */
export interface Store {
  read(id: string, conditions?: readonly Condition[]): Promise<StoredRecord | undefined>;
  /** Records by id, in no order; unknown ids are left out. One query. */
  readMany(ids: readonly string[], conditions?: readonly Condition[]): Promise<StoredRecord[]>;
  /** A page and the count of all that match, side by side. */
  list(query: ListQuery): Promise<{ records: StoredRecord[]; total: number }>;
  insert(id: string, values: Values, cause: Cause, executor?: Executor): Promise<StoredRecord>;
  /** Undefined when no record with that id meets the conditions. */
  update(
    id: string,
    changes: Values,
    conditions: readonly Condition[],
    cause: Cause,
    executor?: Executor,
  ): Promise<{ record: StoredRecord; previous: StoredRecord } | undefined>;
  remove(
    id: string,
    conditions: readonly Condition[],
    cause: Cause,
    executor?: Executor,
  ): Promise<StoredRecord | undefined>;
}

/** Makes the store of a resource. */
export function createStore(resource: CompiledResource, codec: Codec, database: Database): Store {
  const { name: statement } = createStatementNames();
  const table = quoted(resource.table);
  const width = codec.columns.split(', ').length;

  const guarded = (id: string, conditions: readonly Condition[]) => {
    const params = parameters([id]);
    const terms = conditions.map((condition) => conditionSql(resource, condition, params));
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

    async list(query) {
      const page = parameters();
      const where = whereSql(resource, query.conditions, page);
      const order = query.sort.map((term) => `${quoted(term.column)}${term.descending ? ' desc' : ''}`).join(', ');
      const limits = `limit ${page.add(query.limit)} offset ${page.add((query.page - 1) * query.limit)}`;
      const count = parameters();
      const counted = whereSql(resource, query.conditions, count);
      const run = query.slow ? database.readSlowly : database.readList;
      const [rows, total] = await Promise.all([
        run(statement(`select ${codec.columns} from ${table} ${where} order by ${order} ${limits}`, page.values)),
        run<[number]>(statement(`select count(*) from ${table} ${counted}`, count.values)),
      ]);
      return { records: rows.map(codec.fromRow), total: total[0]![0] };
    },

    async insert(id, values, cause, executor = database) {
      const params = parameters([id]);
      const columns = ['"id"', ...resource.fields.map((field) => quoted(field.column))];
      const places = [
        '$1',
        ...resource.fields.map((field) => params.add(codec.toColumn(field, values[field.name], id))),
      ];
      const text = `with _new as (insert into ${table} (${columns.join(', ')}) values (${places.join(', ')}) returning *),
  ${outboxExpression(resource, 'created', cause, params)} select ${codec.columns} from _new`;
      const rows = await executor.write(statement(text, params.values));
      return codec.fromRow(rows[0]!);
    },

    async update(id, changes, conditions, cause, executor = database) {
      const { params, where } = guarded(id, conditions);
      // Declared order, whatever the order in the body: fewer texts to prepare.
      const changed = resource.fields.filter((field) => Object.hasOwn(changes, field.name));
      const sets = changed.map(
        (field) => `${quoted(field.column)} = ${params.add(codec.toColumn(field, changes[field.name], id))}`,
      );
      if (resource.timestamps) sets.push('"updated_at" = now()');
      if (sets.length === 0) sets.push('"id" = _row."id"');
      const text = `with _old as (select * from ${table} where ${where} for update),
  _new as (update ${table} _row set ${sets.join(', ')} from _old where _row."id" = _old."id" returning _row.*),
  ${outboxExpression(resource, 'updated', cause, params)}
  select ${prefixed(codec.columns, '_new')}, ${prefixed(codec.columns, '_old')} from _new, _old`;
      const rows = await executor.write(statement(text, params.values));
      const row = rows[0];
      if (row === undefined) return undefined;
      return { record: codec.fromRow(row), previous: codec.fromRow(row.slice(width)) };
    },

    async remove(id, conditions, cause, executor = database) {
      const { params, where } = guarded(id, conditions);
      const text = `with _new as (delete from ${table} where ${where} returning *),
  ${outboxExpression(resource, 'deleted', cause, params)} select ${codec.columns} from _new`;
      const rows = await executor.write(statement(text, params.values));
      return rows[0] === undefined ? undefined : codec.fromRow(rows[0]);
    },
  };
}

function prefixed(columns: string, alias: string): string {
  return columns
    .split(', ')
    .map((column) => `${alias}.${column}`)
    .join(', ');
}
