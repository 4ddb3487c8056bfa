import { createHash } from 'node:crypto';
import type { Statement } from '../../platform/data/postgres/connection.ts';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import type { Queryable } from '../../platform/data/postgres/queryable.ts';
import { createAggregateStatement } from '../aggregate/sql.ts';
import type { ListCondition } from '../query/list-query.ts';
import { meetsConditions } from '../query/match.ts';
import { conditionSql, createSqlParameters, writtenBySql } from '../query/sql/conditions.ts';
import { createPositionStatement } from '../query/sql/list-statements.ts';
import { createPageWithinBytes, rowSizeSql } from '../query/sql/within-bytes.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { createBatchStatements, readUpdate } from './batch-statements.ts';
import type { Codec } from './codec.ts';
import { leaveOutSameEncryptedValues } from './encrypted-changes.ts';
import { createEventValues } from './event.ts';
import { createListReads, createListStatements } from './list-reads.ts';
import { createRelatedLookup } from './related-lookup.ts';
import { createRelatedReads } from './related-reads.ts';
import type { Store, WriteCondition } from './store.ts';
import { archiveParameterValues, createWriteStatements } from './write-statements.ts';

// Reads of up to this many ids run immediately. Larger ones, as for references of a list, share the connections of lists and cannot delay
// sign-ins.
const MAX_IMMEDIATE_IDS = 200;

/** Creates the store of a resource. */
export function createStore(
  resource: CompiledResource,
  codec: Codec,
  database: Queryable,
  shared = {
    name: createStatementBuilder(),
    writeStatements: createWriteStatements(resource, codec),
    batchStatements: createBatchStatements(resource, codec),
    lists: createListStatements(resource, codec),
    relatedWithinBytes: createPageWithinBytes(`${codec.columns}, "_parent"`, rowSizeSql(resource)),
  },
): Store {
  const { name: statement, writeStatements, batchStatements, lists, relatedWithinBytes } = shared;
  const table = resource.source ?? quoteIdentifier(resource.table);
  const width = codec.columns.split(', ').length;
  // Two transactions that each add several rows could wait for each other's unique values. Without timestamps, the transaction is the version.
  const isUnique = resource.indexes.some(({ unique }) => unique);
  const mayShare = resource.timestamps && !isUnique && resource.constraints.every(({ kind }) => kind === 'check');
  const sharesTransaction = mayShare ? quoteIdentifier(resource.table) : undefined;

  const buildIdCondition = (id: string, conditions: readonly (WriteCondition | ListCondition)[]) => {
    const params = createSqlParameters([id]);
    const terms = conditions.map((condition) =>
      'writers' in condition ? writtenBySql(condition, params) : conditionSql(resource, condition, params),
    );
    return { params, where: ['"id" = $1', ...terms].join(' and ') };
  };

  const selectById = `select ${codec.columns} from ${table} where "id" = $1`;
  const buildSelect = (id: string, conditions: readonly (WriteCondition | ListCondition)[]) => {
    const { params, where } = buildIdCondition(id, conditions);
    return statement(`select ${codec.columns} from ${table} where ${where}`, params.values);
  };

  const lookUpRelated = createRelatedLookup(database);

  return {
    meets: (conditions, record, unknown) => meetsConditions(conditions, record, lookUpRelated, unknown),

    async read(id, conditions = []) {
      const rows = await database.read(
        conditions.length === 0 ? statement(selectById, [id]) : buildSelect(id, conditions),
      );
      return rows[0] === undefined ? undefined : codec.fromRow(rows[0]);
    },

    async readMany(ids) {
      const run = ids.length > MAX_IMMEDIATE_IDS ? database.readList : database.read;
      const rows = await run(statement(`select ${codec.columns} from ${table} where "id" = any($1)`, [ids]));
      return rows.map(codec.fromRow);
    },

    async positionOf(id, sort, conditions) {
      const { text, values } = createPositionStatement(resource, id, sort, conditions);
      const [row] = await database.read<(string | null)[]>(statement(text, values));
      return row;
    },

    ...createListReads(resource, codec, database, statement, lists),
    ...createRelatedReads(resource, codec, database, statement, relatedWithinBytes),

    aggregate(selection, bytes) {
      const { text, values, columns, size } = createAggregateStatement(resource, selection);
      const within = createPageWithinBytes(columns, size)(text, `$${values.length + 1}::bigint`);
      // Without a name: planned for its values, because a plan for any values could cost far more than planning.
      return database.readSlowly({ text: within, values: [...values, bytes()] });
    },

    async insert(id, values, cause, times) {
      const fields = resource.fields.map((field) => codec.toColumn(field, values[field.name], id));
      const event = createEventValues(resource, 'created', cause);
      const insert =
        times === undefined
          ? statement(writeStatements.insert, [id, ...fields, ...event])
          : statement(writeStatements.insertWithTimes(), [id, ...fields, times.createdAt, times.updatedAt, ...event]);
      const rows = await database.write({ ...insert, sharesTransaction });
      return codec.fromRow(rows[0]!);
    },

    async update(id, given, conditions, cause, { before, isForced = false } = {}) {
      const changes = before === undefined || isForced ? given : leaveOutSameEncryptedValues(resource, given, before);
      // List the fields in declared order, whatever their order in the body, so that fewer distinct statements are prepared.
      const changed = resource.fields.filter((field) => Object.hasOwn(changes, field.name));
      const encrypted = changed.filter(({ spec }) => spec.encrypted);
      const { params, where } = buildIdCondition(id, conditions);
      const write = async (isKnownToChange: boolean) => {
        const fields = changed.map((field) => codec.toColumn(field, changes[field.name], id));
        const event = createEventValues(resource, 'updated', cause);
        const [row] = await database.write(
          changed.length === 0
            ? statement(writeStatements.lockUnchanged(where), params.values)
            : statement(writeStatements.update(changed, where, params.values.length, isKnownToChange), [
                ...params.values,
                ...fields,
                ...event,
              ]),
        );
        return row;
      };
      const isChanged = (row: readonly unknown[]) => row[2 * width] === true;
      let row = await write(isForced || (before !== undefined && encrypted.length > 0));
      if (before === undefined && row !== undefined && !isChanged(row)) {
        const stored = row.slice(width);
        const differs = encrypted.some((field) => !codec.holdsEncrypted(stored, field, changes[field.name]));
        if (differs) row = await write(true);
      }
      return row === undefined ? undefined : readUpdate(codec, row, row.slice(width), isChanged(row));
    },

    async remove(id, conditions, cause, under) {
      const { params, where } = buildIdCondition(id, conditions);
      const text = writeStatements.remove(where, params.values.length);
      const kept = archiveParameterValues(resource, cause.userId, under);
      const parameterValues = [...params.values, ...kept, ...createEventValues(resource, 'deleted', cause)];
      const [row] = await database.write(statement(text, parameterValues));
      return row === undefined ? undefined : codec.fromChange(row)[0];
    },

    async restore(id, changes, conditions, cause) {
      const { params, where } = buildIdCondition(id, conditions);
      const changed = resource.fields.filter((field) => Object.hasOwn(changes, field.name));
      const text = writeStatements.restore(changed, where, params.values.length);
      const fields = changed.map((field) => codec.toColumn(field, changes[field.name], id));
      const [row] = await database.write(
        statement(text, [...params.values, ...fields, ...createEventValues(resource, 'restored', cause)]),
      );
      return row === undefined ? undefined : codec.fromChange(row)[0];
    },

    async writeMany(changes, cause, under) {
      const { text, values } = batchStatements.write(changes, cause, under);
      return batchStatements.read(changes, await database.write<unknown[]>(statement(text, values)));
    },

    async lockMany(conditions, { rows: limit, bytes }) {
      const params = createSqlParameters();
      const where = conditions.map((condition) => conditionSql(resource, condition, params)).join(' and ');
      const selected = `select ${codec.columns} from ${table} where ${where || 'true'} order by "id" limit ${params.add(limit)} for update`;
      const text = lists.pageWithinBytes(selected, `${params.add(bytes)}::bigint`);
      const rows = await database.write<unknown[]>(statement(text, params.values));
      return {
        records: rows.map(codec.fromRow),
        bytes: rows.reduce((sum, row) => sum + Number(row[width]), 0),
        isCut: rows.at(-1)?.[width + 1] === true,
      };
    },

    async readLocked(id, conditions) {
      const { params, where } = buildIdCondition(id, conditions);
      const text = `select ${codec.columns} from ${table} where ${where} for no key update`;
      const [row] = await database.write(statement(text, params.values));
      return row === undefined ? undefined : codec.fromRow(row);
    },

    async lock(id, conditions = []) {
      const { params, where } = buildIdCondition(id, conditions);
      const rows = await database.write(statement(`select from ${table} where ${where} for update`, params.values));
      return rows.length > 0;
    },

    on: (other) => createStore(resource, codec, other, shared),
  };
}

const MAX_STATEMENT_NAMES = 500;

/**
 * Names statements, so that Postgres prepares each once per connection. Equal texts get equal names. After `MAX_STATEMENT_NAMES` texts,
 * statements stay unnamed: clients choose how filters are combined, and every name costs memory in each connection.
 */
export function createStatementBuilder(): (text: string, values: unknown[], maxBytes?: number) => Statement {
  const known = new Map<string, { name: string; text: string }>();
  return (text, values, maxBytes) => {
    let named = known.get(text);
    if (named === undefined && known.size < MAX_STATEMENT_NAMES) {
      named = { name: `s_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`, text };
      known.set(text, named);
    }
    // The driver compares the text with the prepared one, which takes no time if it is the same string.
    return { name: named?.name, text: named?.text ?? text, values, maxBytes };
  };
}
