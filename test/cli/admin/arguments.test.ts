import { expect, test, vi } from 'vitest';
import { runCommand } from '../../support/processes/in-process.ts';
import { getUsageError } from '../../support/processes/usage-error.ts';

test.each([
  ['remove --email a@b.co', 'Unknown command remove. Did you mean demote?'],
  ['constructor', 'Unknown command constructor.'],
  ['--email a@b.co', 'Unknown option --email.'],
  ['create', '--email is missing.'],
  ['create --name Ann', '--email is missing.'],
  ['create --email', '--email needs a value: <address>.'],
  ['create --email=', '--email needs a value: <address>.'],
  ['create --email a@b.co --nmae Ann', 'Unknown option --nmae. Did you mean --name?'],
  ['create --email a@b.co Ann', 'create takes no arguments, but got: Ann.'],
  ['create --email a@b.co --password secret', 'Unknown option --password.'],
  ['create --email a@b.co --password-stdin=yes', '--password-stdin takes no value.'],
  ['create --email a@b.co --role=', '--role needs a value: <role>.'],
  ['create --email a@b.co --set phone', '--set phone is invalid. It must be field=value or field:=json.'],
  ['create --email a@b.co --set __proto__=x', '--set __proto__=x is invalid. It must be field=value or field:=json.'],
  ['create --email a@b.co --set age:=x', '--set age:=x is invalid. The value after := must be JSON.'],
  ['create --email a@b.co --set email=c@d.co', '--set email=c@d.co is invalid. Use --email instead.'],
  ['create --email a@b.co --set password=secret', '--set password=secret is invalid. Use --password-stdin instead.'],
  ['create --email a@b.co --set roles:=["editor"]', '--set roles:=["editor"] is invalid. Use --role instead.'],
  ['promote', '--email is missing.'],
  ['promote --email a@b.co --end', 'Unknown option --end.'],
  ['demote --email a@b.co editor', 'demote takes no arguments, but got: editor.'],
  ['disable a@b.co', '--email is missing.'],
  ['enable --email a@b.co now', 'enable takes no arguments, but got: now.'],
  ['sessions', '--email is missing.'],
  ['sessions --email a@b.co --all', 'Unknown option --all.'],
  ['list --email a@b.co', 'Unknown option --email.'],
  ['list --limit 0', '--limit 0 is invalid. It must be a whole number from 1 to 10000.'],
  ['list --limit -1', '--limit -1 is invalid. It must be a whole number from 1 to 10000.'],
  ['list --limit 10001', '--limit 10001 is invalid. It must be a whole number from 1 to 10000.'],
  ['list --limit many', '--limit many is invalid. It must be a whole number from 1 to 10000.'],
  ['mails --limit=', '--limit needs a value: <n>.'],
  ['mails a@b.co', 'mails takes no arguments, but got: a@b.co.'],
  ['import', 'The argument <file> is missing.'],
  ['import a.ndjson b.ndjson', 'import takes one argument, but got: a.ndjson, b.ndjson.'],
  ['import a.ndjson --force', 'Unknown option --force.'],
])('belfry admin %s is refused: %s', async (line, error) => {
  expect(await getUsageError(`admin ${line}`)).toBe(error);
});

test('belfry admin without a command prints the list of commands and fails', async () => {
  const { code, output, errorOutput } = await runCommand('admin');
  expect([code, output]).toEqual([2, '']);
  expect(errorOutput).toMatch(/^No command given\.\nUsage: belfry admin \[options\] \[command\]\n/);
  expect(errorOutput).toMatch(/\n {2}create +Create [\s\S]*\n {2}import <file> /);
});

/** The accounts of an app, which record what commands ask for. */
const createAccounts = () => ({
  ready: async () => undefined,
  list: vi.fn(async (_filter: object) => []),
  find: async () => undefined,
  create: vi.fn(async (input: { email: string }) => ({ id: '1', ...input })),
});

test('omitted options have their defaults', async () => {
  const accounts = createAccounts();
  expect(await runCommand('admin list', { accounts })).toMatchObject({ code: 0, output: 'No users found.' });
  expect(accounts.list).toHaveBeenCalledWith({ role: undefined, limit: 50 });
});

test('additional fields are texts or JSON', async () => {
  const accounts = createAccounts();
  const fields = ['--set', 'phone=123', '--set', 'age:=30', '--set', 'tags:=["a"]', '--set', 'note=a = b'];
  const words = ['admin', 'create', '--email', 'a@b.co', ...fields];
  expect((await runCommand(words, { accounts, declared: { columns: new Map() } })).code).toBe(0);
  expect(accounts.create).toHaveBeenCalledWith({
    email: 'a@b.co',
    password: expect.any(String),
    phone: '123',
    age: 30,
    tags: ['a'],
    note: 'a = b',
  });
});
