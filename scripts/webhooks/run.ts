import { setTimeout as sleep } from 'node:timers/promises';
import type { WebhookOperations } from '../../src/extensions/webhooks/index.ts';
import type { WebhookArguments } from './arguments.ts';
import { queueLine, retryLines, statusLines } from './report.ts';

const POLL_MS = 500;
const LINE_MS = 5000;

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
    if (!json && performance.now() - printedAt >= LINE_MS) {
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
export async function run(webhooks: WebhookOperations, given: WebhookArguments): Promise<boolean> {
  if (given.command === 'retry') return retry(webhooks, given);
  if (given.command === 'drain') return drain(webhooks, given);
  await status(webhooks, given);
  return true;
}
