// `npm run webhooks -- status` shows the state of endpoints and queue, `-- retry` sends failed deliveries again, `-- drain` waits
// until the queue is empty. Needs DATABASE_URL and SVC_ENCRYPTION_KEYS from the shell or from .env, or a running `npm run dev`.
import { fail } from './deployment/fail.ts';
import { loadApp } from './deployment/load-app.ts';
import { readWebhookArguments } from './webhooks/arguments.ts';
import { run } from './webhooks/run.ts';

try {
  const given = readWebhookArguments(process.argv.slice(2));
  const app = await loadApp({
    environment: { NODE_ENV: 'test', LOG_LEVEL: 'error' },
    orDevelopment: true,
    needsKeys: true,
  });
  if (app.webhooks === undefined) fail('This app has no webhooks. See docs/webhooks.md.');
  try {
    await app.accounts!.ready();
    if (!(await run(app.webhooks, given))) process.exitCode = 1;
  } finally {
    await app.close();
  }
} catch (error) {
  fail((error as Error).message);
}
