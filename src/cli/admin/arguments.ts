import { parseArgs } from 'node:util';

/** The usage of each command. */
const USAGE = {
  create: '--email ann@example.com [--name Ann] [--role admin] [--set field=value] [--password-stdin]',
  promote: '--email ann@example.com [--role admin]',
  demote: '--email ann@example.com [--role admin]',
  disable: '--email ann@example.com',
  enable: '--email ann@example.com',
  list: '[--role admin] [--limit 50]',
  sessions: '--email ann@example.com [--end]',
  mails: '[--email ann@example.com] [--limit 50]',
  import: 'users.ndjson',
} as const;

/** The name of a command. */
type Command = keyof typeof USAGE;

/** The parsed command line. */
export interface AdminArguments {
  command: Command;
  email: string;
  name: string | undefined;
  /** Default `admin`; `list` has no default. */
  role: string | undefined;
  limit: number;
  /** Additional fields of a user, by name. */
  fields: Record<string, unknown>;
  passwordFromInput: boolean;
  end: boolean;
  /** The file of an import. */
  file: string;
}

const OPTIONS = {
  email: { type: 'string' },
  name: { type: 'string' },
  role: { type: 'string' },
  limit: { type: 'string' },
  set: { type: 'string', multiple: true },
  'password-stdin': { type: 'boolean' },
  end: { type: 'boolean' },
} as const;

/** The usage of all commands, one line each. */
function formatUsage(commands: readonly Command[] = Object.keys(USAGE) as Command[]): string {
  return commands.map((command) => `npm run admin -- ${command} ${USAGE[command]}`).join('\n');
}

function fail(text: string, command?: Command): never {
  throw new Error(`${text}\n${formatUsage(command && [command])}`);
}

/** Fields that have an option of their own. As an additional field, they would be silently overridden. */
const RESERVED_FIELDS = new Map([
  ['email', '--email'],
  ['password', '--password-stdin'],
  ['roles', '--role'],
]);

/** `phone=123` sets the text 123, `age:=30` the number: the value after `:=` is JSON. */
function parseField(text: string, command: Command): [string, unknown] {
  const [, name, json, value] = /^([A-Za-z]\w*)(:?)=(.*)$/s.exec(text) ?? [];
  if (name === undefined) return fail(`--set must be field=value or field:=json, not ${text}.`, command);
  if (RESERVED_FIELDS.has(name)) return fail(`--set cannot set ${name}. Use ${RESERVED_FIELDS.get(name)}.`, command);
  if (json === '') return [name, value];
  try {
    return [name, JSON.parse(value!)];
  } catch {
    return fail(`--set ${text}: the value after := must be JSON.`, command);
  }
}

function parseLimit(text: string, command: Command): number {
  const limit = Number(text);
  return Number.isInteger(limit) && limit > 0 && limit <= 10_000
    ? limit
    : fail(`--limit must be a whole number from 1 to 10000, not ${text}.`, command);
}

/**
 * Reads the command line of `npm run admin`.
 *
 * @throws Error with a message for the terminal
 */
export function readAdminArguments(given: readonly string[]): AdminArguments {
  const [command, ...rest] = given as [Command, ...string[]];
  if (command === undefined) return fail('No command given. Usage:');
  if (!Object.hasOwn(USAGE, command)) return fail(`Unknown command ${command}. Usage:`);
  const { tokens } = parseArgs({ args: rest, options: OPTIONS, strict: false, allowPositionals: true, tokens: true });
  const isKnownOption = (name: string) => USAGE[command].includes(`--${name}`) && Object.hasOwn(OPTIONS, name);
  const files: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') files.push(token.value);
    if (token.kind !== 'option') continue;
    if (!isKnownOption(token.name)) fail(`Unknown argument ${token.rawName}.`, command);
    const { type } = OPTIONS[token.name as keyof typeof OPTIONS];
    if (type === 'string' && (token.value ?? '') === '') fail(`${token.rawName} needs a value.`, command);
    if (type === 'boolean' && token.value !== undefined) fail(`${token.rawName} takes no value.`, command);
  }
  const { values } = parseArgs({ args: rest, options: OPTIONS, allowPositionals: true });
  const wanted = command === 'import' ? 1 : 0;
  if (files.length > wanted) fail(`Unknown argument ${files.slice(wanted).join(' ')}.`, command);
  if (files.length < wanted) fail('The file is missing.', command);
  if (USAGE[command].startsWith('--email') && values.email === undefined) fail('--email is missing.', command);
  return {
    command,
    email: values.email ?? '',
    name: values.name,
    role: values.role ?? (command === 'list' ? undefined : 'admin'),
    limit: parseLimit(values.limit ?? '50', command),
    fields: Object.fromEntries((values.set ?? []).map((text) => parseField(text, command))),
    passwordFromInput: values['password-stdin'] ?? false,
    end: values.end ?? false,
    file: files[0] ?? '',
  };
}
