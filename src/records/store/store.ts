import { createHash } from 'node:crypto';
import type { StoredRecord } from '../../declare/host.ts';
import type { Statement } from '../../platform/postgres/connection.ts';
import { quoteIdentifier } from '../../platform/postgres/identifiers.ts';
import type { Queryable } from '../../platform/postgres/queryable.ts';
import type { Values } from '../operations/validate.ts';
import type { Condition, DeletedUnderCondition, ListCondition } from '../query/list-query.ts';
import {
  createSearchCountStatement,
  createSearchPageStatement,
  SEARCH_WINDOW_ROWS,
  type WindowedList,
} from '../query/search-window.ts';
import {
  conditionSql,
  createCountStatement,
  createPageStatement,
  createSqlParameters,
  type SelectedList,
  type Slice,
  type WrittenByCondition,
  writtenBySql,
} from '../query/sql.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import type { MeasuredPage } from '../serialize/response-bytes.ts';
import { type BatchChange, createBatchStatements } from './batch-statements.ts';
import type { Codec } from './codec.ts';
import { type Cause, createEventValues } from './event.ts';
import { createPageWithinBytes, createSelectWithinBytes, rowSizeSql } from './within-bytes.ts';
import { archiveParameterValues, createWriteStatements, type WriteResult } from './write-statements.ts';

/** Limits which records a write can reach. */
export type WriteCondition = Condition | DeletedUnderCondition | WrittenByCondition;

/** A page of a search that examines only some rows. */
export interface SearchedPage extends MeasuredPage<StoredRecord> {
  end: StoredRecord | undefined;
}

/** The records of a resource in Postgres. No policy is applied here; `conditions` limit which records a call can reach. */
export interface Store {
  read(id: string, conditions?: readonly ListCondition[]): Promise<StoredRecord | undefined>;
  /** Records by id, in no particular order; unknown ids are left out. One query. */
  readMany(ids: readonly string[]): Promise<StoredRecord[]>;
  /**
   * Like `readMany`, up to a size.
   *
   * @param bytes called when the records are read; returns about how many bytes to read at most. The first record is always read
   * @returns the records, and their size in bytes as Postgres stores them
   */
  readManyWithin(
    ids: readonly string[],
    conditions: readonly Condition[],
    bytes: () => number,
  ): Promise<Omit<MeasuredPage<StoredRecord>, 'isCut'>>;
  /** A slice of a sorted list. @param slow whether the query may scan */
  list(selection: SelectedList, slice: Slice, slow: boolean): Promise<StoredRecord[]>;
  /**
   * Like `list`, up to a size.
   *
   * @param bytes called when the list is read; returns about how many bytes to read at most. The first record is always read
   */
  listWithin(
    selection: SelectedList,
    slice: Slice,
    slow: boolean,
    bytes: () => number,
  ): Promise<MeasuredPage<StoredRecord>>;
  /** Counts a list. @param cap stop counting at this number */
  count(selection: SelectedList, slow: boolean, cap?: number): Promise<number>;
  /**
   * Like `listWithin`, for a search that examines only the next rows of the list.
   *
   * @returns also `end`, the last examined row, if the list may continue after it and the page includes all matches up to it
   */
  searchWithin(list: WindowedList, slice: Slice, bytes: () => number): Promise<SearchedPage>;
  /** Counts the matches of such a search in the first rows of the list. `isFull`: more rows may follow. */
  countSearched(list: WindowedList): Promise<{ matches: number; isFull: boolean }>;
  insert(id: string, values: Values, cause: Cause): Promise<StoredRecord>;
  /** Returns undefined if no record with that id meets the conditions. */
  update(
    id: string,
    changes: Values,
    conditions: readonly WriteCondition[],
    cause: Cause,
  ): Promise<WriteResult | undefined>;
  /**
   * Deletes a record; with soft delete, moves the record to the archive.
   *
   * @param under the privileges under which a viewer who does not own the record deletes it; stored in the archive
   */
  remove(
    id: string,
    conditions: readonly WriteCondition[],
    cause: Cause,
    under: readonly string[],
  ): Promise<StoredRecord | undefined>;
  /** Restores a record from the archive. The conditions apply to the archived row. */
  restore(id: string, conditions: readonly WriteCondition[], cause: Cause): Promise<StoredRecord | undefined>;
  /**
   * Writes changes and their events, in order, in one statement. The caller has locked the records that it updates or deletes.
   *
   * @param under the privileges under which a viewer who does not own the records deletes them; stored in the archive
   * @returns a result per change; undefined for a record that conflicts with another one and was not created
   */
  writeMany(
    changes: readonly BatchChange[],
    cause: Cause,
    under: readonly string[],
  ): Promise<(WriteResult | undefined)[]>;
  /**
   * Locks records against concurrent changes until the transaction ends, in the order of their ids, and reads them.
   *
   * @param limits `rows`: the maximum number of records; `bytes`: about how many bytes to read at most
   */
  lockMany(
    conditions: readonly ListCondition[],
    limits: { rows: number; bytes: number },
  ): Promise<MeasuredPage<StoredRecord>>;
  /** Locks a record against concurrent changes until the transaction ends. */
  lock(id: string): Promise<void>;
  /** The same records through another connection, that of a transaction. */
  on(database: Queryable): Store;
}

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
    selectWithinBytes: createSelectWithinBytes(resource, codec.columns),
    pageWithinBytes: createPageWithinBytes(codec.columns, rowSizeSql(resource)),
    searchWithinBytes: createPageWithinBytes(`${codec.columns}, "_match", "_last"`, rowSizeSql(resource)),
  },
): Store {
  const {
    name: statement,
    writeStatements,
    batchStatements,
    selectWithinBytes,
    pageWithinBytes,
    searchWithinBytes,
  } = shared;
  const table = resource.source ?? quoteIdentifier(resource.table);
  const width = codec.columns.split(', ').length;

  const chooseListReader = (slow: boolean) => (slow ? database.readSlowly : database.readList);

  const buildIdCondition = (id: string, conditions: readonly (WriteCondition | ListCondition)[]) => {
    const params = createSqlParameters([id]);
    const terms = conditions.map((condition) =>
      'writers' in condition ? writtenBySql(condition, params) : conditionSql(resource, condition, params),
    );
    return { params, where: ['"id" = $1', ...terms].join(' and ') };
  };

  return {
    async read(id, conditions = []) {
      const { params, where } = buildIdCondition(id, conditions);
      const rows = await database.read(
        statement(`select ${codec.columns} from ${table} where ${where}`, params.values),
      );
      return rows[0] === undefined ? undefined : codec.fromRow(rows[0]);
    },

    async readMany(ids) {
      const run = ids.length > MAX_IMMEDIATE_IDS ? database.readList : database.read;
      const rows = await run(statement(`select ${codec.columns} from ${table} where "id" = any($1)`, [ids]));
      return rows.map(codec.fromRow);
    },

    async readManyWithin(ids, conditions, bytes) {
      const params = createSqlParameters([ids]);
      const terms = conditions.map((condition) => conditionSql(resource, condition, params));
      const text = selectWithinBytes(
        ['"id" = any($1)', ...terms].join(' and '),
        `$${params.values.length + 1}::bigint`,
      );
      // Only a few of these reads run at a time, like reads of lists. Compute the bytes when the read is sent: by then, other responses may
      // have left less room.
      const rows = await database.readList(() => statement(text, [...params.values, bytes()]));
      return {
        records: rows.map(codec.fromRow),
        bytes: rows.reduce((sum, row) => sum + Number(row[width]), 0),
      };
    },

    async list(selection, slice, slow) {
      const { text, values } = createPageStatement(resource, codec.columns, selection, slice);
      return (await chooseListReader(slow)(statement(text, values))).map(codec.fromRow);
    },

    async listWithin(selection, slice, slow, bytes) {
      const { text, values } = createPageStatement(resource, codec.columns, selection, slice);
      const within = pageWithinBytes(text, `$${values.length + 1}::bigint`);
      const limitedStatement = () => statement(within, [...values, bytes()]);
      const rows = await (slow ? database.readSlowly(limitedStatement()) : database.readList(limitedStatement));
      return {
        records: rows.map(codec.fromRow),
        bytes: rows.reduce((sum, row) => sum + (row[width] as number), 0),
        isCut: rows.at(-1)?.[width + 1] === true,
      };
    },

    async count(selection, slow, cap) {
      const { text, values } = createCountStatement(resource, selection, cap);
      return (await chooseListReader(slow)<[number]>(statement(text, values)))[0]![0];
    },

    async searchWithin(list, slice, bytes) {
      const { text, values } = createSearchPageStatement(resource, codec.columns, list, slice);
      const within = searchWithinBytes(text, `$${values.length + 1}::bigint`);
      const rows = await database.readSlowly<unknown[]>(statement(within, [...values, bytes()]));
      const last = rows.at(-1);
      return {
        records: rows.filter((row) => row[width] === true).map(codec.fromRow),
        bytes: rows.reduce((sum, row) => sum + (row[width + 2] as number), 0),
        isCut: last?.[width + 3] === true,
        end: last?.[width + 1] === true ? codec.fromRow(last) : undefined,
      };
    },

    async countSearched(list) {
      const { text, values } = createSearchCountStatement(resource, list);
      const [row] = await database.readSlowly<[number, number]>(statement(text, values));
      return { matches: row![0], isFull: row![1] === SEARCH_WINDOW_ROWS };
    },

    async insert(id, values, cause) {
      const fields = resource.fields.map((field) => codec.toColumn(field, values[field.name], id));
      const parameterValues = [id, ...fields, ...createEventValues(resource, 'created', cause)];
      const rows = await database.write(statement(writeStatements.insert, parameterValues));
      return codec.fromRow(rows[0]!);
    },

    async update(id, changes, conditions, cause) {
      const { params, where } = buildIdCondition(id, conditions);
      // List the fields in declared order, whatever their order in the body, so that fewer distinct statements are prepared.
      const changed = resource.fields.filter((field) => Object.hasOwn(changes, field.name));
      const text = writeStatements.update(changed, where, params.values.length);
      const fields = changed.map((field) => codec.toColumn(field, changes[field.name], id));
      const parameterValues = [...params.values, ...fields, ...createEventValues(resource, 'updated', cause)];
      const [row] = await database.write(statement(text, parameterValues));
      if (row === undefined) return undefined;
      const [record, previous] = codec.fromChange(row, row.slice(width));
      return { record: record!, previous: previous! };
    },

    async remove(id, conditions, cause, under) {
      const { params, where } = buildIdCondition(id, conditions);
      const text = writeStatements.remove(where, params.values.length);
      const kept = archiveParameterValues(resource, cause.userId, under);
      const parameterValues = [...params.values, ...kept, ...createEventValues(resource, 'deleted', cause)];
      const [row] = await database.write(statement(text, parameterValues));
      return row === undefined ? undefined : codec.fromChange(row)[0];
    },

    async restore(id, conditions, cause) {
      const { params, where } = buildIdCondition(id, conditions);
      const text = writeStatements.restore(where, params.values.length);
      const [row] = await database.write(
        statement(text, [...params.values, ...createEventValues(resource, 'restored', cause)]),
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
      const text = pageWithinBytes(selected, `${params.add(bytes)}::bigint`);
      const rows = await database.write<unknown[]>(statement(text, params.values));
      return {
        records: rows.map(codec.fromRow),
        bytes: rows.reduce((sum, row) => sum + Number(row[width]), 0),
        isCut: rows.at(-1)?.[width + 1] === true,
      };
    },

    async lock(id) {
      await database.write(statement(`select from ${table} where "id" = $1 for update`, [id]));
    },

    on: (other) => createStore(resource, codec, other, shared),
  };
}

const MAX_STATEMENT_NAMES = 500;

/**
 * Names statements, so that Postgres prepares each once per connection. Equal texts get equal names. After `MAX_STATEMENT_NAMES` texts,
 * statements stay unnamed: clients choose how filters are combined, and every name costs memory in each connection.
 */
function createStatementBuilder(): (text: string, values: unknown[]) => Statement {
  const names = new Map<string, string>();
  return (text, values) => {
    let name = names.get(text);
    if (name === undefined && names.size < MAX_STATEMENT_NAMES) {
      name = `s_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
      names.set(text, name);
    }
    return name === undefined ? { text, values } : { name, text, values };
  };
}
