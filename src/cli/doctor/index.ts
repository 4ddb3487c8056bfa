import type { Command } from 'commander';
import type { AppOpener } from '../project/project.ts';

/** Adds `belfry doctor`, which checks whether the app can run here. */
export function addDoctorCommand(program: Command, openApp: AppOpener): void {
  program
    .command('doctor')
    .description(
      'Check the environment, the connections, the versions, the migrations and the clocks, and say what to do',
    )
    .option('--json', 'Print JSON')
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const { runDoctor } = await import('./run.ts');
      await runDoctor(openApp, command.optsWithGlobals().app, json);
    });
}
