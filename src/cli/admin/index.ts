import { type Command, InvalidArgumentError } from 'commander';
import { runUntilStopRequest } from '../../dev-servers/on-stop-request.ts';
import type { AppOpener } from '../project/project.ts';
import { ReportedFailure } from '../terminal/terminal.ts';
import { createCountParser } from '../terminal/usage-errors.ts';
import { type AdminContext, createUser, grantRole, revokeRole, setStatus, showSessions } from './accounts.ts';
import { importUsers } from './import-users.ts';
import { mailLines, userLines } from './report.ts';

const MAX_LIMIT = 10_000;

/** Fields that have an option of their own. As an additional field, they would be silently overridden. */
const RESERVED_FIELDS = new Map([
  ['email', '--email'],
  ['password', '--password-stdin'],
  ['roles', '--role'],
]);

/** `phone=123` sets the text 123, `age:=30` the number: the value after `:=` is JSON. */
function parseField(text: string, earlier: Record<string, unknown> = {}): Record<string, unknown> {
  const [, name, json, value] = /^([A-Za-z]\w*)(:?)=(.*)$/s.exec(text) ?? [];
  if (name === undefined) throw new InvalidArgumentError('It must be field=value or field:=json.');
  if (RESERVED_FIELDS.has(name)) throw new InvalidArgumentError(`Use ${RESERVED_FIELDS.get(name)} instead.`);
  if (json === '') return { ...earlier, [name]: value };
  try {
    return { ...earlier, [name]: JSON.parse(value!) };
  } catch {
    throw new InvalidArgumentError('The value after := must be JSON.');
  }
}

/** Turns validation errors into one line per field. */
function describeError(error: unknown): Error {
  const { message, details } = error as Error & { details?: Record<string, string> };
  if (details === undefined) return error as Error;
  const lines = Object.entries(details).map(([field, text]) => `${field}: ${text}`);
  return new Error(lines.join('\n') || message, { cause: error });
}

/** Adds `belfry admin`, which manages accounts. */
export function addAdminCommand(program: Command, openApp: AppOpener): void {
  const admin = program.command('admin').description('Manage accounts');

  /** Opens the app for a command, and closes it at the end. */
  async function run(command: Command, work: (context: AdminContext) => Promise<void>): Promise<void> {
    const app = await openApp({
      command: 'admin',
      appFile: command.optsWithGlobals().app,
      environment: { NODE_ENV: 'test', LOG_LEVEL: 'error' },
      orDevelopment: true,
      needsKeys: true,
    });
    const { accounts } = app;
    if (accounts === undefined) throw new Error('This app has no accounts. See defineUser.');
    await accounts.ready();
    try {
      await work({ app, accounts });
    } catch (error) {
      throw describeError(error);
    }
  }

  const addAccountCommand = (name: string, description: string) =>
    admin
      .command(name)
      .description(description)
      .requiredOption('--email <address>', 'The e-mail address of the account');

  addAccountCommand(
    'create',
    'Create an account. Without --password-stdin, it gets a generated password, which is printed',
  )
    .option('--name <name>', 'The name of the person (default: the part of the address before the @)')
    .option('--role <role>', 'The role of the account, besides user', 'admin')
    .option(
      '--set <field=value>',
      'Set a field: phone=123 sets a text, age:=30 a JSON value. Can be repeated',
      parseField,
    )
    .option('--password-stdin', 'Read the password from standard input')
    .action((options, command: Command) => run(command, (context) => createUser(context, options)));
  addAccountCommand('promote', 'Give an account a role')
    .option('--role <role>', 'The role to give', 'admin')
    .action(({ email, role }, command: Command) => run(command, (context) => grantRole(context, email, role)));
  addAccountCommand('demote', 'Remove a role from an account')
    .option('--role <role>', 'The role to remove', 'admin')
    .action(({ email, role }, command: Command) => run(command, (context) => revokeRole(context, email, role)));
  addAccountCommand('disable', 'Disable an account and end its sessions').action(({ email }, command: Command) =>
    run(command, (context) => setStatus(context, email, 'disabled')),
  );
  addAccountCommand('enable', 'Enable an account').action(({ email }, command: Command) =>
    run(command, (context) => setStatus(context, email, 'active')),
  );
  addAccountCommand('sessions', 'List the sessions of an account')
    .option('--end', 'End all sessions of the account instead')
    .action(({ email, end }, command: Command) => run(command, (context) => showSessions(context, email, end)));
  admin
    .command('list')
    .description('List accounts, newest first')
    .option('--role <role>', 'Only accounts with this role')
    .option('--limit <n>', 'The maximum number of accounts', createCountParser(MAX_LIMIT), 50)
    .action((options: { role?: string; limit: number }, command: Command) =>
      run(command, async ({ accounts }) =>
        console.log(userLines(await accounts.list({ role: options.role, limit: options.limit })).join('\n')),
      ),
    );
  admin
    .command('mails')
    .description('Print the e-mails that were captured in development, newest first')
    .option('--email <address>', 'Only e-mails to this address')
    .option('--limit <n>', 'The maximum number of e-mails', createCountParser(MAX_LIMIT), 50)
    .action(({ email, limit }: { email?: string; limit: number }, command: Command) =>
      run(command, async ({ app }) => {
        const mails = (await app.captured.mails()).filter(({ to }) => email === undefined || to === email);
        console.log(mailLines(mails.slice(0, limit)).join('\n'));
      }),
    );
  admin
    .command('import')
    .description('Import accounts from an NDJSON file, which has one JSON object per line')
    .argument('<file>', 'The path of the file')
    .action((file: string, _options: object, command: Command) =>
      run(command, async ({ accounts }) => {
        const isComplete = await runUntilStopRequest((signal) => importUsers(accounts, file, signal));
        if (!isComplete) throw new ReportedFailure();
      }),
    );
}
