// `npm run webhooks -- status`: how webhooks are doing. `-- retry`: sends again what failed. `-- drain`: waits until nothing waits to
// be sent. It needs DATABASE_URL and SVC_ENCRYPTION_KEYS, from the shell or from .env, or a running `npm run dev`.
import { setTimeout as sleep } from 'node:timers/promises';
import type { WebhookOperations } from '../src/extensions/webhooks/operations.ts';
import { fail } from './deployment/fail.ts';
import { loadApp } from './deployment/load-app.ts';
import { readWebhookArguments, type WebhookArguments } from './webhooks/arguments.ts';
import { queueLine, retryLines, statusLines } from './webhooks/report.ts';

const LOOK_MS = 500;
const LINE_MS = 5000;

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
  const app = await loadApp({
    environment: { NODE_ENV: 'test', LOG_LEVEL: 'error' },
    orDevelopment: true,
    needsKeys: true,
  });
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
