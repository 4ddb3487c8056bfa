import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keepDaysStatement } from '../../extensions/audit/tables.ts';
import { FRAMEWORK_MIGRATIONS, readPublishedMigrations } from '../../runtime/migrations/framework.ts';
import type { DeclaredFacts } from '../../runtime/migrations/plan/declared.ts';
import type { Snapshot, TableShape } from '../../runtime/migrations/plan/snapshot.ts';
import { readLastSnapshot } from './files.ts';

/** Describes the tables and statements that Belfry's own migrations create. The project's migrations leave them alone. */
export function readFrameworkSnapshot(): Snapshot {
  const snapshot = readLastSnapshot(FRAMEWORK_MIGRATIONS);
  if (snapshot === undefined) throw new Error(`${FRAMEWORK_MIGRATIONS} is empty: install the package belfry again.`);
  return snapshot;
}

const statementsOf = (snapshot: Snapshot | undefined) => snapshot?.belfry?.statements ?? [];

function withStatements(snapshot: Snapshot, statements: readonly string[]): Snapshot {
  if (snapshot.belfry === undefined) return snapshot;
  const { statements: _, ...belfry } = snapshot.belfry;
  return { ...snapshot, belfry: { ...belfry, ...(statements.length > 0 && { statements }) } };
}

function filterTables(snapshot: Snapshot, keep: (key: string) => boolean): Snapshot {
  return { ...snapshot, tables: Object.fromEntries(Object.entries(snapshot.tables).filter(([key]) => keep(key))) };
}

/** Returns Belfry's part of a snapshot: its statements, and every table that belongs to no resource. */
export function keepFrameworkParts(snapshot: Snapshot, declared: DeclaredFacts): Snapshot {
  const kept = filterTables(snapshot, (key) => !declared.tables.has(key.replace('public.', '')));
  return withStatements({ ...kept, belfry: { columns: {}, resources: {} } }, statementsOf(snapshot));
}

/** The earlier form of the function `audit_stays`, which contained the number of days. */
const EARLIER_AUDIT_FUNCTION = /^create or replace function audit_stays\(\)[\s\S]*interval '(\d+) days'/;

/** Returns the current form of a statement in a snapshot that an earlier version of Belfry wrote. */
function upgradeStatement(statement: string): string {
  const [, days] = EARLIER_AUDIT_FUNCTION.exec(statement) ?? [];
  return days === undefined ? statement : keepDaysStatement(Number(days));
}

/** Returns the project's part of the last snapshot, which still has Belfry's tables if an earlier version of Belfry wrote it. */
export function removeFrameworkParts(last: Snapshot, framework: Snapshot): Snapshot {
  const created = new Set(statementsOf(framework));
  const statements = statementsOf(last).map(upgradeStatement);
  const own = filterTables(last, (key) => framework.tables[key] === undefined);
  return withStatements(
    own,
    statements.filter((one) => !created.has(one)),
  );
}

/** Returns the function that a statement creates; undefined if it creates something else. */
function findFunctionName(statement: string): string | undefined {
  return /^create or replace function (\w+)\(/i.exec(statement)?.[1];
}

/**
 * Selects the project's part of the declared statements. A statement that Belfry's migrations contain is not part of it, unless the
 * project has replaced the function: `audit({ keepDays: 730 })` does, and the default has to be restored by a migration, too. A
 * replaced function stays known while the extension is not declared.
 */
function selectOwnStatements(declared: readonly string[], previous: readonly string[], framework: readonly string[]) {
  const created = new Set(framework);
  const ofFramework = new Set(framework.flatMap((one) => findFunctionName(one) ?? []));
  const replacements = previous.filter((one) => ofFramework.has(findFunctionName(one) ?? ''));
  const replaced = new Set(replacements.map(findFunctionName));
  const declaredFunctions = new Set(declared.map(findFunctionName));
  return [
    ...declared.filter(
      (one) => !created.has(one) || (findFunctionName(one) !== undefined && replaced.has(findFunctionName(one))),
    ),
    ...replacements.filter((one) => !declaredFunctions.has(findFunctionName(one))),
  ];
}

/**
 * Returns the project's part of the declared tables and statements.
 *
 * @param previous the project's part of the last snapshot
 */
export function selectOwnParts(taken: Snapshot, previous: Snapshot | undefined, framework: Snapshot): Snapshot {
  const own = filterTables(taken, (key) => framework.tables[key] === undefined);
  return withStatements(own, selectOwnStatements(statementsOf(taken), statementsOf(previous), statementsOf(framework)));
}

const describeColumns = ({ columns }: TableShape) =>
  JSON.stringify(
    Object.values(columns)
      .map(({ name, type }) => `${name} ${type}`)
      .sort(),
  );

/**
 * Checks that no resource or extension of the project declares a table with the name of one of Belfry's, even if the project does not use the
 * extension that the table belongs to: Belfry's migrations create all of them.
 *
 * @throws Error naming the tables
 */
export function assertFrameworkTableNamesFree(taken: Snapshot, framework: Snapshot): void {
  const taking = Object.entries(taken.tables).filter(([key, table]) => {
    const own = framework.tables[key];
    return own !== undefined && describeColumns(own) !== describeColumns(table);
  });
  if (taking.length === 0) return;
  const lines = taking.map(
    ([, { name }]) =>
      `  - ${name}: choose another name. The option \`collection\` of a resource sets the name of its table`,
  );
  throw new Error(['These tables have the names of tables of Belfry:', ...lines].join('\n'));
}

/** Adds migrations of Belfry's own to the list of published ones. */
export function addToPublished(names: readonly string[]): void {
  const published = readPublishedMigrations();
  for (const name of names) {
    const text = readFileSync(join(FRAMEWORK_MIGRATIONS, `${name}.sql`), 'utf8');
    published.hashes[`belfry/${name}`] = createHash('sha256').update(text).digest('hex');
  }
  writeFileSync(join(FRAMEWORK_MIGRATIONS, 'published.json'), `${JSON.stringify(published, null, 2)}\n`);
}
