import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { RecoveredEndpoint } from '../extensions/webhooks/engine/recovery/recoveries.ts';
import type { WebhookOperations } from '../extensions/webhooks/index.ts';
import type { WebhookQueue, WebhookStatus } from '../extensions/webhooks/monitoring/status.ts';
import { parseDuration } from '../platform/helpers/duration.ts';
import type { AppOpener } from './project/project.ts';
import { describeEndpoints } from './status/endpoints.ts';
import {
  alignColumns,
  formatCount,
  formatDuration,
  pluralize,
  ReportedFailure,
  stripControlCharacters,
} from './terminal/terminal.ts';

interface StatusOptions {
  /** The number of endpoints to list. */
  worst: number;
  json?: boolean;
}

interface RetryOptions {
  /** The id of an endpoint. Undefined: all endpoints. */
  endpoint?: string;
  /** ISO 8601. Undefined: everything in the log. */
  since?: string;
  json?: boolean;
}

interface BackfillOptions {
  endpoint: string;
  /** ISO 8601. */
  since: string;
  /** ISO 8601. Undefined: now. */
  until?: string;
  json?: boolean;
}

interface DrainOptions {
  /** In ms. */
  timeout: number;
  json?: boolean;
}

const MAX_WORST = 1000;

function parseTimeout(text: string): number {
  const durationMs = parseDuration(text);
  if (durationMs === undefined) throw new InvalidArgumentError('It must look like 90s, 5m or 1h.');
  return durationMs;
}

/** Parses a time in ISO 8601, or a duration before now. Returns ISO 8601. */
function parseTime(text: string): string {
  const durationMs = parseDuration(text);
  const isIso = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text);
  const at = durationMs !== undefined ? Date.now() - durationMs : isIso ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at) || at < 0)
    throw new InvalidArgumentError('It must look like 2h, 1d, 2030-01-31 or 2030-01-31T12:00:00Z.');
  return new Date(at).toISOString();
}

function parseWorst(text: string): number {
  const worst = Number(text);
  if (/^\d+$/.test(text) && worst <= MAX_WORST) return worst;
  throw new InvalidArgumentError(`It must be a whole number from 0 to ${MAX_WORST}.`);
}

function parseEndpoint(text: string): string {
  if (/^[0-9a-f]{24}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be an id of 24 hex digits.');
}

function describeOldest(ms: number | null): string {
  return ms === null ? '' : `, the oldest for ${formatDuration(ms)}`;
}

/** Formats the state of the queue as one line. */
function queueLine({ due, retrying, held, inFlight, oldestMs, events, oldestEventMs }: WebhookQueue): string {
  const parts = [
    `${pluralize(events, 'event waits', 'events wait')} for the relay${describeOldest(oldestEventMs)}`,
    `${pluralize(due, 'delivery waits', 'deliveries wait')} to be sent${describeOldest(oldestMs)}`,
    `${pluralize(inFlight, 'is', 'are')} in flight`,
    pluralize(retrying, 'waits for its next attempt', 'wait for their next attempt'),
    ...(held > 0
      ? [`${pluralize(held, 'is', 'are')} held: the endpoints are disabled, or their owners may not receive events`]
      : []),
  ];
  return parts.join('; ');
}

/** Formats the deliveries of 24 hours as one line. */
function lastDayLine(day: WebhookStatus['last24Hours']): string {
  const { attempts, succeeded, failed, successRate, attemptsPerDelivery, averageMs } = day;
  const parts = [
    `${pluralize(succeeded, 'delivery', 'deliveries')} succeeded, ${formatCount(failed)} failed${formatShare(successRate)}`,
    `${pluralize(attempts, 'attempt', 'attempts')}${attemptsPerDelivery === null ? '' : `, ${attemptsPerDelivery.toFixed(1)} for each delivery`}`,
    ...(averageMs === null ? [] : [`an attempt took ${averageMs} ms on average`]),
  ];
  return parts.join('; ');
}

/** Formats a success rate. A single failure is not rounded away. */
function formatShare(rate: number | null): string {
  return rate === null ? '' : ` (${Math.floor(rate * 1000) / 10}% success)`;
}

/** Formats the output of `status`. */
function statusLines(found: WebhookStatus): string[] {
  const { endpoints, queue, unfetched, failed, attempts, recentMs, last24Hours, worst } = found;
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
    formatCount(one.unfetched),
    stripControlCharacters(one.lastError ?? '-'),
  ]);
  return [
    `Endpoints: ${describeEndpoints(endpoints)}.`,
    `Queue: ${queueLine(queue)}.`,
    ...(unfetched.messages > 0
      ? [
          `Polled: ${pluralize(unfetched.messages, 'message waits', 'messages wait')} to be fetched${describeOldest(unfetched.oldestMs)}.`,
        ]
      : []),
    `Log: ${pluralize(failed, 'delivery', 'deliveries')} failed every attempt (to send them again: npx belfry webhooks retry).`,
    `Last 24 h: ${lastDayLine(last24Hours)}.`,
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
            [['id', 'host', 'status', 'due', 'oldest', 'retrying', 'failed', 'to fetch', 'last error'], ...rows],
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
      ? `${endpoint}: ${pluralize(total, 'delivery is', 'deliveries are')} being sent again`
      : `${endpoint} ${REFUSAL_TEXTS[state]}`,
  );
}

const POLL_MS = 500;
const PROGRESS_EVERY_MS = 5000;

async function status(webhooks: WebhookOperations, { worst, json }: StatusOptions): Promise<void> {
  const found = await webhooks.status(worst);
  console.log(json ? JSON.stringify(found) : statusLines(found).join('\n'));
}

async function retry(webhooks: WebhookOperations, { endpoint, since, json }: RetryOptions): Promise<void> {
  const recovered = await webhooks.recoverFailed({ endpoint, since });
  console.log(json ? JSON.stringify(recovered) : retryLines(recovered).join('\n'));
  if (!recovered.every(({ state }) => state === 'begun')) throw new ReportedFailure();
}

const BACKFILL_TEXTS = {
  begun: 'gets the kept events that it has missed',
  disabled: 'is disabled; its owner must enable it first',
  missing: 'does not exist',
  busy: 'has an unfinished backfill; try again when that has finished, or resume or cancel it',
};

/** Starts a backfill, which the relay carries out. */
async function backfill(webhooks: WebhookOperations, { endpoint, since, until, json }: BackfillOptions): Promise<void> {
  const begun = await webhooks.backfill({ endpoint, since, until });
  const id = begun.id === null ? '' : ` (backfill ${begun.id})`;
  console.log(json ? JSON.stringify(begun) : `${endpoint} ${BACKFILL_TEXTS[begun.state]}${id}`);
  if (begun.state !== 'begun') throw new ReportedFailure();
}

/** Waits until no delivery is due or in flight. Deliveries that wait for their next attempt do not count. */
async function drain(webhooks: WebhookOperations, { timeout: timeoutMs, json }: DrainOptions): Promise<void> {
  const end = performance.now() + timeoutMs;
  let printedAt = performance.now();
  for (;;) {
    const queue = await webhooks.queue();
    const isDrained = queue.events + queue.due + queue.inFlight === 0;
    if (isDrained || performance.now() >= end) {
      if (json) console.log(JSON.stringify({ drained: isDrained, ...queue }));
      else console.log(`${isDrained ? 'Drained' : 'Not drained in time'}: ${queueLine(queue)}.`);
      if (isDrained) return;
      throw new ReportedFailure();
    }
    if (!json && performance.now() - printedAt >= PROGRESS_EVERY_MS) {
      printedAt = performance.now();
      console.log(`${queueLine(queue)}.`);
    }
    await sleep(Math.min(POLL_MS, end - performance.now()));
  }
}

/** Adds `belfry webhooks`, which shows and repairs webhook deliveries. */
export function addWebhooksCommand(program: Command, openApp: AppOpener): void {
  const webhooks = program
    .command('webhooks')
    .description('Show the state of webhooks, and send failed deliveries again');
  const run = async (command: Command, needsKeys: boolean, work: (webhooks: WebhookOperations) => Promise<void>) => {
    const app = await openApp({
      command: 'webhooks',
      appFile: command.optsWithGlobals().app,
      environment: { NODE_ENV: 'test', LOG_LEVEL: 'error' },
      orDevelopment: true,
      needsKeys,
    });
    if (app.webhooks === undefined) throw new Error('This app has no webhooks. See docs/send/webhooks.md.');
    await app.accounts!.ready();
    await work(app.webhooks);
  };
  webhooks
    .command('status')
    .description('Show the state of the endpoints and of the queue')
    .option('--worst <n>', 'The number of endpoints to list, those with the most work first', parseWorst, 10)
    .option('--json', 'Print JSON')
    .action((options: StatusOptions, command: Command) =>
      run(command, false, (operations) => status(operations, options)),
    );
  webhooks
    .command('retry')
    .description('Send failed deliveries again. Give --endpoint, --since or both')
    .option('--endpoint <id>', 'Only deliveries of this endpoint', parseEndpoint)
    .option(
      '--since <time>',
      'Only deliveries of the last 2h or 1d, or since a time: 2030-01-31 or 2030-01-31T12:00:00Z',
      parseTime,
    )
    .option('--json', 'Print JSON')
    .action((options: RetryOptions, command: Command) => {
      if (options.endpoint === undefined && options.since === undefined)
        command.error('error: --endpoint or --since is missing.');
      return run(command, true, (operations) => retry(operations, options));
    });
  webhooks
    .command('backfill')
    .description('Send an endpoint the kept events that it has missed')
    .requiredOption('--endpoint <id>', 'The endpoint', parseEndpoint)
    .requiredOption(
      '--since <time>',
      'Events of the last 2h or 1d, or since a time: 2030-01-31 or 2030-01-31T12:00:00Z',
      parseTime,
    )
    .option('--until <time>', 'Only events until then, in the same form. Default: now', parseTime)
    .option('--json', 'Print JSON')
    .action((options: BackfillOptions, command: Command) =>
      run(command, true, (operations) => backfill(operations, options)),
    );
  webhooks
    .command('drain')
    .description('Wait until no delivery is due or in flight')
    .addOption(
      new Option('--timeout <duration>', 'The longest time to wait: 90s, 5m or 1h')
        .argParser(parseTimeout)
        .default(300_000, '5m'),
    )
    .option('--json', 'Print JSON')
    .action((options: DrainOptions, command: Command) =>
      run(command, false, (operations) => drain(operations, options)),
    );
}
