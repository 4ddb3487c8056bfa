import type { Host } from '../../../extension/index.ts';
import type { SlowStatement } from '../../../platform/work/processes/facts.ts';
import { withoutValues } from '../../../platform/work/processes/statement-text.ts';
import type { ListedRequest, SlowWork, StatementStatistics } from './responses.ts';

const MAX_REQUESTS = 100;
const MAX_STATEMENTS = 50;

const IS_INSTALLED = `select extnamespace::regnamespace::text from pg_extension where extname = 'pg_stat_statements'`;
const MAX_TEXT = 1000;
/** Postgres keeps the values of other statements in their texts, such as passwords in names of settings, so these are left out. */
const MAX_READ = 4 * MAX_STATEMENTS;
const LISTED =
  /^\(*\s*(select|insert|update|delete|merge|with|values|table|begin|start|commit|end|rollback|savepoint|release|vacuum|analyze|truncate|refresh|fetch|lock|reindex)\b/i;
/** The text that Postgres returns for statements of users that the app's user may not see. */
const NOT_PERMITTED = '<insufficient privilege>';

const selectStatements = (schema: string) => `
  select left(query, ${4 * MAX_TEXT}), calls::float8, total_exec_time, mean_exec_time, max_exec_time, rows::float8
  from ${schema}.pg_stat_statements
  where dbid = (select oid from pg_database where datname = current_database()) and toplevel
  order by total_exec_time desc limit ${MAX_READ}`;

type StatisticsRow = [text: string, calls: number, totalMs: number, meanMs: number, maxMs: number, rows: number];

/** Removes requests that are in the list twice, because they are among the newest and the slowest of their process. */
function removeDuplicates(requests: readonly ListedRequest[]): ListedRequest[] {
  return [...new Map(requests.map((one) => [`${one.process} ${one.requestId} ${one.at} ${one.ms}`, one])).values()];
}

/** Adds up the runs of statements with the same text in several processes. */
function mergeStatements(lists: readonly (readonly SlowStatement[])[]): SlowStatement[] {
  const byText = Map.groupBy(lists.flat(), ({ text }) => text);
  const merged = [...byText].map(([text, runs]) => ({
    text,
    calls: runs.reduce((sum, { calls }) => sum + calls, 0),
    totalMs: runs.reduce((sum, { totalMs }) => sum + totalMs, 0),
    maxMs: Math.max(...runs.map(({ maxMs }) => maxMs)),
    rows: runs.reduce((sum, { rows }) => sum + rows, 0),
    lastAt: runs.map(({ lastAt }) => lastAt).reduce((a, b) => (a > b ? a : b)),
  }));
  return merged.sort((a, b) => b.totalMs - a.totalMs).slice(0, MAX_STATEMENTS);
}

/**
 * Reads the slow requests and statements of all processes, including this process up to now. Two round trips to Redis.
 *
 * @throws the error of Redis if it is not usable
 */
export async function readSlowWork({ processes, slowLog }: Pick<Host, 'processes' | 'slowLog'>): Promise<SlowWork> {
  await processes.refresh();
  const { processes: running } = await processes.list({ withSlow: true });
  const collect = (name: 'newest' | 'slowest') =>
    running.flatMap(({ id, slow }) => (slow?.[name] ?? []).map((request) => ({ ...request, process: id })));
  const requests = removeDuplicates([...collect('newest'), ...collect('slowest')]);
  return {
    thresholds: { requestMs: slowLog.requestMs, statementMs: slowLog.statementMs },
    newest: requests.toSorted((a, b) => b.at.localeCompare(a.at)).slice(0, MAX_REQUESTS),
    slowest: requests.toSorted((a, b) => b.ms - a.ms).slice(0, MAX_REQUESTS),
    statements: mergeStatements(running.map(({ slow }) => slow?.statements ?? [])),
  };
}

/**
 * Returns the texts of pg_stat_statements as the page shows them: statements that read or write rows, and a few others that contain no values,
 * each without values.
 */
function toListedStatements(rows: readonly StatisticsRow[]): StatementStatistics['statements'] {
  return rows
    .map(([text, calls, totalMs, meanMs, maxMs, count]) => ({
      ...{ text: withoutValues(text, MAX_TEXT), calls, totalMs, meanMs, maxMs },
      rows: count,
    }))
    .filter(({ text }) => LISTED.test(text) || text === NOT_PERMITTED)
    .slice(0, MAX_STATEMENTS);
}

/** Reads pg_stat_statements, if the database has it, without values. Two statements. */
export async function readStatementStatistics({ database }: Pick<Host, 'database'>): Promise<StatementStatistics> {
  const [installed] = await database.readSlowly<[string]>({ text: IS_INSTALLED, values: [] });
  if (installed === undefined) return { missing: 'not installed', statements: [] };
  try {
    const rows = await database.readSlowly<StatisticsRow>({ text: selectStatements(installed[0]), values: [] });
    return { statements: toListedStatements(rows) };
  } catch (error) {
    const { code } = error as { code?: string };
    // The library is not in shared_preload_libraries.
    if (code === '55000') return { missing: 'not loaded', statements: [] };
    if (code === '42501') return { missing: 'not permitted', statements: [] };
    throw error;
  }
}
