import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { ENDPOINT_STATE, getEndpointState } from '../../../../src/extensions/webhooks/endpoints/endpoint-state.ts';
import { adminConsole, defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import type { App } from '../../../../src/runtime/create-app.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { startTestApp } from '../../../support/app.ts';
import { runCommand } from '../../../support/processes/in-process.ts';

const receiver = await startReceiver();
afterAll(() => receiver.close());
const note = defineResource('note', { fields: { text: f.text(), owner: f.ref('user').owner() } });
const running = await startTestApp(
  {
    resources: [defineUser(), note],
    extensions: [webhooks({ retrySchedule: [], pollMs: 100, disableAfterFailures: 2 }), adminConsole()],
  },
  { roles: 'all' },
);
const { app } = running as unknown as { app: Pick<App, 'diagnose'> };
const client = new Client({ connectionString: running.env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());

const EARLY = '2030-01-01T00:00:00.000Z';
const LATE = '2030-01-01T00:00:00.001Z';

test.each([
  [true, 0, null, null, 'active'],
  [true, 0, EARLY, null, 'active'],
  [true, 0, LATE, EARLY, 'active'],
  [true, 0, EARLY, EARLY, 'active'],
  [true, 0, null, EARLY, 'retrying'],
  [true, 0, EARLY, LATE, 'retrying'],
  [true, 1, null, EARLY, 'failing'],
  [true, 1, EARLY, LATE, 'failing'],
  // Of deliveries that are sent at the same time, a later one may have begun earlier.
  [true, 1, LATE, EARLY, 'failing'],
  [true, 4, EARLY, EARLY, 'failing'],
  [false, 0, null, null, 'disabled'],
  [false, 0, LATE, EARLY, 'disabled'],
  [false, 0, EARLY, LATE, 'disabled'],
  [false, 5, EARLY, LATE, 'disabled'],
] as const)(
  'enabled %s, %i failures in a row, last success %s, last failure %s: %s, also in SQL',
  async (enabled, consecutiveFailures, lastSuccessAt, lastFailureAt, state) => {
    expect(getEndpointState({ enabled, consecutiveFailures, lastSuccessAt, lastFailureAt })).toBe(state);
    const { rows } = await client.query(
      `select ${ENDPOINT_STATE} as state from (select $1::boolean as enabled, $2::int as consecutive_failures,
      $3::timestamptz as last_success_at, $4::timestamptz as last_failure_at) e`,
      [enabled, consecutiveFailures, lastSuccessAt, lastFailureAt],
    );
    expect(rows).toEqual([{ state }]);
  },
);

test('an endpoint that only fails has the same state in the API, the console, the command line and the doctor', async () => {
  const kim = await running.person('Kim');
  const created = await kim.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'] });
  const path = `/webhooks/${created.body.data.id}`;
  const inApi = async () => (await kim.call('GET', `/api${path}`)).body.data;
  const inConsole = async (rest: string) => (await running.call('GET', `/console/api/webhooks${rest}`)).body.data;
  const inDoctor = async () =>
    (await app.diagnose())
      .filter(({ message }) => message.includes('webhook endpoint'))
      .map(({ message, fix }) => [message, fix]);
  const statesOfAll = async () => {
    const { status } = await inApi();
    const [listed] = await inConsole('/endpoints');
    const { state } = await inConsole(path.replace('webhooks', 'endpoints'));
    return { api: status, list: listed.state, page: state };
  };
  const inCommand = async () => (await runCommand('webhooks status', running.app)).output;
  expect(await statesOfAll()).toEqual({ api: 'active', list: 'active', page: 'active' });
  expect(await inDoctor()).toEqual([]);

  receiver.answer(500);
  await kim.call('POST', '/api/notes', { text: 'x' });
  await expect.poll(async () => (await inApi()).status, { timeout: 30_000 }).toBe('failing');
  expect(await statesOfAll()).toEqual({ api: 'failing', list: 'failing', page: 'failing' });
  expect((await inConsole('/overview')).endpoints).toEqual({ active: 0, retrying: 0, failing: 1, disabled: {} });
  expect(await inCommand()).toMatch(/^Endpoints: 0 active, 0 retrying, 1 failing, 0 disabled\.\n/);
  expect(await inCommand()).toMatch(/ {2}failing {2}/);
  expect(await inDoctor()).toEqual([
    [
      `1 webhook endpoint is failing: ${new URL(receiver.url).host} (status 500)`,
      'see npx belfry webhooks status, and /console/webhooks/endpoints?state=failing in the console',
    ],
  ]);

  await kim.call('POST', '/api/notes', { text: 'y' });
  await expect.poll(async () => (await inApi()).status, { timeout: 30_000 }).toBe('disabled');
  expect(await statesOfAll()).toEqual({ api: 'disabled', list: 'disabled', page: 'disabled' });
  expect(await inCommand()).toMatch(/^Endpoints: 0 active, 0 retrying, 0 failing, 1 disabled \(1 failing\)\.\n/);
  expect(await inDoctor()).toEqual([]);

  // Enabling it forgets the failed deliveries, but its last attempt still failed.
  await kim.call('PATCH', `/api${path}`, { enabled: true });
  expect(await statesOfAll()).toEqual({ api: 'active', list: 'retrying', page: 'retrying' });
  receiver.answer(204);
  await kim.call('POST', `/api${path}/test`);
  expect(await statesOfAll()).toEqual({ api: 'active', list: 'active', page: 'active' });
});

test('the doctor counts all endpoints of a state and lists the hosts of the newest failures, without the URLs', async () => {
  const values = Array.from({ length: 5 }, (_, place) => [`a${place}`.padEnd(24, '0'), place]);
  for (const [id, place] of values)
    await client.query(
      `insert into webhook_endpoints (id, owner_id, url, events, scope, secret, consecutive_failures, last_failure_at)
        values ($1, 'none', 'https://host' || $2::text || '.example/?token=hidden', '{}', 'own', '', $3, now() + $2::int * interval '1 s')`,
      [id, place, place === 0 ? 0 : 1],
    );
  const messages = (await app.diagnose())
    .map(({ message }) => message)
    .filter((one) => one.includes('webhook endpoint'));
  expect(messages).toEqual([
    '4 webhook endpoints are failing: host4.example, host3.example, host2.example and 1 more',
    '1 webhook endpoint is retrying: host0.example',
  ]);
});

test('messages that nobody fetches are seen in the command line, and after a day in the console and by the doctor', async () => {
  const kim = await running.person('Kim');
  const { body } = await kim.call('POST', '/api/webhooks', { delivery: 'poll', events: ['note.created'] });
  const { id } = body.data;
  await kim.call('POST', `/api/webhooks/${id}/test`);
  const { output } = await runCommand('webhooks status --json', running.app);
  const status = JSON.parse(output);
  expect(status.unfetched).toEqual({ messages: 1, oldestMs: expect.any(Number) });
  expect(status.worst).toContainEqual(expect.objectContaining({ id, host: 'polled', due: 0, unfetched: 1 }));
  expect((await runCommand('webhooks status', running.app)).output).toContain(
    'Polled: 1 message waits to be fetched, the oldest for ',
  );
  const message = '1 polled webhook endpoint has messages that wait for more than a day';
  const isFound = async () => (await app.diagnose()).some((one) => one.message === message);
  expect(await isFound()).toBe(false);
  await client.query(
    `update webhook_deliveries set next_attempt_at = now() - interval '25 hours' where endpoint_id = $1`,
    [id],
  );
  expect(await isFound()).toBe(true);
  const overview = await running.call('GET', '/console/api/overview');
  expect(JSON.stringify(overview.body.data)).toContain(message);
});
