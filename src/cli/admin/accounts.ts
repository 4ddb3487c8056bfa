import type { OpenedApp } from '../project/project.ts';
import { generatePassword, readPasswordFromInput } from './password.ts';
import { sessionLines } from './report.ts';

type Accounts = NonNullable<OpenedApp['accounts']>;

/** What a command works on. */
export interface AdminContext {
  app: OpenedApp;
  accounts: Accounts;
}

type User = NonNullable<Awaited<ReturnType<AdminContext['accounts']['find']>>>;

/** The options of `admin create`. */
interface NewAccount {
  email: string;
  name?: string;
  role: string;
  /** Additional fields, by name. */
  set?: Record<string, unknown>;
  passwordStdin?: boolean;
}

/** Returns the fields of users, each with its allowed values if they are listed. */
function listUserFields({ declared }: OpenedApp): Map<string, readonly string[] | undefined> {
  const fields = [...declared.columns.values()].map(({ field, values }) => ({ path: field.split('.'), values }));
  return new Map(fields.filter(({ path }) => path[0] === 'user').map(({ path, values }) => [path[1]!, values]));
}

async function findUser({ accounts }: AdminContext, email: string): Promise<User> {
  const user = await accounts.find(email);
  if (user === undefined) throw new Error(`No account with the e-mail ${email}.`);
  return user;
}

const update = ({ app }: AdminContext, user: User, changes: object) =>
  app.service('user').update(user.id, changes as never);

/** Creates an account and prints its password, unless that was read from standard input. */
export async function createUser(context: AdminContext, options: NewAccount): Promise<void> {
  const { app, accounts } = context;
  const { email, name, role, set, passwordStdin } = options;
  if ((await accounts.find(email)) !== undefined) {
    throw new Error(
      `An account with this e-mail already exists. To give it a role: npx belfry admin promote --email ${email}`,
    );
  }
  const password = passwordStdin ? await readPasswordFromInput() : generatePassword();
  const declared = listUserFields(app);
  const input: Record<string, unknown> = { ...set, email, password };
  // A given name is always passed on. If users have no such field, the validation error says so.
  if (name !== undefined || declared.has('name')) input.name ??= name ?? email.split('@')[0];
  const defaults = declared.get('roles')?.includes('user') ? ['user'] : [];
  if (declared.has('roles')) input.roles = [...new Set([...defaults, role])];
  const user = await accounts.create(input);
  const what = declared.has('roles') ? `${role} now` : 'created without a role, because users have no field roles';
  console.log(`${user.email} is ${what} (${user.id}).`);
  if (!passwordStdin) console.log(`Password (shown only once): ${password}`);
}

async function changeRoles(context: AdminContext, email: string, change: (roles: Set<string>) => void): Promise<void> {
  const user = await findUser(context, email);
  const roles = new Set((user.roles as string[] | undefined) ?? []);
  change(roles);
  await update(context, user, { roles: [...roles] });
  console.log(`${user.email} has the roles: ${[...roles].join(', ') || 'none'}`);
}

/** Gives an account a role. */
export const grantRole = (context: AdminContext, email: string, role: string) =>
  changeRoles(context, email, (roles) => roles.add(role));

/** Removes a role from an account. */
export const revokeRole = (context: AdminContext, email: string, role: string) =>
  changeRoles(context, email, (roles) => roles.delete(role));

/** Enables an account, or disables it and ends its sessions. */
export async function setStatus(context: AdminContext, email: string, status: 'active' | 'disabled'): Promise<void> {
  const user = await findUser(context, email);
  await update(context, user, { status });
  if (status === 'disabled') await context.accounts.endSessions(user.id);
  console.log(`${user.email} is ${status}.`);
}

/** Lists or ends the sessions of an account. */
export async function showSessions(context: AdminContext, email: string, end = false): Promise<void> {
  const user = await findUser(context, email);
  if (end) await context.accounts.endSessions(user.id);
  const sessions = end ? undefined : await context.accounts.sessions(user.id);
  console.log(sessions === undefined ? `Ended all sessions of ${user.email}.` : sessionLines(sessions).join('\n'));
}
