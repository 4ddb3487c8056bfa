import type { Command } from 'commander';
import type { AppOpener } from '../project/project.ts';

/** Adds `belfry status`, which shows what a running app does, and whether something is wrong. */
export function addStatusCommand(program: Command, openApp: AppOpener): void {
  program
    .command('status')
    .description('Show the running processes, what waits for them, and what is wrong')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      '\nExit codes: 0 healthy, 1 something is wrong, 2 the state cannot be read, or only a part of it',
    )
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const { runStatus } = await import('./run.ts');
      await runStatus(openApp, command.optsWithGlobals().app, json);
    });
}
