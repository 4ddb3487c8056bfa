import { z } from 'zod';
import { isId } from '../../platform/ids.ts';
import { firstWithinBytes } from '../../records/store/within-bytes.ts';
import { COLUMNS, ENTRIES_WITH_VALUES, ROW_SIZE, VALUES_COLUMNS } from './entry.ts';

const DEFAULT_LIMIT = 50;
const MOST = 200;
const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (\d{1,15})$/;

/** Behind which row a page begins. */
export interface Position {
  at: string;
  id: number;
}

/** The cursor behind a row. */
export function cursorBehind({ at, id }: Position): string {
  return Buffer.from(`${at} ${id}`).toString('base64url');
}

/** A time as the database takes it, of the years 1 to 9999; undefined for one that there is not. */
function timeOf(text: string): string | undefined {
  const date = new Date(text);
  const year = date.getUTCFullYear();
  return year >= 1 && year <= 9999 ? date.toISOString() : undefined;
}

function positionOf(cursor: string): Position | undefined {
  const [, at, id] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  // One that means another day (30 February) was never told.
  return at === undefined || timeOf(at) !== at ? undefined : { at, id: Number(id) };
}

const id = z.string().refine(isId, { error: 'Must be an id' });
const word = z.string().regex(/^[a-z][a-z0-9._-]{0,99}$/i, { error: 'Must be a name' });
const timeError = { error: 'Must be a time as 2030-01-31T12:00:00Z' };
const time = z.iso
  .datetime({ offset: true, ...timeError })
  .refine((text) => timeOf(text) !== undefined, timeError)
  .transform((text) => timeOf(text)!);

const after = z
  .string()
  .max(100, { error: 'Must be the "meta.next" of a list' })
  .transform((text, context) => {
    const position = positionOf(text);
    if (position === undefined) context.addIssue({ code: 'custom', message: 'Must be the "meta.next" of a list' });
    return position!;
  });

const limitError = { error: `Must be a whole number from 1 to ${MOST}` };

/** The query of the list. */
export const listQuery = z.strictObject({
  user: id.optional().meta({ description: 'Whose doing it was: the id of a user' }),
  resource: word.optional().meta({ description: 'What it was done to: `post`, `user`, `api-key`, `webhook`' }),
  record: id.optional().meta({ description: 'The id of what it was done to' }),
  action: word
    .optional()
    .meta({ description: '`created`, `updated`, `deleted`, `restored`, or an event: `auth.login`' }),
  from: time.optional().meta({ description: 'The earliest time' }),
  to: time.optional().meta({ description: 'Before this time' }),
  after: after.optional().meta({ description: 'The `meta.next` of the page before' }),
  limit: z.coerce.number(limitError).int(limitError).min(1, limitError).max(MOST, limitError).default(DEFAULT_LIMIT),
});

/** It as the handler gets it. */
export type ListQuery = z.output<typeof listQuery>;

const FILTERS = [
  ['user', 'user_id ='],
  ['resource', 'resource ='],
  ['record', 'record_id ='],
  ['action', 'action ='],
  ['from', 'at >='],
  ['to', 'at <'],
] as const;

const PAGE_COLUMNS = `${COLUMNS}, ${VALUES_COLUMNS}`;
const withinBytes = firstWithinBytes(PAGE_COLUMNS, ROW_SIZE);

/**
 * The statement of a page, newest first, and one more row, which shows that there is another page. After the columns of each row come
 * its bytes, and whether another row followed it.
 *
 * @param bytes about how much is read at most: the first row always, then as long as there is room
 */
export function pageStatement(query: ListQuery, bytes: number): { text: string; values: unknown[] } {
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
  return { text: withinBytes(text, `$${values.push(bytes)}::bigint`), values };
}
