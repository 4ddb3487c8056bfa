import { join } from 'node:path';
import type { PgTable } from 'drizzle-orm/pg-core';
import { FRAMEWORK_FOLDER } from '../../runtime/migrations/journal.ts';
import type { DeclaredFacts } from '../../runtime/migrations/plan/declared.ts';
import type { Loss } from '../../runtime/migrations/plan/losses.ts';
import { type Plan, planSchemaChange } from '../../runtime/migrations/plan/plan-change.ts';
import { type Snapshot, takeSnapshot } from '../../runtime/migrations/plan/snapshot.ts';
import { type MigrationArguments, readMigrationArguments } from './arguments.ts';
import { countUnchecked } from './count-unchecked.ts';
import { countValues } from './count-values.ts';
import { explainLosses, explainRefusals } from './explain.ts';
import { createEmptyMigration, readLastSnapshot, splitIntoMigrations, writeMigrations } from './files.ts';
import { addToPublished, keepFrameworkTables, readFrameworkTables, removeFrameworkTables } from './framework.ts';

/** The output of a command, and whether it did what was requested. */
export interface Outcome {
  ok: boolean;
  lines: string[];
}

/** The folder where migrations are written, and their tables. */
interface Target {
  folder: string;
  /** The folder as shown in messages. */
  shown: string;
  isFramework: boolean;
}

const refusedOutcome = (lines: string[]): Outcome => ({ ok: false, lines });

/** Returns the losses of a plan that no option allows. Throws if an option names something that would not be dropped. */
function findUnallowedLosses({ losses }: Plan, { allowLoss, requested }: MigrationArguments): Loss[] {
  const lossKey = ({ table, column }: Loss) => `${table}.${column}`;
  const columns = new Set(losses.filter(({ column }) => column !== undefined).map(lossKey));
  const tables = new Set(losses.filter(({ column }) => column === undefined).map(({ table }) => table));
  for (const name of requested.dropped)
    if (!columns.has(name)) throw new Error(`--drop ${name}: this migration would not drop that column.`);
  for (const name of requested.droppedTables)
    if (!tables.has(name)) throw new Error(`--drop-table ${name}: this migration would not drop that table.`);
  if (allowLoss) return [];
  return losses.filter((loss) =>
    loss.column === undefined ? !requested.droppedTables.has(loss.table) : !requested.dropped.has(lossKey(loss)),
  );
}

function reportOutdatedMigrations(plan: Plan): Outcome {
  const lines = [...plan.statements, ...plan.indexes].map((statement) => `  ${statement.split('\n')[0]}`);
  if (lines.length === 0) lines.push(...plan.notes.map((note) => `  note: ${note}`));
  return refusedOutcome([
    'The migrations are behind the declarations. npx belfry migration generate would write:',
    ...lines,
  ]);
}

function writePlan(target: Target, plan: Plan, name: string, next: Snapshot, notes: readonly string[]): Outcome {
  const migrations = splitIntoMigrations(plan, name, next);
  const names = writeMigrations(target.folder, migrations);
  if (target.isFramework) addToPublished(target.folder, names);
  const files = migrations.map(({ statements }, i) => {
    return `${target.shown}/${names[i]}.sql: ${statements.length} ${statements.length === 1 ? 'statement' : 'statements'}.`;
  });
  return {
    ok: true,
    lines: [
      ...files,
      ...notes.map((note) => `Note: ${note}.`),
      'Review the files, then apply them with: npx belfry migrate',
    ],
  };
}

/**
 * Writes the migrations that update a folder to the declarations, or explains why it cannot.
 *
 * @param given the command line: see `readMigrationArguments`
 * @param database a URL, to count what would be lost; undefined if no database is named
 * @param isFramework generates for Belfry's own tables, in `migrations/belfry`, instead of the project's
 * @throws Error with a message for the terminal
 */
export async function generate(
  app: { tables: Record<string, PgTable>; declared: DeclaredFacts },
  folder: string,
  given: readonly string[],
  database: string | undefined,
  isFramework = false,
): Promise<Outcome> {
  const args = readMigrationArguments(given);
  const target: Target = isFramework
    ? { folder: join(folder, FRAMEWORK_FOLDER), shown: `migrations/${FRAMEWORK_FOLDER}`, isFramework: true }
    : { folder, shown: 'migrations', isFramework: false };
  const last = readLastSnapshot(target.folder);
  const taken = takeSnapshot(app.tables, app.declared);
  const framework = readFrameworkTables(folder);
  const previous = last === undefined || isFramework ? last : removeFrameworkTables(last, framework);
  const next = isFramework ? keepFrameworkTables(taken, app.declared) : removeFrameworkTables(taken, framework);
  const plan = await planSchemaChange(previous, next, app.declared, args.requested);
  const changes = plan.statements.length + plan.indexes.length + plan.notes.length > 0;
  const lost = findUnallowedLosses(plan, args);
  if (plan.refusals.length > 0) return refusedOutcome(explainRefusals(plan.refusals, given));
  if (args.check && changes) return reportOutdatedMigrations(plan);
  if (lost.length > 0) return refusedOutcome(explainLosses(lost, await countValues(database, lost), given));
  if (changes) {
    const name = args.name ?? (previous === undefined ? 'init' : 'change');
    return writePlan(target, plan, name, next, await countUnchecked(database, plan));
  }
  if (args.empty && !args.check && previous !== undefined) {
    const [name] = writeMigrations(target.folder, [createEmptyMigration(args.name ?? 'by_hand', previous)]);
    return { ok: true, lines: [`${target.shown}/${name}.sql: add your statements to this file.`] };
  }
  return { ok: true, lines: ['The migrations are up to date with the declarations.'] };
}
