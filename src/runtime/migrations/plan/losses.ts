import type { Client } from 'pg';
import { quoteIdentifier } from '../../../platform/data/postgres/identifiers.ts';
import { StartupError } from '../../../platform/helpers/config-errors.ts';
import { findEarlierNames } from './column-changes.ts';
import type { DeclaredFacts } from './declared.ts';
import type { Renames } from './renames.ts';
import type { Snapshot, TableShape } from './snapshot.ts';

/** A table or a column that is to be dropped, by the name that it has in the database. */
export interface Loss {
  table: string;
  /** Undefined for a whole table. */
  column: string | undefined;
  /** New columns of the table, or new tables, that might be the dropped column or table under a new name. */
  candidates: readonly string[];
}

// Columns that most tables have. They do not show whether a new table is a dropped one under a new name.
const COMMON = new Set(['id', 'created_at', 'updated_at']);

function listDistinctiveColumns(table: TableShape): Set<string> {
  return new Set(Object.keys(table.columns).filter((name) => !COMMON.has(name)));
}

/** Whether at least half of a table's columns exist in another table with the same name and type. */
function hasSimilarColumns(removed: TableShape, added: TableShape): boolean {
  const own = [...listDistinctiveColumns(removed)];
  const shared = own.filter((name) => added.columns[name]?.type === removed.columns[name]!.type);
  return shared.length > 0 && shared.length * 2 >= own.length;
}

/** Finds new columns that may be a dropped column under a new name: columns of its type, and of its kind if there are any. */
function findRenameCandidates(
  before: Snapshot,
  table: TableShape,
  removed: string,
  after: TableShape,
  declared: DeclaredFacts,
) {
  const kept = before.belfry?.columns[`${table.name}.${removed}`];
  if (kept?.bound !== undefined) return [];
  const added = Object.values(after.columns).filter(({ name, type }) => {
    if (table.columns[name] !== undefined || type !== table.columns[removed]!.type) return false;
    return declared.columns.get(`${table.name}.${name}`)?.bound === undefined;
  });
  const alike = added.filter(({ name }) => declared.columns.get(`${table.name}.${name}`)?.kind === kept?.kind);
  return (alike.length > 0 ? alike : added).map(({ name }) => name);
}

/**
 * Finds the tables and columns that are dropped between two descriptions.
 *
 * @param before the earlier description, with all renames applied
 */
export function findLosses(before: Snapshot, after: Snapshot, declared: DeclaredFacts, renames: Renames): Loss[] {
  const added = Object.entries(after.tables).flatMap(([key, table]) =>
    before.tables[key] === undefined ? [table] : [],
  );
  return Object.entries(before.tables).flatMap(([key, table]): Loss[] => {
    const next = after.tables[key];
    if (next === undefined) {
      const candidates = added.filter((candidate) => hasSimilarColumns(table, candidate)).map(({ name }) => name);
      return [{ table: table.name, column: undefined, candidates }];
    }
    const removed = Object.keys(table.columns).filter((name) => next.columns[name] === undefined);
    return removed.map((name) => ({
      ...findEarlierNames(renames, table.name, name),
      candidates: findRenameCandidates(before, table, name, next, declared),
    }));
  });
}

/** Which undeclared tables and columns are dropped: none, those without values, or all. */
export type MayDrop = 'nothing' | 'empty' | 'anything';

/** A table or column to be dropped, and the number of rows with a value in it. */
interface CountedLoss extends Loss {
  rows: number;
}

async function countLostRows(client: Client, losses: readonly Loss[]): Promise<CountedLoss[]> {
  const found: CountedLoss[] = [];
  for (const [table, own] of Map.groupBy(losses, (loss) => loss.table)) {
    const counts = own.map(({ column }) => (column === undefined ? 'count(*)' : `count(${quoteIdentifier(column)})`));
    const text = `select ${counts.join(', ')} from ${quoteIdentifier(table)}`;
    const { rows } = await client.query<string[]>({ text, rowMode: 'array' });
    found.push(...own.map((loss, i) => ({ ...loss, rows: Number(rows[0]![i]) })));
  }
  return found;
}

function formatLossName({ table, column }: Loss): string {
  return column === undefined ? `table ${table}` : `${table}.${column}`;
}

function explainLoss(loss: CountedLoss): string {
  const { table, column, candidates, rows } = loss;
  const count = `${rows} ${rows === 1 ? 'row' : 'rows'}`;
  const held = column === undefined ? `it has ${count}` : `${count} ${rows === 1 ? 'holds' : 'hold'} a value`;
  const now = candidates.length > 0 ? `was renamed to ${candidates.join(' or ')}` : 'was renamed';
  return `${formatLossName(loss)}: ${held}; if it ${now}, declare that with renamedFrom('${column ?? table}')`;
}

/**
 * Decides about tables and columns that are no longer declared.
 *
 * @returns the tables and columns that may be dropped although they contain values, one line each
 * @throws StartupError listing the tables and columns that must not be dropped, and how to keep or drop them
 */
export async function assertLossesAllowed(
  client: Client,
  losses: readonly Loss[],
  mayDrop: MayDrop,
): Promise<string[]> {
  const all = await countLostRows(client, losses);
  const lost = mayDrop === 'nothing' ? all : all.filter(({ rows }) => rows > 0);
  if (lost.length === 0 || mayDrop === 'anything')
    return lost.map((loss) => `${formatLossName(loss)} (${loss.rows} rows)`);
  const freshHint = mayDrop === 'empty' ? ', or npx belfry dev --fresh, which empties the database' : '';
  throw new StartupError(
    'The database has tables or columns that are no longer declared. Dropping them would lose data:',
    [
      ...lost.map(explainLoss),
      `to keep the values, restore the declaration; to drop them: npx belfry dev --allow-loss${freshHint}`,
    ],
  );
}
