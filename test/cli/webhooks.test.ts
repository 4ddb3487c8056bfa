import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { startReceiver } from '../fakes/receiver.ts';
import { blog } from '../fixtures/blog/app.ts';
import { startTestApp } from '../support/app.ts';
import { generateKey } from '../support/database/encrypted-patients.ts';
import { BLOG, createAppProject } from '../support/processes/app-project.ts';
import { runCommandProcess } from '../support/processes/command.ts';
import { runCommand } from '../support/processes/in-process.ts';
import { getUsageError } from '../support/processes/usage-error.ts';
import { ALL_DELIVERIES, failDeliveries } from '../support/webhooks/deliveries.ts';

// Each command is a process that loads the whole app.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const project = createAppProject();
project.writeApp(BLOG);
afterAll(project.remove);
const SVC_ENCRYPTION_KEYS = generateKey();
const { app, env: own, person } = await startTestApp(blog, { roles: 'all', env: () => ({ SVC_ENCRYPTION_KEYS }) });
const client = new Client({ connectionString: own.DATABASE_URL });
await client.connect();
afterAll(() => client.end());
const stores = {
  DATABASE_URL: own.DATABASE_URL!,
  REDIS_URL: own.REDIS_URL!,
  REDIS_PREFIX: own.REDIS_PREFIX!,
  SVC_ENCRYPTION_KEYS,
};

/** Runs a command in a process of its own. */
const command = (args: string) => runCommandProcess(project.folder, `webhooks ${args}`, stores);

/** Runs a command in this process, on the running app. */
const webhooks = (args: string) => runCommand(`webhooks ${args}`, app);

test.each([
  ['stop', 'Unknown command stop.'],
  ['retyr', 'Unknown command retyr. Did you mean retry?'],
  ['retry', '--endpoint or --since is missing.'],
  ['retry --json', '--endpoint or --since is missing.'],
  ['retry now', 'retry takes no arguments, but got: now.'],
  ['retry --endpoint 12', '--endpoint 12 is invalid. It must be an id of 24 hex digits.'],
  [
    'retry --since yesterday',
    '--since yesterday is invalid. It must look like 2h, 1d, 2030-01-31 or 2030-01-31T12:00:00Z.',
  ],
  [
    'retry --since 2030-02-31T99:00Z',
    '--since 2030-02-31T99:00Z is invalid. It must look like 2h, 1d, 2030-01-31 or 2030-01-31T12:00:00Z.',
  ],
  ['retry --since=', '--since needs a value: <time>.'],
  ['drain --timeout soon', '--timeout soon is invalid. It must look like 90s, 5m or 1h.'],
  ['drain all', 'drain takes no arguments, but got: all.'],
  ['status --worst -1', '--worst -1 is invalid. It must be a whole number from 0 to 1000.'],
  ['status --worst 1001', '--worst 1001 is invalid. It must be a whole number from 0 to 1000.'],
  ['status --since 1d', 'Unknown option --since.'],
  ['status all', 'status takes no arguments, but got: all.'],
])('belfry webhooks %s is refused: %s', async (line, error) => {
  expect(await getUsageError(`webhooks ${line}`)).toBe(error);
});

test('status reports waiting and failed deliveries, retry sends the failed ones again, drain waits until none are waiting', async () => {
  const [ada, eve] = [await person('Ada'), await person('Eve')];
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const subscribe = async (who: typeof ada) => {
    const { body } = await who.call('POST', '/api/webhooks', {
      url: `${receiver.url}?token=not-to-be-shown`,
      events: ['post.created'],
    });
    return body.data.id as string;
  };
  const [working, off] = [await subscribe(ada), await subscribe(eve)];
  receiver.answer(500, 204);
  await ada.call('POST', '/api/posts', { title: 'one', status: 'published' });
  await ada.call('POST', '/api/posts', { title: 'two' });
  await receiver.received(3);
  const inTurns = async () => (await client.query('select from webhook_turns where holder is not null')).rowCount;
  await vi.waitUntil(async () => (await inTurns()) === 0, { timeout: 60_000 });
  // As if all retries were used up and one endpoint were disabled.
  await failDeliveries(client, `status = 'pending' or endpoint_id = $1`, [off]);
  await client.query(`update webhook_endpoints set enabled = false, disabled_reason = 'failing' where id = $1`, [off]);
  // A failed test delivery has no schedule, and retry does not send it again.
  receiver.answer(500);
  expect((await ada.call('POST', `/api/webhooks/${working}/test`)).body.data.status).toBe('failed');
  receiver.answer(204);
  const { rows: failed } = await client.query(
    `select count(*)::int as n from ${ALL_DELIVERIES} d where status = 'failed' and type = 'post.created'`,
  );

  const statusResult = await command('status --json --worst 3');
  expect(statusResult).toMatchObject({ code: 0, errorOutput: '' });
  const statusReport = JSON.parse(statusResult.output);
  expect(statusReport).toMatchObject({
    endpoints: { disabled: { failing: 1 } },
    queue: { due: 0, inFlight: 0, events: 0, oldestMs: null },
    attempts: { succeeded: 2, 'status 500': 2 },
  });
  expect(failed[0].n).toBeGreaterThanOrEqual(1);
  expect(statusReport.failed).toBe(failed[0].n);
  expect(statusReport.worst.find(({ id }: { id: string }) => id === off)).toMatchObject({
    status: 'disabled',
    failed: 1,
  });
  const { output } = await webhooks('status');
  // The last attempt of one endpoint was that of the test.
  expect(output).toMatch(
    /^Endpoints: \d active, 1 retrying, 0 failing, 1 disabled \(1 failing\)\.\nQueue: 0 events wait for the relay/,
  );
  expect(output).toContain(new URL(receiver.url).host);
  expect(output).not.toContain('not-to-be-shown');

  await failDeliveries(client, 'endpoint_id = $1', [working]);
  const before = receiver.requests.length;
  const retried = await command('retry --since 1d');
  expect(retried.output.split('\n').toSorted()).toEqual(
    [`${working}: 2 deliveries are being sent again`, `${off} is disabled; its owner must enable it first`].toSorted(),
  );
  expect(retried.code).toBe(1);
  const drain = await webhooks('drain --timeout 60s');
  expect(drain).toMatchObject({ code: 0, output: expect.stringMatching(/^(.*\n)*Drained: 0 events wait/) });
  expect(receiver.requests.length).toBe(before + 2);
  expect(JSON.parse((await webhooks(`retry --endpoint ${working} --json`)).output)).toEqual([]);
});

test('drain gives up after its timeout, with exit code 1 and the remaining work', async () => {
  const ada = await person('Ida');
  const { body } = await ada.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events: ['post.created'] });
  await client.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, status, lease_until)
     values ('f00000000000000000000001', $1, 'e', 'msg_1', 'post.created', '{}', 'sending', now() + interval '1 hour')`,
    [body.data.id],
  );
  const { code, output } = await webhooks('drain --timeout 1s --json');
  expect(code).toBe(1);
  expect(JSON.parse(output)).toMatchObject({ drained: false, inFlight: 1 });
});
