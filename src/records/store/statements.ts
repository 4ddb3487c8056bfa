import { createHash } from 'node:crypto';
import type { StoredRecord } from '../../declare/host.ts';
import type { Statement } from '../../platform/data/postgres/connection.ts';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import type { ListCondition } from '../query/list-query.ts';
import { conditionSql, createSqlParameters, writtenBySql } from '../query/sql/conditions.ts';
import {
  createPageWithinBytes,
  createSelectWithinBytes,
  type MeasuredPage,
  maxRowBytes,
  rowSizeSql,
} from '../query/sql/within-bytes.ts';
import { RangeUse } from '../ranges/range-use.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { createBatchStatements } from './batch-statements.ts';
import type { Codec } from './codec.ts';
import type { WriteCondition } from './store.ts';
import { createWriteStatements } from './write-statements.ts';

/** The statements of a resource's lists, and what pages have shown about its rows. */
export interface ListStatements {
  selectWithinBytes: ReturnType<typeof createSelectWithinBytes>;
  pageWithinBytes: ReturnType<typeof createPageWithinBytes>;
  searchWithinBytes: ReturnType<typeof createPageWithinBytes>;
  /** The maximum bytes of a row; infinite if the declaration does not limit them, or if a row is larger all the same. */
  maxRowBytes: number;
  /** Whether a page has shown that rows are as small as the declaration says. Rows may be older than that. */
  isConfirmed: boolean;
  /** The number of next pages that are not tried as small ones. */
  largePages: number;
  ranges: RangeUse;
}

/** Prepares the statements of the lists of a resource. */
function createListStatements(resource: CompiledResource, { columns }: Codec): ListStatements {
  const rowSize = rowSizeSql(resource);
  return {
    selectWithinBytes: createSelectWithinBytes(resource, columns),
    pageWithinBytes: createPageWithinBytes(columns, rowSize),
    searchWithinBytes: createPageWithinBytes(`${columns}, "_match", "_last"`, rowSize),
    maxRowBytes: maxRowBytes(resource),
    isConfirmed: false,
    largePages: 0,
    ranges: new RangeUse(),
  };
}

/** What the stores of a resource have in common, also in transactions and on a replica. */
export type StoreStatements = ReturnType<typeof createStoreStatements>;

/** Prepares the statements of a resource. */
export function createStoreStatements(resource: CompiledResource, codec: Codec) {
  // Two transactions that each add several rows could wait for each other's unique values. Without timestamps, the transaction is the version.
  const isUnique = resource.indexes.some(({ unique }) => unique);
  const mayShare = resource.timestamps && !isUnique && resource.constraints.every(({ kind }) => kind === 'check');
  const width = codec.columns.split(', ').length;
  const table = resource.source ?? quoteIdentifier(resource.table);
  const select = `select ${codec.columns} from ${table} where`;
  return {
    resource,
    codec,
    table,
    select,
    selectById: `${select} "id" = $1`,
    /** The number of columns of a record. */
    width,
    /** The table whose inserts may share a transaction with those of other requests; undefined if they may not. */
    sharesTransaction: mayShare ? quoteIdentifier(resource.table) : undefined,
    statement: createStatementBuilder(),
    writes: createWriteStatements(resource, codec),
    batches: createBatchStatements(resource, codec),
    lists: createListStatements(resource, codec),
    relatedWithinBytes: createPageWithinBytes(`${codec.columns}, "_parent"`, rowSizeSql(resource)),

    /** The condition that a record has an id and meets conditions, and its parameters. */
    whereId(id: string, conditions: readonly (WriteCondition | ListCondition)[]) {
      const params = createSqlParameters([id]);
      const terms = conditions.map((condition) =>
        'writers' in condition ? writtenBySql(condition, params) : conditionSql(resource, condition, params),
      );
      return { params, where: ['"id" = $1', ...terms].join(' and ') };
    },

    /** Converts the rows of a statement that ends within some bytes. */
    toPage: (rows: readonly (readonly unknown[])[]): MeasuredPage<StoredRecord> => ({
      records: rows.map(codec.fromRow),
      bytes: rows.reduce((sum, row) => sum + Number(row[width]), 0),
      isCut: rows.at(-1)?.[width + 1] === true,
    }),
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
