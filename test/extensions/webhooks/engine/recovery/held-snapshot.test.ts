// While another session holds an old snapshot, vacuum removes nothing: claims and sweeps must not read what was deleted or updated since then.
import { Client } from 'pg';
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { ResourceGateway } from '../../../../../src/declare/host.ts';
import { createBodyBudget } from '../../../../../src/extensions/webhooks/engine/delivery/body-budget.ts';
import { createClaimStatements } from '../../../../../src/extensions/webhooks/engine/delivery/claim.ts';
import { createEndpointLease } from '../../../../../src/extensions/webhooks/engine/delivery/endpoint-lease.ts';
import {
  createEndpointLeaseRenewals,
  createLeaseReleaser,
  createLeaseRows,
} from '../../../../../src/extensions/webhooks/engine/delivery/lease-store.ts';
import { createPendingEndpoints } from '../../../../../src/extensions/webhooks/engine/recovery/pending-endpoints.ts';
import { createReclaimSweeps } from '../../../../../src/extensions/webhooks/engine/recovery/reclaim.ts';
import { fillProductionDefaults, webhookSettings } from '../../../../../src/extensions/webhooks/settings/settings.ts';
import { defineUser, webhooks } from '../../../../../src/index.ts';
import { openDatabase } from '../../../../../src/platform/data/postgres/database.ts';
import { Settled } from '../../../../../src/platform/data/postgres/settled.ts';
import { newId } from '../../../../../src/platform/helpers/ids.ts';
import { createLogger } from '../../../../../src/platform/observability/log.ts';
import type { Queues } from '../../../../../src/platform/work/queues/queues.ts';
import { startTestApp } from '../../../../support/app.ts';
import { holdSnapshot, observeDatabase } from '../../../../support/database/held-snapshot.ts';

const user = defineUser();
const { env, person } = await startTestApp({ resources: [user], extensions: [webhooks()] }, { roles: ['web'] });
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const log = createLogger('silent', 'test');
const database = openDatabase(env.DATABASE_URL!, 'test', log);
afterAll(async () => {
  await database.close();
  await client.end();
});
const owners = { users: { table: 'users', declaration: user } as unknown as ResourceGateway, organisations: undefined };
const settings = fillProductionDefaults(webhookSettings.parse({}), false);

beforeEach(async () => {
  await client.query('truncate webhook_deliveries, webhook_turns');
});

async function subscribe(): Promise<string> {
  const who = await person('Ann');
  const url = 'http://127.0.0.1:9/';
  return (await who.call('POST', '/api/webhooks', { url, events: ['user.updated'] })).body.data.id;
}

/** Adds pending deliveries that are due `secondsAgo`, the first one at that time and the others a ms later each. */
async function addDeliveries(endpoint: string, secondsAgo: number, count = 1): Promise<void> {
  const id = newId();
  await client.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, next_attempt_at)
     select $1 || n, $2, $1 || n, 'msg', 'user.updated', '{}', now() - $3 * interval '1 second' + n * interval '1 ms'
     from generate_series(1, $4::int) n`,
    [id, endpoint, secondsAgo, count],
  );
}

/** Creates what a worker needs to claim, in a database whose statements are observed. */
function createLeaseParts() {
  const observed = observeDatabase(database, client);
  const leaseRows = createLeaseRows();
  const host = { database: observed, log };
  const renewals = createEndpointLeaseRenewals(host, owners, settings, leaseRows);
  onTestFinished(renewals.stop);
  const parts = {
    host,
    chunk: { fast: 50, slow: 10 },
    bodies: createBodyBudget(1_000_000),
    claimStatements: createClaimStatements({
      table: 'users',
      active: 'true',
      json: () => `'{}'`,
      hasRole: () => 'true',
      organisations: undefined,
      join: 'join users u on u.id = e.owner_id',
    }),
    leaseRows,
    settled: new Settled(),
    globalRoles: null,
    checkGlobalAccess: undefined,
    releaseLease: createLeaseReleaser(host, leaseRows, async () => undefined),
    renewals,
  };
  return { observed, parts };
}

test('a claim reads neither the earlier versions of the lease row nor the deliveries that were sent', async () => {
  const { observed, parts } = createLeaseParts();
  const endpoint = await subscribe();
  // A large row, so that a page holds few versions of it.
  await client.query(
    `insert into webhook_turns (endpoint_id, rate) values ($1, jsonb_build_object('recent', $2::text))`,
    [endpoint, newId().repeat(60)],
  );
  await holdSnapshot(env.DATABASE_URL!);

  const blocks: number[] = [];
  for (let round = 0; round < 20; round++) {
    const lease = createEndpointLease(parts, endpoint);
    for (let claim = 0; claim < 10; claim++) {
      await addDeliveries(endpoint, 1000 - 5 * (10 * round + claim));
      const { deliveries } = (await lease.claim('fast'))!;
      expect(deliveries).toHaveLength(1);
      await client.query('delete from webhook_deliveries');
      lease.setResultWritten(deliveries[0]!.id, true);
    }
    await lease.claim('fast');
    blocks.push(await observed.countBlocks());
    await lease.release();
  }
  expect(blocks.at(-1)).toBeLessThanOrEqual(2 * blocks[0]!);
});

test('a claim of an endpoint whose lease another worker holds does not search its deliveries', async () => {
  const { observed, parts } = createLeaseParts();
  const endpoint = await subscribe();
  await client.query(
    `insert into webhook_turns (endpoint_id, holder, lease_until) values ($1, 'other', now() + interval '1 hour')`,
    [endpoint],
  );
  await addDeliveries(endpoint, 600, 3000);
  await client.query('analyze webhook_deliveries');
  await holdSnapshot(env.DATABASE_URL!);
  await client.query('delete from webhook_deliveries');
  const claim = (await createEndpointLease(parts, endpoint).claim('fast'))!;
  expect(claim).toMatchObject({ deliveries: [], endpoint: { lease: 'taken' } });
  expect(await observed.countBlocks()).toBeLessThan(30);
});

/** Starts the reader of pending endpoints in a database in which searching all deliveries is expensive. */
async function readExpensively() {
  const observed = observeDatabase(database, client);
  observed.makeSearchesExpensive((text) => text.includes('with recursive waiting'));
  const pending = createPendingEndpoints({ database: observed }, owners, settings);
  const read = async () => (await Array.fromAsync(pending.read())).flat().map(([id]) => id);
  return { observed, pending, read, first: await read() };
}

/** Sets the clock of this process forward, so that ids which are created now count as old. */
function forwardSeconds(seconds: number): void {
  const now = Date.now();
  vi.spyOn(Date, 'now').mockReturnValue(now + seconds * 1000);
  onTestFinished(() => void vi.restoreAllMocks());
}

test('the sweep of overdue deliveries skips those that were sent', async () => {
  const [busy, waiting] = [await subscribe(), await subscribe()];
  await addDeliveries(busy, 600, 3000);
  await addDeliveries(waiting, 500);
  await client.query('analyze webhook_deliveries');
  await holdSnapshot(env.DATABASE_URL!);
  await client.query('delete from webhook_deliveries where endpoint_id = $1', [busy]);

  const { observed, read, first } = await readExpensively();
  expect(first).toEqual([waiting]);
  const before = await observed.countBlocks();
  expect(await read()).toEqual([waiting]);
  const after = await observed.countBlocks();
  expect(before).toBeGreaterThan(75);
  expect(after).toBeLessThan(25);
});

test('the sweep finds deliveries that were created since the last search of all', async () => {
  const [waiting, late, fresh] = [await subscribe(), await subscribe(), await subscribe()];
  await addDeliveries(waiting, 500);
  const { read } = await readExpensively();
  await addDeliveries(late, 10);
  // Their transactions may still be open.
  expect(await read()).toEqual([waiting]);
  forwardSeconds(10);
  expect((await read()).sort()).toEqual([waiting, late].sort());
  await client.query('delete from webhook_deliveries where endpoint_id = $1', [waiting]);
  expect(await read()).toEqual([late]);
  await client.query('update webhook_deliveries set next_attempt_at = now() where endpoint_id = $1', [late]);
  await addDeliveries(fresh, 0);
  forwardSeconds(10);
  expect((await read()).sort()).toEqual([late, fresh].sort());
});

test('a delivery that waits again after its worker was lost is found', async () => {
  const lost = await subscribe();
  const { observed, pending, read } = await readExpensively();
  await addDeliveries(lost, 20);
  await client.query(
    `update webhook_deliveries set status = 'sending', attempts = 1, lease_until = now() - interval '1 second'`,
  );
  const queues = { add: async () => undefined } as unknown as Queues;
  const sweeps = createReclaimSweeps({ database: observed, queues }, settings, pending, async () => {
    await client.query(`update webhook_deliveries set status = 'pending', lease_until = null`);
  });
  expect(await read()).toEqual([]);
  await sweeps.find(({ name }) => name === 'webhooks: lost workers')!.run();
  expect(await read()).toEqual([lost]);
});

test('expired leases of overdue endpoints are reclaimed even while a search of all leases is expensive', async () => {
  const [busy, dead] = [await subscribe(), await subscribe()];
  await addDeliveries(dead, 20);
  const { observed, pending } = await readExpensively();
  observed.makeSearchesExpensive((text) => text.includes('with lost as'));
  const queues = { add: async () => undefined } as unknown as Queues;
  const sweeps = createReclaimSweeps({ database: observed, queues }, settings, pending, async () => undefined);
  const sweep = () => sweeps.find(({ name }) => name === 'webhooks: lost workers')!.run();
  const insert = `insert into webhook_turns (endpoint_id, holder, lease_until) values ($1, 'dead', now() - interval '1 second')`;
  await client.query(insert, [busy]);
  expect(await sweep()).toBe(1);
  await client.query(insert, [dead]);
  expect(await sweep()).toBe(1);
});
