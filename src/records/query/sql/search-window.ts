import type { CompiledResource } from '../../schema/compiled.ts';
import type { ListCondition } from '../list-query.ts';
import { createPageStatement, type SelectedList, type Slice, type UnnamedStatement } from './list-statements.ts';

/**
 * The number of rows that a search in a window examines: the next rows of the list. So the search finds the records that the list shows
 * first, and a cursor after the last row of the window continues it.
 */
export const SEARCH_WINDOW_ROWS = 20_000;

/** A list with a search that examines a window of its rows. */
export interface WindowedList extends SelectedList {
  search: ListCondition;
}

/** The rows of the window in list order; `_match` tells whether the search finds the row. */
function createWindowStatement(
  resource: CompiledResource,
  columns: string,
  list: WindowedList,
  after: Slice['after'],
): UnnamedStatement {
  return createPageStatement(resource, columns, list, { limit: SEARCH_WINDOW_ROWS, offset: 0, after }, list.search);
}

/**
 * The statement of a page of a search in a window. It also returns the last row of a full window, even if the search does not find it,
 * because the list continues after that row. It adds two columns: `_match` (whether the row belongs to the page) and `_last` (whether it is
 * the last of a full window).
 */
export function createSearchPageStatement(
  resource: CompiledResource,
  columns: string,
  list: WindowedList,
  { limit, offset, after }: Slice,
): UnnamedStatement {
  const { text, values } = createWindowStatement(resource, columns, list, after);
  const [skipped, most] = [`$${values.push(offset)}::bigint`, `$${values.push(limit)}::bigint`];
  const numbered = `select *, row_number() over () = ${SEARCH_WINDOW_ROWS} as "_last",
    count(*) filter (where "_match") over (rows unbounded preceding) as "_found" from (${text}) "_window"`;
  const isOnPage = `"_match" and "_found" > ${skipped}`;
  return {
    text: `select ${columns}, ${isOnPage} as "_match", "_last" from (${numbered}) "_searched"
      where ${isOnPage} or "_last" limit ${most}`,
    values,
  };
}

/** The statement that counts the first window of a search. It returns the number of matches and of rows. */
export function createSearchCountStatement(resource: CompiledResource, list: WindowedList): UnnamedStatement {
  const { text, values } = createWindowStatement(resource, '"id"', list, undefined);
  return { text: `select count(*) filter (where "_match"), count(*) from (${text}) "_window"`, values };
}
