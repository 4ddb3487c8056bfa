import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import type { Queryable } from '../../platform/data/postgres/queryable.ts';
import { MAX_FAST_OFFSET } from '../query/list-query.ts';
import { conditionSql, createSqlParameters, followsRelations } from '../query/sql/conditions.ts';
import {
  createCountStatement,
  createPageStatement,
  holdsWholeTable,
  isOrderedLikeRanges,
} from '../query/sql/list-statements.ts';
import { createRelatedCountStatement, createRelatedStatement } from '../query/sql/related-statements.ts';
import {
  createSearchCountStatement,
  createSearchPageStatement,
  SEARCH_WINDOW_ROWS,
} from '../query/sql/search-window.ts';
import { countRowBytes } from '../query/sql/within-bytes.ts';
import { rangedTotalSql } from '../ranges/read-sql.ts';
import type { StoreStatements } from './statements.ts';
import type { RelatedReads, Store } from './store.ts';

// A page that is certainly smaller is read whole: counting its bytes in Postgres costs more than reading it.
const MAX_WHOLE_PAGE_BYTES = 2 * 1024 * 1024;
// Most pages are smaller, so that many can be read at once. A larger page is read again.
const MAX_SMALL_PAGE_BYTES = 256 * 1024;
// A page has at most one row beyond its limit, which is rarely larger.
const MAX_LAST_ROW_BYTES = 1024 * 1024;
/** The pages after a large one that are not tried as small ones. */
const LARGE_PAGES = 20;

/** The parts of a store that read lists. */
type ListReads = Pick<
  Store,
  'readManyWithin' | 'list' | 'listWithin' | 'count' | 'beginsInRange' | 'searchWithin' | 'countSearched'
>;

/** Creates the reads of a store's lists. */
export function createListReads(
  { resource, codec, width, statement, lists, toPage }: StoreStatements,
  database: Queryable,
): ListReads {
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
      const ranged = cap === undefined && holdsWholeTable(resource, selection);
      if (ranged && lists.ranges.mayBeKept()) {
        const [row] = await database.readList<[number]>(statement(rangedTotalSql(resource.table), []));
        lists.ranges.found(row !== undefined);
        if (row !== undefined) return row[0];
      }
      const { text, values } = createCountStatement(resource, selection, cap);
      // The best plan for counting related records depends on how many they are, so Postgres must not keep a plan that suits other values.
      const counting = followsRelations(text) ? { text, values, maxBytes: 0 } : statement(text, values, 0);
      const [[total]] = (await chooseListReader(slow)<[number]>(counting)) as [[number]];
      if (ranged) lists.ranges.counted(total);
      return total;
    },

    beginsInRange: (selection, offset) =>
      offset > MAX_FAST_OFFSET && lists.ranges.areKept && isOrderedLikeRanges(resource, selection),

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

/** Creates the reads of a store's resource as the target of reverse relations. */
export function createRelatedReads(
  { resource, codec, width, statement, relatedWithinBytes }: StoreStatements,
  database: Queryable,
): RelatedReads {
  return {
    async listRelatedWithin(list, limits, bytes) {
      const { text, values } = createRelatedStatement(resource, codec.columns, list, limits);
      const within = relatedWithinBytes(text, `$${values.length + 1}::bigint`);
      const rows = await database.readList(() => statement(within, [...values, bytes()]));
      return {
        records: rows.map((row) => ({ parent: row[width] as string, record: codec.fromRow(row) })),
        bytes: rows.reduce((sum, row) => sum + (row[width + 1] as number), 0),
        isCut: rows.at(-1)?.[width + 2] === true,
      };
    },

    async countRelated(list, cap) {
      const { text, values } = createRelatedCountStatement(resource, list, cap);
      return new Map(await database.readList<[string, number]>(statement(text, values)));
    },
  };
}
