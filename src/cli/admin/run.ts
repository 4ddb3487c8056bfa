import type { App } from '../../runtime/create-app.ts';
import type { AdminArguments } from './arguments.ts';
import { importUsers } from './import-users.ts';
import { generatePassword, readPasswordFromInput } from './password.ts';
import { mailLines, sessionLines, userLines } from './report.ts';

type Accounts = NonNullable<App['accounts']>;
type User = NonNullable<Awaited<ReturnType<Accounts['find']>>>;

/** Formats an error for the terminal. */
function describeError(error: unknown): string {
  const { message, details } = error as Error & { details?: Record<string, string> };
  if (details === undefined) return message;
  return Object.entries(details)
    .map(([field, text]) => `${field}: ${text}`)
    .join('\n');
}

/** Returns the fields of users, each with its allowed values if they are listed. */
function listUserFields({ declared }: App): Map<string, readonly string[] | undefined> {
  const fields = [...declared.columns.values()].map(({ field, values }) => ({ path: field.split('.'), values }));
  return new Map(fields.filter(({ path }) => path[0] === 'user').map(({ path, values }) => [path[1]!, values]));
}

async function createUser(app: App, accounts: Accounts, args: AdminArguments) {
  const { email, name, role, fields } = args;
  if ((await accounts.find(email)) !== undefined) {
    throw new Error(
      `An account with this e-mail already exists. To give it a role: npm run admin -- promote --email ${email}`,
    );
  }
  const password = args.passwordFromInput ? await readPasswordFromInput() : generatePassword();
  const declared = listUserFields(app);
  const input: Record<string, unknown> = { ...fields, email, password };
  // A given name is always passed on. If users have no such field, the validation error says so.
  if (name !== undefined || declared.has('name')) input.name ??= name ?? email.split('@')[0];
  const defaults = declared.get('roles')?.includes('user') ? ['user'] : [];
  if (declared.has('roles')) input.roles = [...new Set([...defaults, role!])];
  const user = await accounts.create(input);
  const what = declared.has('roles') ? `${role} now` : 'created without a role, because users have no field roles';
  console.log(`${user.email} is ${what} (${user.id}).`);
  if (!args.passwordFromInput) console.log(`Password (shown only once): ${password}`);
}

async function changeUser(app: App, accounts: Accounts, user: User, { command, role, end }: AdminArguments) {
  const update = (changes: object) => app.service('user').update(user.id, changes as never);
  const roles = new Set((user.roles as string[] | undefined) ?? []);
  if (command === 'promote' || command === 'demote') {
    if (command === 'promote') roles.add(role!);
    else roles.delete(role!);
    await update({ roles: [...roles] });
    console.log(`${user.email} has the roles: ${[...roles].join(', ') || 'none'}`);
  } else if (command === 'sessions') {
    if (end) await accounts.endSessions(user.id);
    console.log(
      end ? `Ended all sessions of ${user.email}.` : sessionLines(await accounts.sessions(user.id)).join('\n'),
    );
  } else {
    const status = command === 'disable' ? 'disabled' : 'active';
    await update({ status });
    if (command === 'disable') await accounts.endSessions(user.id);
    console.log(`${user.email} is ${status}.`);
  }
}

async function runCommand(app: App, args: AdminArguments, signal: AbortSignal): Promise<boolean> {
  const { accounts } = app;
  if (accounts === undefined) throw new Error('This app has no accounts. See defineUser.');
  await accounts.ready();
  if (args.command === 'create') await createUser(app, accounts, args);
  else if (args.command === 'list') console.log(userLines(await accounts.list(args)).join('\n'));
  else if (args.command === 'mails') {
    const mails = (await app.captured.mails()).filter(({ to }) => args.email === '' || to === args.email);
    console.log(mailLines(mails.slice(0, args.limit)).join('\n'));
  } else if (args.command === 'import') {
    return importUsers(accounts, args.file, signal);
  } else {
    const user = await accounts.find(args.email);
    if (user === undefined) throw new Error(`No account with the e-mail ${args.email}.`);
    await changeUser(app, accounts, user, args);
  }
  return true;
}

/**
 * Runs the command and prints the result.
 *
 * @param signal ends an import early
 * @returns whether everything was done
 * @throws Error with a message for the terminal
 */
export async function runAdminCommand(app: App, args: AdminArguments, signal: AbortSignal): Promise<boolean> {
  try {
    return await runCommand(app, args, signal);
  } catch (error) {
    throw new Error(describeError(error), { cause: error });
  }
}
