import type { Command } from 'commander';
import { findProject, loadEnvironmentFile } from '../project/project.ts';
import type { DevOptions } from './run.ts';

/** Adds `belfry dev`, which runs the app during development. */
export function addDevCommand(program: Command): void {
  program
    .command('dev')
    .description('Run the app with a Postgres and a Redis of its own, and restart it when a file changes')
    .option('--fresh', 'Start with an empty database')
    .option('--allow-loss', 'Drop tables and columns that are no longer declared, with the data in them')
    .option('--watch <folders...>', 'Restart when a file in these folders changes, too')
    .action(async (options: DevOptions, command: Command) => {
      const project = findProject(command.optsWithGlobals().app);
      loadEnvironmentFile(project);
      const { runDev } = await import('./run.ts');
      await runDev(project, options);
    });
}
