// `npm run admin -- create`, `promote`, `demote`, `disable`, `enable`, `list`, `sessions`, `import`: accounts from the command
// line; `mails`: the e-mails that development captured. It needs DATABASE_URL and SVC_ENCRYPTION_KEYS, from the shell or from .env, or a running `npm run dev`.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { App } from '../src/runtime/create-app.ts';
import { type AdminArguments, readAdminArguments } from './admin/arguments.ts';
import { importUsers } from './admin/import-users.ts';
import { newPassword, passwordFromInput } from './admin/password.ts';
import { mailLines, sessionLines, userLines } from './admin/report.ts';
import { DEVELOPMENT_ENVIRONMENT } from './dev/environment.ts';

const root = join(import.meta.dirname, '..');

type Accounts = NonNullable<App['accounts']>;
type User = NonNullable<Awaited<ReturnType<Accounts['find']>>>;

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

/** The app of this deployment, to be connected to its database; Redis is only told that there is something to do. */
async function loadApp(): Promise<App> {
  if (existsSync(join(root, '.env'))) process.loadEnvFile(join(root, '.env'));
  const development = join(root, DEVELOPMENT_ENVIRONMENT);
  if (!process.env.DATABASE_URL && existsSync(development)) {
    Object.assign(process.env, JSON.parse(readFileSync(development, 'utf8')));
  }
  if (!process.env.SVC_ENCRYPTION_KEYS) fail('SVC_ENCRYPTION_KEYS is missing: say those that the service runs with.');
  const { app } = await import('../src/app/index.ts');
  const redis = process.env.REDIS_URL || 'redis://none';
  return app({ ...process.env, NODE_ENV: 'test', LOG_LEVEL: 'error', REDIS_URL: redis });
}

/** What is wrong, in words for who is at the terminal. */
function textOf(error: unknown): string {
  const { message, details } = error as Error & { details?: Record<string, string> };
  if (details === undefined) return message;
  return Object.entries(details)
    .map(([field, text]) => `${field}: ${text}`)
    .join('\n');
}

async function create(accounts: Accounts, { email, name, role, fields, passwordFromInput: given }: AdminArguments) {
  if ((await accounts.find(email)) !== undefined) {
    fail(`There is an account with this e-mail already. Its role: npm run admin -- promote --email ${email}`);
  }
  const password = given ? await passwordFromInput() : newPassword();
  const roles = [...new Set(['user', role!])];
  const user = await accounts.create({ name: name ?? email.split('@')[0], ...fields, email, password, roles });
  console.log(`${user.email} is ${role} now (${user.id}).`);
  if (!given) console.log(`Password, shown this once: ${password}`);
}

async function change(app: App, accounts: Accounts, user: User, { command, role, end }: AdminArguments) {
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
      end ? `All sessions of ${user.email} are over.` : sessionLines(await accounts.sessions(user.id)).join('\n'),
    );
  } else {
    const status = command === 'disable' ? 'disabled' : 'active';
    await update({ status });
    if (command === 'disable') await accounts.endSessions(user.id);
    console.log(`${user.email} is ${status}.`);
  }
}

async function run(app: App, accounts: Accounts, given: AdminArguments): Promise<void> {
  if (given.command === 'create') await create(accounts, given);
  else if (given.command === 'list') console.log(userLines(await accounts.list(given)).join('\n'));
  else if (given.command === 'mails') {
    const mails = (await app.captured.mails()).filter(({ to }) => given.email === '' || to === given.email);
    console.log(mailLines(mails.slice(0, given.limit)).join('\n'));
  } else if (given.command === 'import') {
    if (!(await importUsers(accounts, given.file))) process.exitCode = 1;
  } else {
    const user = await accounts.find(given.email);
    if (user === undefined) fail(`There is no account with the e-mail ${given.email}.`);
    await change(app, accounts, user, given);
  }
}

try {
  const given = readAdminArguments(process.argv.slice(2));
  const app = await loadApp();
  if (app.accounts === undefined) fail('This app has no accounts: see defineUser.');
  try {
    await app.accounts.ready();
    await run(app, app.accounts, given);
  } finally {
    await app.close();
  }
} catch (error) {
  fail(textOf(error));
}
