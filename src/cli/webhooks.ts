// `npm run webhooks -- status` shows the state of endpoints and queue, `-- retry` sends failed deliveries again, `-- drain` waits
// until the queue is empty. Needs DATABASE_URL and SVC_ENCRYPTION_KEYS from the shell or from .env, or a running `npm run dev`.

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { WebhookOperations } from '../extensions/webhooks/index.ts';
import type { RecoveredEndpoint } from '../extensions/webhooks/recovery/recoveries.ts';
import type { WebhookQueue, WebhookStatus } from '../extensions/webhooks/status.ts';
import { alignColumns, formatCount, stripControlCharacters } from './format.ts';
import { loadApp, printErrorAndExit } from './project.ts';

/** The usage of each command. */
const USAGE = {
  status: '[--worst 10] [--json]',
  retry: '--endpoint <id> and/or --since <time> [--json]',
  drain: '[--timeout 5m] [--json]',
} as const;

type Command = keyof typeof USAGE;

/** The parsed command line. */
interface WebhookArguments {
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

function failWithUsage(text: string, command?: Command): never {
  const commands = command === undefined ? (Object.keys(USAGE) as Command[]) : [command];
  throw new Error(`${text}\n${commands.map((one) => `npm run webhooks -- ${one} ${USAGE[one]}`).join('\n')}`);
}

/** Parses `90s`, `5m`, `2h`, `1d` into ms; undefined for anything else. */
function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return unit === undefined ? undefined : Number(count) * UNIT_MS[unit]!;
}

/** Parses a time in ISO 8601, or a duration before now. */
function parseTime(text: string): string {
  const durationMs = parseDuration(text);
  const isIso = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text);
  const at = durationMs !== undefined ? Date.now() - durationMs : isIso ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at) || at < EPOCH_MS)
    failWithUsage(`--since must look like 2h, 1d, 2030-01-31 or 2030-01-31T12:00:00Z, not ${text}.`, 'retry');
  return new Date(at).toISOString();
}

/**
 * Reads the command line of `npm run webhooks`.
 *
 * @throws Error with a message for the terminal
 */
export function readWebhookArguments(given: readonly string[]): WebhookArguments {
  const [command, ...rest] = given as [Command | undefined, ...string[]];
  if (command === undefined) failWithUsage('No command given. Usage:');
  if (!Object.hasOwn(USAGE, command)) failWithUsage(`Unknown command ${command}. Usage:`);
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
    if (token.kind === 'positional') failWithUsage(`Unknown argument ${token.value}.`, command);
    if (token.kind !== 'option') continue;
    if (!USAGE[command].includes(`--${token.name}`)) failWithUsage(`Unknown argument ${token.rawName}.`, command);
    if (token.name !== 'json' && (token.value ?? '') === '') failWithUsage(`${token.rawName} needs a value.`, command);
  }
  const text = (name: 'worst' | 'endpoint' | 'since' | 'timeout') => values[name] as string | undefined;
  const [worst, timeoutMs] = [Number(text('worst')), parseDuration(text('timeout')!)];
  if (!Number.isInteger(worst) || worst < 0 || worst > 1000)
    failWithUsage(`--worst must be a whole number from 0 to 1000, not ${text('worst')}.`, command);
  if (timeoutMs === undefined)
    failWithUsage(`--timeout must look like 90s, 5m or 1h, not ${text('timeout')}.`, command);
  const [endpoint, since] = [text('endpoint'), text('since')];
  if (command === 'retry' && endpoint === undefined && since === undefined)
    failWithUsage('--endpoint or --since is missing.', command);
  if (endpoint !== undefined && !/^[0-9a-f]{24}$/.test(endpoint))
    failWithUsage(`--endpoint must be an id of 24 hex digits, not ${endpoint}.`, command);
  return { command, json: values.json === true, worst, endpoint, since: since && parseTime(since), timeoutMs };
}

/** Formats a duration: `950 ms`, `12 s`, `3 min`, `2.5 h`. */
function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}

function describeOldest(ms: number | null): string {
  return ms === null ? '' : `, the oldest for ${formatDuration(ms)}`;
}

/** Formats the state of the queue as one line. */
function queueLine({ due, retrying, held, inFlight, oldestMs, events, oldestEventMs }: WebhookQueue): string {
  const parts = [
    `${formatCount(events)} events wait for the relay${describeOldest(oldestEventMs)}`,
    `${formatCount(due)} deliveries wait to be sent${describeOldest(oldestMs)}`,
    `${formatCount(inFlight)} are in flight`,
    `${formatCount(retrying)} wait for their next attempt`,
    ...(held > 0 ? [`${formatCount(held)} are held for disabled or paused endpoints`] : []),
  ];
  return parts.join('; ');
}

function endpointsLine({ active, failing, disabled }: WebhookStatus['endpoints']): string {
  const off = Object.values(disabled).reduce((sum, count) => sum + count, 0);
  const why = Object.entries(disabled).map(([reason, count]) => `${formatCount(count)} ${reason}`);
  return `${formatCount(active)} active, ${formatCount(failing)} failing, ${formatCount(off)} disabled${off > 0 ? ` (${why.join(', ')})` : ''}`;
}

/** Formats the output of `status`. */
function statusLines({ endpoints, queue, failed, attempts, recentMs, worst }: WebhookStatus): string[] {
  const results = Object.entries(attempts).map(([result, count]) => [
    stripControlCharacters(result),
    formatCount(count),
  ]);
  const rows = worst.map((one) => [
    one.id,
    stripControlCharacters(one.host),
    one.status,
    formatCount(one.due),
    one.oldestMs === null ? '-' : formatDuration(one.oldestMs),
    formatCount(one.retrying),
    formatCount(one.failed),
    stripControlCharacters(one.lastError ?? '-'),
  ]);
  return [
    `Endpoints: ${endpointsLine(endpoints)}.`,
    `Queue: ${queueLine(queue)}.`,
    `Log: ${formatCount(failed)} deliveries failed every attempt (to send them again: npm run webhooks -- retry).`,
    '',
    results.length === 0
      ? `No attempts in the last ${formatDuration(recentMs)}.`
      : `Attempts in the last ${formatDuration(recentMs)}:`,
    ...alignColumns(results, '  '),
    ...(rows.length === 0
      ? []
      : [
          '',
          'Endpoints with the most work:',
          ...alignColumns(
            [['id', 'host', 'status', 'due', 'oldest', 'retrying', 'failed', 'last error'], ...rows],
            '  ',
          ),
        ]),
  ];
}

const REFUSAL_TEXTS: Record<string, string> = {
  disabled: 'is disabled; its owner must enable it first',
  busy: 'is being recovered from a different start time; try again when that has finished',
};

/** Formats the output of `retry`. */
function retryLines(recovered: readonly RecoveredEndpoint[]): string[] {
  if (recovered.length === 0) return ['No failed deliveries.'];
  return recovered.map(({ endpoint, state, total }) =>
    state === 'begun'
      ? `${endpoint}: ${formatCount(total)} ${total === 1 ? 'delivery is' : 'deliveries are'} being sent again`
      : `${endpoint} ${REFUSAL_TEXTS[state]}`,
  );
}

const POLL_MS = 500;
const PROGRESS_EVERY_MS = 5000;

async function status(webhooks: WebhookOperations, { worst, json }: WebhookArguments): Promise<void> {
  const found = await webhooks.status(worst);
  console.log(json ? JSON.stringify(found) : statusLines(found).join('\n'));
}

async function retry(webhooks: WebhookOperations, { endpoint, since, json }: WebhookArguments): Promise<boolean> {
  const recovered = await webhooks.recoverFailed({ endpoint, since });
  console.log(json ? JSON.stringify(recovered) : retryLines(recovered).join('\n'));
  return recovered.every(({ state }) => state === 'begun');
}

/** Waits until no delivery is due or in flight. Deliveries that wait for their next attempt do not count. */
async function drain(webhooks: WebhookOperations, { timeoutMs, json }: WebhookArguments): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  let printedAt = performance.now();
  for (;;) {
    const queue = await webhooks.queue();
    const isDrained = queue.events + queue.due + queue.inFlight === 0;
    if (isDrained || performance.now() >= end) {
      if (json) console.log(JSON.stringify({ drained: isDrained, ...queue }));
      else console.log(`${isDrained ? 'Drained' : 'Not drained in time'}: ${queueLine(queue)}.`);
      return isDrained;
    }
    if (!json && performance.now() - printedAt >= PROGRESS_EVERY_MS) {
      printedAt = performance.now();
      console.log(`${queueLine(queue)}.`);
    }
    await sleep(Math.min(POLL_MS, end - performance.now()));
  }
}

/**
 * Runs the command and prints the result.
 *
 * @returns whether everything was done: every endpoint is being retried, or the queue is drained
 */
export async function runWebhookCommand(webhooks: WebhookOperations, given: WebhookArguments): Promise<boolean> {
  if (given.command === 'retry') return retry(webhooks, given);
  if (given.command === 'drain') return drain(webhooks, given);
  await status(webhooks, given);
  return true;
}

if (import.meta.main) {
  try {
    const given = readWebhookArguments(process.argv.slice(2));
    const app = await loadApp({
      environment: { NODE_ENV: 'test', LOG_LEVEL: 'error' },
      orDevelopment: true,
      needsKeys: true,
    });
    if (app.webhooks === undefined) printErrorAndExit('This app has no webhooks. See docs/webhooks.md.');
    try {
      await app.accounts!.ready();
      if (!(await runWebhookCommand(app.webhooks, given))) process.exitCode = 1;
    } finally {
      await app.close();
    }
  } catch (error) {
    printErrorAndExit((error as Error).message);
  }
}
