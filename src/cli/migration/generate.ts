import type { PgTable } from 'drizzle-orm/pg-core';
import { FRAMEWORK_MIGRATIONS, readFrameworkJournal } from '../../runtime/migrations/framework.ts';
import type { DeclaredFacts } from '../../runtime/migrations/plan/declared.ts';
import type { Loss } from '../../runtime/migrations/plan/losses.ts';
import { type Plan, planSchemaChange } from '../../runtime/migrations/plan/plan-change.ts';
import { type Snapshot, takeSnapshot } from '../../runtime/migrations/plan/snapshot.ts';
import { type MigrationArguments, readMigrationArguments } from './arguments.ts';
import { countUnchecked } from './count-unchecked.ts';
import { countValues } from './count-values.ts';
import { explainLosses, explainRefusals } from './explain.ts';
import {
  createEmptyMigration,
  type NewMigration,
  readLastSnapshot,
  splitIntoMigrations,
  writeMigrations,
} from './files.ts';
import {
  addToPublished,
  assertFrameworkTableNamesFree,
  keepFrameworkParts,
  readFrameworkSnapshot,
  removeFrameworkParts,
  selectOwnParts,
} from './framework.ts';

/** The output of a command, and whether it did what was requested. */
export interface Outcome {
  ok: boolean;
  lines: string[];
}

/** The declared tables of an app, with facts about them. */
interface DeclaredTables {
  tables: Record<string, PgTable>;
  declared: DeclaredFacts;
}

/** A folder of migrations, and the tables that they have to create. */
interface Target {
  /** The folder as shown in messages. */
  shown: string;
  /** The tables after the last migration; undefined if there is none. */
  previous: Snapshot | undefined;
  next: Snapshot;
  declared: DeclaredFacts;
  write(migrations: NewMigration[]): string[];
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
  const lines = [...plan.statements, ...plan.indexes, ...plan.validations].map(
    (statement) => `  ${statement.split('\n')[0]}`,
  );
  if (lines.length === 0) lines.push(...plan.notes.map((note) => `  note: ${note}`));
  return refusedOutcome([
    'The migrations are behind the declarations. npx belfry migration generate would write:',
    ...lines,
  ]);
}

function writePlan(target: Target, plan: Plan, name: string, notes: readonly string[]): Outcome {
  const migrations = splitIntoMigrations(plan, name, target.next);
  const names = target.write(migrations);
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

async function generateInto(
  target: Target,
  args: MigrationArguments,
  given: readonly string[],
  database: string | undefined,
): Promise<Outcome> {
  const { previous, next, declared } = target;
  const plan = await planSchemaChange(previous, next, declared, args.requested);
  const changes = plan.statements.length + plan.indexes.length + plan.notes.length > 0;
  const lost = findUnallowedLosses(plan, args);
  if (plan.refusals.length > 0) return refusedOutcome(explainRefusals(plan.refusals, given));
  if (args.check && changes) return reportOutdatedMigrations(plan);
  if (lost.length > 0) return refusedOutcome(explainLosses(lost, await countValues(database, lost), given));
  if (changes) {
    const name = args.name ?? (previous === undefined ? 'init' : 'change');
    return writePlan(target, plan, name, await countUnchecked(database, plan));
  }
  if (args.empty && !args.check && previous !== undefined) {
    const [name] = target.write([createEmptyMigration(args.name ?? 'by_hand', previous)]);
    return { ok: true, lines: [`${target.shown}/${name}.sql: add your statements to this file.`] };
  }
  return { ok: true, lines: ['The migrations are up to date with the declarations.'] };
}

/**
 * Writes the migrations that update a project's folder to its declarations, or explains why it cannot. Belfry's own tables have their
 * migrations in the package.
 *
 * @param given the command line: see `readMigrationArguments`
 * @param database a URL, to count what would be lost; undefined if no database is named
 * @throws Error with a message for the terminal
 */
export async function generate(
  app: DeclaredTables,
  folder: string,
  given: readonly string[],
  database: string | undefined,
): Promise<Outcome> {
  const args = readMigrationArguments(given);
  const framework = readFrameworkSnapshot();
  const taken = takeSnapshot(app.tables, app.declared);
  assertFrameworkTableNamesFree(taken, framework);
  const last = readLastSnapshot(folder);
  const previous = last && removeFrameworkParts(last, framework);
  const next = selectOwnParts(taken, previous, framework);
  const declared = { ...app.declared, statements: next.belfry?.statements ?? [] };
  // New migrations run after those of the installed version of Belfry, so that they may use its tables, whatever this machine's clock says.
  const after = Math.max(...readFrameworkJournal().entries.map(({ when }) => when));
  const write = (migrations: NewMigration[]) => writeMigrations(folder, migrations, after);
  return generateInto({ shown: 'migrations', previous, next, declared, write }, args, given, database);
}

/**
 * Writes the migrations that update Belfry's own folder to its tables, and adds them to the published ones.
 *
 * @param app an app with all extensions, and no resource but the user
 * @param given the command line: see `readMigrationArguments`
 */
export async function generateFramework(app: DeclaredTables, given: readonly string[]): Promise<Outcome> {
  const { declared } = app;
  const next = keepFrameworkParts(takeSnapshot(app.tables, declared), declared);
  const write = (migrations: NewMigration[]) => {
    const names = writeMigrations(FRAMEWORK_MIGRATIONS, migrations);
    addToPublished(names);
    return names;
  };
  const target = { shown: 'migrations/belfry', previous: readFrameworkSnapshot(), next, declared, write };
  return generateInto(target, readMigrationArguments(given), given, undefined);
}
