import { parseArgs } from 'node:util';

/** How each command is called. */
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

/** One of the commands. */
type Command = keyof typeof USAGE;

/** What was asked for at the command line. */
export interface AdminArguments {
  command: Command;
  email: string;
  name: string | undefined;
  /** Default `admin`; of `list` none. */
  role: string | undefined;
  limit: number;
  /** Further fields of a user, by name. */
  fields: Record<string, unknown>;
  passwordFromInput: boolean;
  end: boolean;
  /** Of an import. */
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

/** What can be asked for, a line each. */
function usage(commands: readonly Command[] = Object.keys(USAGE) as Command[]): string {
  return commands.map((command) => `npm run admin -- ${command} ${USAGE[command]}`).join('\n');
}

function wrong(text: string, command?: Command): never {
  throw new Error(`${text}\n${usage(command && [command])}`);
}

/** Fields that have an argument of their own, which would win in silence. */
const OWN_ARGUMENT = new Map([
  ['email', '--email'],
  ['password', '--password-stdin'],
  ['roles', '--role'],
]);

/** `phone=123` is the text 123, `age:=30` the number: what follows `:=` is JSON. */
function fieldOf(text: string, command: Command): [string, unknown] {
  const [, name, json, value] = /^([A-Za-z]\w*)(:?)=(.*)$/s.exec(text) ?? [];
  if (name === undefined) return wrong(`--set ${text} should look like --set field=value, or field:=json.`, command);
  if (OWN_ARGUMENT.has(name)) return wrong(`--set cannot give ${name}: use ${OWN_ARGUMENT.get(name)}.`, command);
  if (json === '') return [name, value];
  try {
    return [name, JSON.parse(value!)];
  } catch {
    return wrong(`--set ${text}: what follows := must be JSON.`, command);
  }
}

function limitOf(text: string, command: Command): number {
  const limit = Number(text);
  return Number.isInteger(limit) && limit > 0 && limit <= 10_000
    ? limit
    : wrong(`--limit must be from 1 to 10000, not ${text}.`, command);
}

/**
 * Reads the command line of `npm run admin`.
 *
 * @throws Error with lines for the person at the terminal
 */
export function readAdminArguments(given: readonly string[]): AdminArguments {
  const [command, ...rest] = given as [Command, ...string[]];
  if (command === undefined) return wrong('Say what to do:');
  if (!Object.hasOwn(USAGE, command)) return wrong(`Unknown command ${command}. There are:`);
  const { tokens } = parseArgs({ args: rest, options: OPTIONS, strict: false, allowPositionals: true, tokens: true });
  const known = (name: string) => USAGE[command].includes(`--${name}`) && Object.hasOwn(OPTIONS, name);
  const files: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') files.push(token.value);
    if (token.kind !== 'option') continue;
    if (!known(token.name)) wrong(`Unknown argument ${token.rawName}.`, command);
    const { type } = OPTIONS[token.name as keyof typeof OPTIONS];
    if (type === 'string' && (token.value ?? '') === '') wrong(`${token.rawName} needs a value.`, command);
    if (type === 'boolean' && token.value !== undefined) wrong(`${token.rawName} takes no value.`, command);
  }
  const { values } = parseArgs({ args: rest, options: OPTIONS, allowPositionals: true });
  const wanted = command === 'import' ? 1 : 0;
  if (files.length > wanted) wrong(`Unknown argument ${files.slice(wanted).join(' ')}.`, command);
  if (files.length < wanted) wrong('Say which file.', command);
  if (USAGE[command].startsWith('--email') && values.email === undefined) wrong('--email is missing.', command);
  return {
    command,
    email: values.email ?? '',
    name: values.name,
    role: values.role ?? (command === 'list' ? undefined : 'admin'),
    limit: limitOf(values.limit ?? '50', command),
    fields: Object.fromEntries((values.set ?? []).map((text) => fieldOf(text, command))),
    passwordFromInput: values['password-stdin'] ?? false,
    end: values.end ?? false,
    file: files[0] ?? '',
  };
}
