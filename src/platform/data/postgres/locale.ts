import type { Logger } from '../../observability/log.ts';
import type { Database } from './database.ts';

const SELECT_FOLDING = `select 'É' ilike 'é', datcollate, datctype from pg_database where datname = current_database()`;

/** The consequence of a locale that knows only ASCII, and what to do about it. */
export const CASE_PROBLEM = 'searches find É and é only as they are written';
export const CASE_FIX =
  'create the database again with a locale that knows all letters, such as C.UTF-8 (docs/operate/deployment.md#create-the-database)';

/**
 * Returns the name of the database's locale if its case-insensitive comparison knows only ASCII letters, as that of the locale `C` does;
 * undefined if it knows all letters.
 */
export async function findAsciiOnlyLocale(database: Pick<Database, 'write'>): Promise<string | undefined> {
  const [row] = await database.write<[boolean, string, string]>({ text: SELECT_FOLDING, values: [] });
  const [folds, collate, ctype] = row!;
  return folds ? undefined : ctype || collate;
}

/** Warns about a database whose locale knows only ASCII letters. */
export async function warnIfLocaleIsAsciiOnly(database: Pick<Database, 'write'>, log: Logger): Promise<void> {
  const locale = await findAsciiOnlyLocale(database);
  if (locale !== undefined) log.warn(`the database has the locale ${locale}, so ${CASE_PROBLEM}; ${CASE_FIX}`);
}
