import { Argument, type Command } from 'commander';
import { PROCESS_ROLES, type ProcessRole } from '../declare/process-role.ts';
import { findProject, loadEnvironmentFile } from './project/project.ts';

/** Adds `belfry start`, which runs one process of a deployment. */
export function addStartCommand(program: Command): void {
  program
    .command('start')
    .description(
      'Run a process of the app. The role web serves HTTP and runs every other role that the environment does not disable; each other role runs alone.',
    )
    .addArgument(new Argument('[role]', 'The role of the process').choices(PROCESS_ROLES).default('web'))
    .action(async (role: ProcessRole, _options: object, command: Command) => {
      const project = findProject(command.optsWithGlobals().app);
      loadEnvironmentFile(project);
      const { runProcess } = await import('../runtime/run-process.ts');
      const { loadAppModule } = await import('./project/open-app.ts');
      await runProcess(role, () => loadAppModule(project), process.env);
    });
}
