import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import {
  type AppOpener,
  DATABASE_ONLY,
  DEVELOPMENT_ENVIRONMENT,
  findProject,
  loadEnvironmentFile,
} from '../project/project.ts';
import { ReportedFailure } from '../terminal/terminal.ts';
import { addGenerateOptions, readMigrationArguments } from './arguments.ts';

/** Returns the folder of a project's migrations. */
function findMigrationsFolder(command: Command): string {
  return join(findProject(command.optsWithGlobals().app).root, 'migrations');
}

/** Returns the address of the database itself, without a pooler; undefined if none is set. */
function readDirectUrl(): string | undefined {
  return process.env.DATABASE_DIRECT_URL || process.env.DATABASE_URL || undefined;
}

/** Refuses to look for migrations in the database of `belfry dev`, which has none. @throws Error if it is the only database that is known */
function refuseDevelopmentDatabase(command: Command): void {
  const project = findProject(command.optsWithGlobals().app);
  loadEnvironmentFile(project);
  if (process.env.DATABASE_URL || !existsSync(join(project.root, DEVELOPMENT_ENVIRONMENT))) return;
  throw new Error(
    'belfry dev is running in this folder, and changes its database at every save, without migrations.\nFor another database, set DATABASE_URL in the shell or in .env.',
  );
}

/** Prints what a database has (`status`), or what it lacks (`sql`). This also validates the environment. */
async function printState(command: Command, openApp: AppOpener, what: 'status' | 'sql'): Promise<void> {
  refuseDevelopmentDatabase(command);
  await openApp({
    command: 'migration',
    appFile: command.optsWithGlobals().app,
    environment: DATABASE_ONLY,
  });
  const { readDatabase } = await import('./read-database.ts');
  console.log((await readDatabase(readDirectUrl()!, findMigrationsFolder(command), what)).join('\n'));
}

/** Adds `belfry migrate`, which migrates a database. */
export function addMigrateCommand(program: Command, openApp: AppOpener): void {
  program
    .command('migrate')
    .description(
      'Apply the pending migrations to the database of DATABASE_URL. Several processes may run this at once.',
    )
    .option('--dry-run', 'Print the SQL of the pending migrations instead of running it')
    .action(async ({ dryRun }: { dryRun?: boolean }, command: Command) => {
      if (dryRun) return printState(command, openApp, 'sql');
      refuseDevelopmentDatabase(command);
      const app = await openApp({
        command: 'migrate',
        appFile: command.optsWithGlobals().app,
        // A deployment waits while Postgres starts or another process migrates. Its log says so.
        environment: { ...DATABASE_ONLY, LOG_LEVEL: 'warn' },
      });
      await app.migrate({ mode: 'apply', folder: findMigrationsFolder(command), say: (line) => console.log(line) });
      console.log('The database is up to date.');
    });
}

/** Returns the words after `generate` as they were given, without `--app <file>`, which belongs to the program. */
function readGivenArguments(program: Command): string[] {
  const { rawArgs } = program as Command & { rawArgs: string[] };
  const words = rawArgs.filter((word, i) => !/^--app(=|$)/.test(word) && rawArgs[i - 1] !== '--app');
  return words.slice(words.indexOf('generate') + 1);
}

/** Ends the command if the name of the migration is invalid, before the app is loaded. */
function refuseInvalidName(command: Command, given: readonly string[]): void {
  try {
    readMigrationArguments(given);
  } catch (error) {
    command.error(`error: ${(error as Error).message}`);
  }
}

/** Adds `belfry migration`, which generates and lists migrations. */
export function addMigrationCommand(program: Command, openApp: AppOpener): void {
  const migration = program.command('migration').description('Write and list migrations');
  addGenerateOptions(migration.command('generate'))
    .description(
      'Write a migration that brings the tables to the current declarations. It asks no questions: options supply what it cannot know.',
    )
    .action(async (_words: string[], _options: object, command: Command) => {
      const given = readGivenArguments(program);
      refuseInvalidName(command, given);
      const appFile: string | undefined = command.optsWithGlobals().app;
      loadEnvironmentFile(findProject(appFile));
      const databaseUrl = readDirectUrl();
      // The environment does not affect the tables, and the app does not connect to anything.
      const environment = { ...DATABASE_ONLY, DATABASE_URL: 'postgres://none/none', DATABASE_DIRECT_URL: '' };
      const app = await openApp({ command: 'migration', appFile, environment });
      const { generate } = await import('./generate.ts');
      const folder = findMigrationsFolder(command);
      const { ok, lines } = await generate(app, folder, given, databaseUrl);
      console[ok ? 'log' : 'error'](lines.join('\n'));
      if (!ok) throw new ReportedFailure();
    });
  migration
    .command('status')
    .description('List all migrations, applied and pending')
    .action((_options: object, command: Command) => printState(command, openApp, 'status'));
}
