import type { Executor } from '../../platform/data/postgres/queryable.ts';

/**
 * The functions with which SQL reads the time, and how Postgres may evaluate them. Each is replaced by a function of the schema `public`
 * that adds the offset of the clock.
 */
const TIME_FUNCTIONS = { now: 'stable', clock_timestamp: 'volatile' };

/** The functions of `public` must be found before those of Postgres. */
export const SEARCH_PATH = 'public, pg_catalog';

/** Returns the statements that move the clock of a database. Postgres inlines the functions, so a shifted clock costs nothing. */
export function clockStatements(offsetMs: number): string[] {
  return Object.entries(TIME_FUNCTIONS).map(
    ([name, volatility]) =>
      `create or replace function public.${name}() returns timestamp with time zone language sql ${volatility} parallel safe
         return pg_catalog.${name}() + interval '${offsetMs} milliseconds'`,
  );
}

/** Moves the clock of the database of an app, for all of its sessions. */
export async function setDatabaseClock(database: Executor, offsetMs: number): Promise<void> {
  for (const text of clockStatements(offsetMs)) await database.write({ text, values: [] });
}
