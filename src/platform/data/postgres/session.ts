import type pg from 'pg';
import { typeParsers } from './values.ts';

/** What stands between this process and Postgres: the setting DATABASE_POOLER. */
export type PoolerSetting = 'auto' | 'none' | 'session' | 'transaction';

/** The time limit of a statement in ms. */
export const STATEMENT_TIMEOUT_MS = 15_000;
/** Code that stalls inside a transaction must not keep its locks forever. */
export const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000;
const CONNECT_TIMEOUT_MS = 3000;

/** The formats that `typeParsers` and `quoteLiteral` rely on. */
export const FORMATS = {
  timezone: 'UTC',
  datestyle: 'ISO',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
} as const;

/**
 * The formats that PgBouncer accepts as startup parameters, and sets in every session that serves the connection. It compares them with
 * what Postgres reports, so they are written as Postgres does: otherwise it would set them again before each transaction.
 */
export const POOLER_FORMATS = {
  TimeZone: FORMATS.timezone,
  DateStyle: 'ISO, MDY',
  standard_conforming_strings: FORMATS.standard_conforming_strings,
} as const;

/**
 * How statements are planned. Without JIT compilation: no statement runs long enough to gain from it, and for a large table, or one without
 * statistics, Postgres expects so many rows that compiling takes a hundred times as long as the statement itself.
 */
const PLANNING = { jit: 'off' } as const;

/** The session settings of a role behind a pooler, which accepts none from its clients. */
export const ROLE_SETTINGS: Readonly<Record<string, string>> = {
  ...FORMATS,
  ...PLANNING,
  statement_timeout: `${STATEMENT_TIMEOUT_MS}ms`,
  idle_in_transaction_session_timeout: `${IDLE_IN_TRANSACTION_TIMEOUT_MS}ms`,
};

/** Sets the session settings on a connection that keeps its session, for a pooler that accepts none at the start. */
export const SET_SESSION = Object.entries(ROLE_SETTINGS)
  .map(([name, value]) => `set ${name} = '${value}'`)
  .join('; ');

/**
 * Whether the session prints and reads values in these formats, tested by their effect: time zones without an offset
 * have many names. A date in winter and one in summer.
 */
export const HAS_FORMATS = `
  '2000-01-01 00:00:00+00'::timestamptz::text = '2000-01-01 00:00:00+00'
  and '2000-07-01 00:00:00+00'::timestamptz::text = '2000-07-01 00:00:00+00'
  and (0.1::float8 + 0.2::float8)::text = '0.30000000000000004'
  and current_setting('standard_conforming_strings') = 'on'`;

/** Adds the session settings to the options of a database URL. The later of two values wins: the options can replace `PLANNING`, but no format. */
function addSettings(url: string): string {
  const address = new URL(url);
  const given = address.searchParams.get('options');
  const optionsOf = (settings: Readonly<Record<string, string>>) =>
    Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  const options = [...optionsOf(PLANNING), ...(given === null ? [] : [given]), ...optionsOf(FORMATS)];
  address.searchParams.set('options', options.join(' '));
  return address.href;
}

/**
 * Returns the configuration of a connection.
 *
 * @param name the application name in pg_stat_activity
 * @param startup whether the settings of the session are sent as startup parameters, which poolers refuse
 */
export function createClientConfig(url: string, name: string, startup: boolean): pg.ClientConfig {
  return {
    connectionString: startup ? addSettings(url) : url,
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    ...(startup && {
      statement_timeout: STATEMENT_TIMEOUT_MS,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    }),
    keepAlive: true,
    types: typeParsers,
  };
}

/** Whether an error says that a pooler refused the startup parameters of a connection. */
export function isStartupParameterRefused(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return code === '08P01' && /startup parameter/i.test(message ?? '');
}
