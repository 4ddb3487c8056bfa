import type { Queryable } from '../../platform/data/postgres/queryable.ts';
import { createAggregateStatement } from '../aggregate/sql.ts';
import type { ListCondition } from '../query/list-query.ts';
import { meetsConditions } from '../query/match.ts';
import { conditionSql, createSqlParameters } from '../query/sql/conditions.ts';
import { createPositionStatement } from '../query/sql/list-statements.ts';
import { createPageWithinBytes } from '../query/sql/within-bytes.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import type { Codec } from './codec.ts';
import { createListReads, createRelatedReads } from './list-reads.ts';
import { createRecordWrites } from './record-writes.ts';
import { createRelatedLookup } from './related-lookup.ts';
import { createStoreStatements } from './statements.ts';
import type { Store, WriteCondition } from './store.ts';

// Reads of up to this many ids run immediately. Larger ones, as for references of a list, share the connections of lists and cannot delay
// sign-ins.
const MAX_IMMEDIATE_IDS = 200;

/** Creates the store of a resource. @param statements only for another store of the same resource: what both have in common */
export function createStore(
  resource: CompiledResource,
  codec: Codec,
  database: Queryable,
  statements = createStoreStatements(resource, codec),
): Store {
  const { statement, table, select, selectById, lists, whereId, toPage } = statements;
  const lookUpRelated = createRelatedLookup(database);
  const buildRead = (id: string, conditions: readonly (WriteCondition | ListCondition)[], locking = '') => {
    const { params, where } = whereId(id, conditions);
    return statement(`${select} ${where}${locking}`, params.values);
  };
  return {
    ...createListReads(statements, database),
    ...createRelatedReads(statements, database),
    ...createRecordWrites(statements, database),

    meets: (conditions, record, unknown) => meetsConditions(conditions, record, lookUpRelated, unknown),

    async read(id, conditions = []) {
      const [row] = await database.read(
        conditions.length === 0 ? statement(selectById, [id]) : buildRead(id, conditions),
      );
      return row === undefined ? undefined : codec.fromRow(row);
    },

    async readMany(ids) {
      const run = ids.length > MAX_IMMEDIATE_IDS ? database.readList : database.read;
      const rows = await run(statement(`${select} "id" = any($1)`, [ids]));
      return rows.map(codec.fromRow);
    },

    async positionOf(id, sort, conditions) {
      const { text, values } = createPositionStatement(resource, id, sort, conditions);
      const [row] = await database.read<(string | null)[]>(statement(text, values));
      return row;
    },

    aggregate(selection, bytes) {
      const { text, values, columns, size } = createAggregateStatement(resource, selection);
      const within = createPageWithinBytes(columns, size)(text, `$${values.length + 1}::bigint`);
      // Without a name: planned for its values, because a plan for any values could cost far more than planning.
      return database.readSlowly({ text: within, values: [...values, bytes()] });
    },

    async lockMany(conditions, { rows: limit, bytes }) {
      const params = createSqlParameters();
      const where = conditions.map((condition) => conditionSql(resource, condition, params)).join(' and ');
      const selected = `${select} ${where || 'true'} order by "id" limit ${params.add(limit)} for update`;
      const text = lists.pageWithinBytes(selected, `${params.add(bytes)}::bigint`);
      return toPage(await database.write<unknown[]>(statement(text, params.values)));
    },

    async readLocked(id, conditions) {
      const [row] = await database.write(buildRead(id, conditions, ' for no key update'));
      return row === undefined ? undefined : codec.fromRow(row);
    },

    async lock(id, conditions = []) {
      const { params, where } = whereId(id, conditions);
      const rows = await database.write(statement(`select from ${table} where ${where} for update`, params.values));
      return rows.length > 0;
    },

    on: (other) => createStore(resource, codec, other, statements),
  };
}
