import type { StoredRecord } from '../../declare/host.ts';
import type { Statement } from '../../platform/data/postgres/connection.ts';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import type { Queryable } from '../../platform/data/postgres/queryable.ts';
import { conditionSql, createSqlParameters, followsRelations } from '../query/sql/conditions.ts';
import { createCountStatement, createPageStatement } from '../query/sql/list-statements.ts';
import {
  createSearchCountStatement,
  createSearchPageStatement,
  SEARCH_WINDOW_ROWS,
} from '../query/sql/search-window.ts';
import type { MeasuredPage } from '../query/sql/within-bytes.ts';
import {
  countRowBytes,
  createPageWithinBytes,
  createSelectWithinBytes,
  maxRowBytes,
  rowSizeSql,
} from '../query/sql/within-bytes.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import type { Codec } from './codec.ts';
import type { Store } from './store.ts';

// A page that is certainly smaller is read whole: counting its bytes in Postgres costs more than reading it.
const MAX_WHOLE_PAGE_BYTES = 2 * 1024 * 1024;
// Most pages are smaller, and many can then be read at once. A larger page is read again.
const MAX_SMALL_PAGE_BYTES = 256 * 1024;
// A page has at most one row beyond its limit, which is rarely larger.
const MAX_LAST_ROW_BYTES = 1024 * 1024;
/** The pages after a large one that are not tried as small ones. */
const LARGE_PAGES = 20;

/** The parts of a store that read lists. */
type ListReads = Pick<Store, 'readManyWithin' | 'list' | 'listWithin' | 'count' | 'searchWithin' | 'countSearched'>;

/** Dependencies of a resource's lists, which lists in transactions and on a replica share. */
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
}

/** Prepares the statements of the lists of a resource. */
export function createListStatements(resource: CompiledResource, { columns }: Codec): ListStatements {
  const rowSize = rowSizeSql(resource);
  return {
    selectWithinBytes: createSelectWithinBytes(resource, columns),
    pageWithinBytes: createPageWithinBytes(columns, rowSize),
    searchWithinBytes: createPageWithinBytes(`${columns}, "_match", "_last"`, rowSize),
    maxRowBytes: maxRowBytes(resource),
    isConfirmed: false,
    largePages: 0,
  };
}

/** Creates the reads of a store's lists. */
export function createListReads(
  resource: CompiledResource,
  codec: Codec,
  database: Queryable,
  statement: (text: string, values: unknown[], maxBytes?: number) => Statement,
  lists: ListStatements,
): ListReads {
  const width = codec.columns.split(', ').length;

  const chooseListReader = (slow: boolean) => (slow ? database.readSlowly : database.readList);

  /** Reads rows that are certainly small enough to be read whole. */
  async function readWhole(text: string, values: unknown[], maxBytes: number, slow = false) {
    const rows = await chooseListReader(slow)(statement(text, values, lists.isConfirmed ? maxBytes : undefined));
    const bytes = rows.reduce((sum, row) => sum + countRowBytes(row), 0);
    // Own SQL has written larger values, or the declaration has allowed them before.
    if (bytes > maxBytes) lists.maxRowBytes = Number.POSITIVE_INFINITY;
    else if (rows.length > 0) lists.isConfirmed = true;
    return { records: rows.map(codec.fromRow), bytes, isCut: false };
  }

  function toPage(rows: readonly (readonly unknown[])[]): MeasuredPage<StoredRecord> {
    return {
      records: rows.map(codec.fromRow),
      bytes: rows.reduce((sum, row) => sum + Number(row[width]), 0),
      isCut: rows.at(-1)?.[width + 1] === true,
    };
  }

  /** Reads a page that is small; undefined if it is larger. Its rows must not be kept while the larger page is read. */
  async function readSmall(text: string, values: unknown[]) {
    const maxBytes = MAX_SMALL_PAGE_BYTES + MAX_LAST_ROW_BYTES;
    const page = toPage(await database.readList(statement(text, [...values, MAX_SMALL_PAGE_BYTES], maxBytes)));
    return page.isCut ? undefined : page;
  }

  return {
    async readManyWithin(ids, conditions, bytes) {
      const params = createSqlParameters([ids]);
      const terms = conditions.map((condition) => conditionSql(resource, condition, params));
      const where = ['"id" = any($1)', ...terms].join(' and ');
      const maxBytes = ids.length * lists.maxRowBytes;
      if (maxBytes <= MAX_SMALL_PAGE_BYTES) {
        const text = `select ${codec.columns} from ${quoteIdentifier(resource.table)} where ${where}`;
        return readWhole(text, params.values, maxBytes);
      }
      const text = lists.selectWithinBytes(where, `$${params.values.length + 1}::bigint`);
      // Only a few of these reads run at a time, like reads of lists. Compute the bytes when the read is sent: by then, other responses may
      // have left less room.
      return toPage(await database.readList(() => statement(text, [...params.values, bytes()])));
    },

    async list(selection, slice, slow) {
      const { text, values } = createPageStatement(resource, codec.columns, selection, slice);
      return (await chooseListReader(slow)(statement(text, values))).map(codec.fromRow);
    },

    async listWithin(selection, slice, slow, bytes) {
      const { text, values } = createPageStatement(resource, codec.columns, selection, slice);
      const maxBytes = slice.limit * lists.maxRowBytes;
      if (maxBytes <= MAX_WHOLE_PAGE_BYTES) return readWhole(text, values, maxBytes, slow);
      const within = lists.pageWithinBytes(text, `$${values.length + 1}::bigint`);
      if (!slow && lists.largePages === 0) {
        const page = await readSmall(within, values);
        if (page !== undefined) return page;
        lists.largePages = LARGE_PAGES;
      } else if (!slow) lists.largePages -= 1;
      const limitedStatement = () => statement(within, [...values, bytes()]);
      return toPage(await (slow ? database.readSlowly(limitedStatement()) : database.readList(limitedStatement)));
    },

    async count(selection, slow, cap) {
      const { text, values } = createCountStatement(resource, selection, cap);
      // The best plan for counting related records depends on how many they are, so Postgres must not keep a plan that suits other values.
      const counting = followsRelations(text) ? { text, values, maxBytes: 0 } : statement(text, values, 0);
      return (await chooseListReader(slow)<[number]>(counting))[0]![0];
    },

    async searchWithin(list, slice, bytes) {
      const { text, values } = createSearchPageStatement(resource, codec.columns, list, slice);
      const within = lists.searchWithinBytes(text, `$${values.length + 1}::bigint`);
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
  };
}
