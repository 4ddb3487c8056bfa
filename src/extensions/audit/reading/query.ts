import { z } from 'zod';
import { countParameter, isId, type Queryable, toPage } from '../../../extension/index.ts';
import type { MeasuredPage } from '../../../records/query/sql/within-bytes.ts';
import { createPageWithinBytes } from '../../../records/query/sql/within-bytes.ts';
import {
  ENTRIES_WITH_VALUES,
  ENTRY_COLUMNS,
  type Entry,
  type EntryRow,
  ROW_BYTES_SQL,
  restoreSealedValues,
  toEntry,
  VALUES_COLUMNS,
  type ValuesColumns,
} from '../trail/entry.ts';
import type { AuditEntry } from '../trail/responses.ts';

const CURSOR_FORMAT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (\d{1,15})$/;

/** Time and id of the audit entry after which a page starts. */
export interface EntryPosition {
  at: string;
  id: number;
}

/** Returns the cursor of the page that starts after an audit entry. */
function encodeCursor({ at, id }: EntryPosition): string {
  return Buffer.from(`${at} ${id}`).toString('base64url');
}

/** Converts a time to ISO 8601 in UTC. Returns undefined if the text is no time, or outside the years 1 to 9999. */
function normalizeTime(text: string): string | undefined {
  const date = new Date(text);
  const year = date.getUTCFullYear();
  return year >= 1 && year <= 9999 ? date.toISOString() : undefined;
}

function decodeCursor(cursor: string): EntryPosition | undefined {
  const [, at, id] = CURSOR_FORMAT.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  // A cursor with a date such as 30 February was never issued.
  return at === undefined || normalizeTime(at) !== at ? undefined : { at, id: Number(id) };
}

const id = z.string().refine(isId, { error: 'Must be an id' });
const word = z.string().regex(/^[a-z][a-z0-9._-]{0,99}$/i, { error: 'Must be a name' });
const timeError = { error: 'Must be a time such as 2030-01-31T12:00:00Z' };
const time = z.iso
  .datetime({ offset: true, ...timeError })
  .refine((text) => normalizeTime(text) !== undefined, timeError)
  .transform((text) => normalizeTime(text)!);

const after = z
  .string()
  .max(100, { error: 'Must be the "meta.next" of a previous page' })
  .transform((text, context) => {
    const position = decodeCursor(text);
    if (position === undefined)
      context.addIssue({ code: 'custom', message: 'Must be the "meta.next" of a previous page' });
    return position!;
  });

/** The query parameters of the list of audit entries. */
export const listQuery = z.strictObject({
  user: id.optional().meta({ description: 'The id of the user who performed the action' }),
  resource: word
    .optional()
    .meta({ description: 'The kind of the affected record: `post`, `user`, `api-key`, `webhook`' }),
  record: id.optional().meta({ description: 'The id of the affected record' }),
  action: word
    .optional()
    .meta({ description: '`created`, `updated`, `deleted`, `restored`, or an event: `auth.login`' }),
  from: time.optional().meta({ description: 'The earliest time' }),
  to: time.optional().meta({ description: 'Before this time' }),
  after: after.optional().meta({ description: 'The `meta.next` of the previous page' }),
  limit: countParameter(200, 50),
});

/** The parsed query, as passed to the handler. */
export type ListQuery = z.output<typeof listQuery>;

const FILTERS = [
  ['user', 'user_id ='],
  ['resource', 'resource ='],
  ['record', 'record_id ='],
  ['action', 'action ='],
  ['from', 'at >='],
  ['to', 'at <'],
] as const;

const PAGE_COLUMNS = `${ENTRY_COLUMNS}, ${VALUES_COLUMNS}`;
const limitToBytes = createPageWithinBytes(PAGE_COLUMNS, ROW_BYTES_SQL);

/**
 * Builds the statement of a page, newest first, plus one row that shows whether there is another page. Each row ends with its size in
 * bytes and whether another row followed it.
 *
 * @param bytes approximate maximum size of the page; the first row is always read
 */
function createPageStatement(query: ListQuery, bytes: number): { text: string; values: unknown[] } {
  const values: unknown[] = [query.limit + 1];
  const terms = FILTERS.flatMap(([name, term]) => {
    const value = query[name];
    return value === undefined ? [] : [`${term} $${values.push(value)}`];
  });
  if (query.after !== undefined) {
    const { at, id } = query.after;
    terms.push(`(at, id) < ($${values.push(at)}::timestamptz, $${values.push(id)}::bigint)`);
  }
  const where = terms.length === 0 ? '' : `where ${terms.join(' and ')}`;
  const text = `select ${PAGE_COLUMNS} from ${ENTRIES_WITH_VALUES} ${where} order by at desc, id desc limit $1`;
  return { text: limitToBytes(text, `$${values.push(bytes)}::bigint`), values };
}

type SizedRow = [...EntryRow, ...ValuesColumns, bytes: number, isFollowed: true | null];

/**
 * Creates the function that reads a page of entries, newest first, and one more entry if there is another page.
 *
 * @returns a function whose `bytes` is the approximate maximum size of the page
 */
export function createPageReader({
  readSlowly,
}: Pick<Queryable, 'readSlowly'>): (query: ListQuery, bytes: number) => Promise<MeasuredPage<Entry>> {
  return async (query, bytes) => {
    const sizedRows = await readSlowly<SizedRow>(createPageStatement(query, bytes));
    const records = sizedRows.map((row) => {
      const entry = toEntry(row.slice(0, 14) as EntryRow);
      return { ...entry, changes: restoreSealedValues(entry.changes, row[15]) };
    });
    return { records, bytes: sizedRows.reduce((sum, row) => sum + row[16], 0), isCut: sizedRows.at(-1)?.[17] === true };
  };
}

/** Returns a page of the entries that a page reader returned, and the cursor of the next page. */
export function toEntryPage({ records, isCut }: Pick<MeasuredPage<Entry>, 'records' | 'isCut'>, limit: number) {
  return toPage(records, limit, encodeCursor, isCut);
}

/** The entry without the hashes that chain it to others. */
export function toPublicEntry({ previousHash: _, hash: __, ...entry }: Entry): AuditEntry {
  return entry;
}
