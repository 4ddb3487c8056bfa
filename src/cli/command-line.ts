import { Command, CommanderError } from 'commander';
import { VERSION } from '../runtime/config-errors.ts';
import { addAdminCommand } from './admin/index.ts';
import { addAuditCommand } from './audit.ts';
import { addDevCommand } from './dev/index.ts';
import { addDoctorCommand } from './doctor.ts';
import { addKeysCommand } from './keys.ts';
import { addMigrateCommand, addMigrationCommand } from './migration/index.ts';
import { addPrivacyCommand } from './privacy.ts';
import { type AppOpener, type OpenedApp, openProjectApp } from './project.ts';
import { addStartCommand } from './start.ts';
import { ReportedFailure } from './terminal.ts';
import { addTestCommand } from './test.ts';
import { describeMissingCommand, formatUsageError, refuseEmptyOptions } from './usage-errors.ts';
import { addWebhooksCommand } from './webhooks.ts';

/** The exit code if the command line is malformed. A command that fails ends with 1. */
const USAGE_ERROR = 2;

function createProgram(openApp: AppOpener): Command {
  const program = new Command('belfry')
    .description('Runs and manages a Belfry app. The app is the module belfry.config.ts or src/app.ts of this folder.')
    .version(VERSION, '--version', 'Print the version of Belfry')
    .option('--app <file>', 'The file that exports the app')
    .helpOption('-h, --help', 'Print the help of a command')
    .helpCommand('help [command]', 'Print the help of a command')
    .exitOverride()
    .configureOutput({
      // Tests and programs that embed the command line replace `console`.
      writeOut: (text) => console.log(text.trimEnd()),
      writeErr: (text) => console.error(text.trimEnd()),
      outputError: (text, write) => write(formatUsageError(text)),
    })
    .showHelpAfterError('For all commands and options, add --help.')
    .addHelpText('beforeAll', describeMissingCommand)
    .hook('preAction', refuseEmptyOptions);
  addDevCommand(program);
  addStartCommand(program);
  addMigrateCommand(program, openApp);
  addMigrationCommand(program, openApp);
  addAdminCommand(program, openApp);
  addKeysCommand(program, openApp);
  addWebhooksCommand(program, openApp);
  addAuditCommand(program, openApp);
  addPrivacyCommand(program, openApp);
  addDoctorCommand(program, openApp);
  addTestCommand(program);
  return program;
}

/**
 * Runs one command.
 *
 * @param given the arguments after `belfry`
 * @param openApp opens the app, which is closed at the end; default: the app of the project in the working directory
 * @returns the exit code: 0, 1 if the command failed, 2 if the arguments are malformed. `start` and `dev` go on running
 */
export async function runCommandLine(given: readonly string[], openApp: AppOpener = openProjectApp): Promise<number> {
  const opened: OpenedApp[] = [];
  const openAndKeep: AppOpener = async (options) => {
    const app = await openApp(options);
    opened.push(app);
    return app;
  };
  try {
    await createProgram(openAndKeep).parseAsync(given, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_ERROR;
    if (!(error instanceof ReportedFailure)) console.error(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    for (const app of opened) await app[Symbol.asyncDispose]();
  }
}
