import { Command, CommanderError, Help, Option } from 'commander';
import { VERSION } from '../platform/helpers/version.ts';
import { addAdminCommand } from './admin/index.ts';
import { addAuditCommand } from './audit.ts';
import { addCodemodCommand } from './codemod/index.ts';
import { addDataCommands } from './data/index.ts';
import { addDevCommand } from './dev/index.ts';
import { addDoctorCommand } from './doctor/index.ts';
import { addJobsCommand } from './jobs.ts';
import { addKeysCommand } from './keys.ts';
import { addListenCommand } from './listen/index.ts';
import { addMigrateCommand, addMigrationCommand } from './migration/index.ts';
import { addNormalizeCommand } from './normalize.ts';
import { addPrivacyCommand } from './privacy.ts';
import type { AppOpener, OpenedApp } from './project/project.ts';
import { addStartCommand } from './start.ts';
import { addStatusCommand } from './status/index.ts';
import { ReportedFailure, stripControlCharacters } from './terminal/terminal.ts';
import { describeMissingCommand, formatUsageError, refuseEmptyOptions } from './terminal/usage-errors.ts';
import { addTestCommand } from './test/index.ts';
import { addApiCommand, addTypesCommand } from './types/index.ts';
import { addWebhooksCommand } from './webhooks.ts';

/** The exit code if the command line is malformed. A command that fails ends with 1. */
const USAGE_ERROR = 2;

// Loaded on demand, like everything that only some commands need: a command line that is malformed or asks for help loads no app.
const openProjectApp: AppOpener = async (options) => {
  const { openProjectApp: open } = await import('./project/open-app.ts');
  return open(options);
};

const createAppOption = () =>
  new Option('--app <file>', 'The file that exports the app (default: belfry.config.ts or src/app.ts)');

/** Adds `--app` to the commands of a program or a group. */
function addAppOption({ commands }: Command): void {
  for (const command of commands) {
    command.addOption(createAppOption());
    addAppOption(command);
  }
}

/** Makes a command, and those below it, print usage errors as sentences. */
function formatUsageErrors(command: Command): void {
  command.configureOutput({ outputError: (text, write) => write(formatUsageError(text, command)) });
  for (const below of command.commands) formatUsageErrors(below);
}

function createProgram(openApp: AppOpener): Command {
  const program = new Command('belfry')
    .description('Run and manage a Belfry app: the module belfry.config.ts or src/app.ts of this folder')
    .version(VERSION, '--version', 'Print the version of Belfry')
    .addOption(createAppOption())
    .helpOption('-h, --help', 'Print the help of a command')
    .helpCommand('help [command]', 'Print the help of a command')
    .exitOverride()
    // Options after the name of a command are the command's own, so that `belfry test vitest --version` asks vitest.
    .enablePositionalOptions()
    .configureHelp({ subcommandTerm: (command) => new Help().subcommandTerm(command).replace(' [options]', '') })
    .configureOutput({
      // Tests and programs that embed the command line replace `console`.
      writeOut: (text) => console.log(text.trimEnd()),
      writeErr: (text) => console.error(text.trimEnd()),
    })
    .showHelpAfterError('For all commands and options, add --help.')
    .addHelpText('beforeAll', describeMissingCommand)
    .hook('preAction', refuseEmptyOptions);
  addDevCommand(program);
  addStartCommand(program);
  addMigrateCommand(program, openApp);
  addMigrationCommand(program, openApp);
  addAdminCommand(program, openApp);
  addDataCommands(program, openApp);
  addNormalizeCommand(program, openApp);
  addKeysCommand(program, openApp);
  addWebhooksCommand(program, openApp);
  addJobsCommand(program, openApp);
  addAuditCommand(program, openApp);
  addPrivacyCommand(program, openApp);
  addTypesCommand(program, openApp);
  addApiCommand(program, openApp);
  addStatusCommand(program, openApp);
  addDoctorCommand(program, openApp);
  addCodemodCommand(program);
  addAppOption(program);
  // Its `--app` is an address.
  addListenCommand(program);
  addTestCommand(program);
  formatUsageErrors(program);
  return program;
}

/** What the operating system says if a file or folder cannot be written, by the code of the error. */
const FILE_ERRORS: Record<string, string> = {
  EACCES: 'permission denied. Allow this user to write there, or run the command as the owner',
  EPERM: 'operation not permitted. Allow this user to write there, or run the command as the owner',
  EROFS: 'the file system is read-only. Run the command where it can write',
  ENOSPC: 'the disk is full. Free some space, then run the command again',
};

/** Describes the error of a command that failed, without a stack trace. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, name, code = '', path, cause } = error as NodeJS.ErrnoException;
  // The message of an ApiError is for clients, who must not learn the cause. Not checked by its class, which would load more modules.
  if (name === 'ApiError' && code === 'INTERNAL' && cause !== undefined) return describeFailure(cause);
  const known = FILE_ERRORS[code];
  const text = path !== undefined && known !== undefined ? `${path}: ${known}.` : message || code || name;
  // Servers repeat values that users have sent.
  return text.split('\n').map(stripControlCharacters).join('\n');
}

/**
 * Runs one command.
 *
 * @param given the arguments after `belfry`
 * @param openApp opens the app, which is closed at the end; default: the app of the project in the working directory
 * @returns the exit code: 0, 1 if the command failed, 2 if the arguments are malformed; `status` has its own. `start` and `dev` go on running
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
    const { exitCode, cause } = error instanceof ReportedFailure ? error : { exitCode: 1, cause: error };
    if (cause !== undefined) console.error(describeFailure(cause));
    return exitCode;
  } finally {
    for (const app of opened) await app[Symbol.asyncDispose]();
  }
}
