// `npm run webhooks -- status`: how webhooks are doing. `-- retry`: sends again what failed. `-- drain`: waits until nothing waits to
// be sent. It needs DATABASE_URL and SVC_ENCRYPTION_KEYS, from the shell or from .env, or a running `npm run dev`.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WebhookOperations } from '../src/extensions/webhooks/operations.ts';
import type { App } from '../src/runtime/create-app.ts';
import { DEVELOPMENT_ENVIRONMENT } from './dev/environment.ts';
import { readWebhookArguments, type WebhookArguments } from './webhooks/arguments.ts';
import { queueLine, retryLines, statusLines } from './webhooks/report.ts';

const root = join(import.meta.dirname, '..');
const LOOK_MS = 500;
const LINE_MS = 5000;

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

/** The app of this deployment, to be connected to its database; Redis is only told that there is something to do. */
async function loadApp(): Promise<App & { webhooks?: WebhookOperations }> {
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

async function status(webhooks: WebhookOperations, { worst, json }: WebhookArguments): Promise<void> {
  const found = await webhooks.status(worst);
  console.log(json ? JSON.stringify(found) : statusLines(found).join('\n'));
}

async function retry(webhooks: WebhookOperations, { endpoint, since, json }: WebhookArguments): Promise<void> {
  const recovered = await webhooks.recoverFailed({ endpoint, since });
  console.log(json ? JSON.stringify(recovered) : retryLines(recovered).join('\n'));
  if (recovered.some(({ state }) => state !== 'begun')) process.exitCode = 1;
}

/** Waits until nothing is due and nothing in flight. What waits for its next attempt is not waited for. */
async function drain(webhooks: WebhookOperations, { timeoutMs, json }: WebhookArguments): Promise<void> {
  const end = performance.now() + timeoutMs;
  let said = performance.now();
  for (;;) {
    const queue = await webhooks.queue();
    const isDrained = queue.events + queue.due + queue.inFlight === 0;
    if (isDrained || performance.now() >= end) {
      if (json) console.log(JSON.stringify({ drained: isDrained, ...queue }));
      else console.log(`${isDrained ? 'Drained' : 'Not drained in time'}: ${queueLine(queue)}.`);
      if (!isDrained) process.exitCode = 1;
      return;
    }
    if (!json && performance.now() - said >= LINE_MS) {
      said = performance.now();
      console.log(`${queueLine(queue)}.`);
    }
    await sleep(Math.min(LOOK_MS, end - performance.now()));
  }
}

try {
  const given = readWebhookArguments(process.argv.slice(2));
  const app = await loadApp();
  if (app.webhooks === undefined) fail('This app has no webhooks: see docs/webhooks.md.');
  try {
    await app.accounts!.ready();
    if (given.command === 'status') await status(app.webhooks, given);
    else if (given.command === 'retry') await retry(app.webhooks, given);
    else await drain(app.webhooks, given);
  } finally {
    await app.close();
  }
} catch (error) {
  fail((error as Error).message);
}
