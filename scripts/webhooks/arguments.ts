import { parseArgs } from 'node:util';

/** The usage of each command. */
const USAGE = {
  status: '[--worst 10] [--json]',
  retry: '--endpoint <id> and/or --since <time> [--json]',
  drain: '[--timeout 5m] [--json]',
} as const;

type Command = keyof typeof USAGE;

/** The parsed command line. */
export interface WebhookArguments {
  command: Command;
  json: boolean;
  /** Number of endpoints that `status` lists. */
  worst: number;
  /** The id of an endpoint. Undefined: all endpoints. */
  endpoint: string | undefined;
  /** ISO 8601. Undefined: everything in the log. */
  since: string | undefined;
  timeoutMs: number;
}

const UNIT_MS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const EPOCH_MS = 0;

function fail(text: string, command?: Command): never {
  const commands = command === undefined ? (Object.keys(USAGE) as Command[]) : [command];
  throw new Error(`${text}\n${commands.map((one) => `npm run webhooks -- ${one} ${USAGE[one]}`).join('\n')}`);
}

/** Parses `90s`, `5m`, `2h`, `1d` into ms; undefined for anything else. */
function spanOf(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return unit === undefined ? undefined : Number(count) * UNIT_MS[unit]!;
}

/** Parses a time in ISO 8601, or a duration before now. */
function timeOf(text: string): string {
  const span = spanOf(text);
  const isIso = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text);
  const at = span !== undefined ? Date.now() - span : isIso ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at) || at < EPOCH_MS)
    fail(`--since must look like 2h, 1d, 2030-01-31 or 2030-01-31T12:00:00Z, not ${text}.`, 'retry');
  return new Date(at).toISOString();
}

/**
 * Reads the command line of `npm run webhooks`.
 *
 * @throws Error with a message for the terminal
 */
export function readWebhookArguments(given: readonly string[]): WebhookArguments {
  const [command, ...rest] = given as [Command | undefined, ...string[]];
  if (command === undefined) fail('No command given. Usage:');
  if (!Object.hasOwn(USAGE, command)) fail(`Unknown command ${command}. Usage:`);
  const { values, tokens } = parseArgs({
    args: rest,
    options: {
      json: { type: 'boolean', default: false },
      worst: { type: 'string', default: '10' },
      endpoint: { type: 'string' },
      since: { type: 'string' },
      timeout: { type: 'string', default: '5m' },
    },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === 'positional') fail(`Unknown argument ${token.value}.`, command);
    if (token.kind !== 'option') continue;
    if (!USAGE[command].includes(`--${token.name}`)) fail(`Unknown argument ${token.rawName}.`, command);
    if (token.name !== 'json' && (token.value ?? '') === '') fail(`${token.rawName} needs a value.`, command);
  }
  const text = (name: 'worst' | 'endpoint' | 'since' | 'timeout') => values[name] as string | undefined;
  const [worst, timeoutMs] = [Number(text('worst')), spanOf(text('timeout')!)];
  if (!Number.isInteger(worst) || worst < 0 || worst > 1000)
    fail(`--worst must be a whole number from 0 to 1000, not ${text('worst')}.`, command);
  if (timeoutMs === undefined) fail(`--timeout must look like 90s, 5m or 1h, not ${text('timeout')}.`, command);
  const [endpoint, since] = [text('endpoint'), text('since')];
  if (command === 'retry' && endpoint === undefined && since === undefined)
    fail('--endpoint or --since is missing.', command);
  if (endpoint !== undefined && !/^[0-9a-f]{24}$/.test(endpoint))
    fail(`--endpoint must be an id of 24 hex digits, not ${endpoint}.`, command);
  return { command, json: values.json === true, worst, endpoint, since: since && timeOf(since), timeoutMs };
}
