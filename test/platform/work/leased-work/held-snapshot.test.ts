// While another session holds an old snapshot, vacuum removes nothing: the relay must not read the rows that were processed since then.
import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { defineUser } from '../../../../src/index.ts';
import { createMailStore } from '../../../../src/platform/mail/store.ts';
import { NO_TRACING } from '../../../../src/platform/observability/tracing.ts';
import { createBatches } from '../../../../src/platform/work/outbox/batches.ts';
import type { Queues } from '../../../../src/platform/work/queues/queues.ts';
import { createChunkClaimer } from '../../../../src/push/delivery/claim-chunks.ts';
import { createPushSweeps } from '../../../../src/push/delivery/sweeps.ts';
import { openPlatform } from '../../../push/platform.ts';
import { startTestApp } from '../../../support/app.ts';
import { holdSnapshot, observeDatabase } from '../../../support/database/held-snapshot.ts';

const { env } = await startTestApp({ resources: [defineUser()] }, { roles: ['web'] });
const platform = await openPlatform(env);
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(async () => {
  await platform.close();
  await client.end();
});

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

const INSERT_EVENTS = `
  insert into outbox (event_id, name, payload)
  select md5(random()::text), 'nobody.wants', jsonb_build_object('text', repeat('x', 1000)) from generate_series(1, $1::int)`;

/** Creates the processing of outbox rows that no consumer wants. Each call sets the clock forward, and searches of all rows are expensive. */
function startBatches() {
  const observed = observeDatabase(platform.database, client);
  observed.withConnection = (work) => work(observed);
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => void vi.restoreAllMocks());
  const takeLong = () => {
    now += 100;
  };
  observed.makeSearchesExpensive((text, [, after]) => text.includes('from outbox') && after === 0, takeLong);
  const batches = createBatches({
    database: observed,
    consumers: [],
    log: platform.log,
    logWork: () => undefined,
    tracing: NO_TRACING,
    batch: 100,
    onProgress: () => undefined,
  });
  return {
    observed,
    process() {
      now += 200;
      return batches.processFewRowsOrBatch();
    },
  };
}

test('the relay reads events without the processed ones before them', async () => {
  const { observed, process } = startBatches();
  await holdSnapshot(env.DATABASE_URL!);
  const blocks: number[] = [];
  // Rarely, the whole outbox is searched.
  const isFlat = () => median(blocks.slice(-9)) <= 2 * median(blocks.slice(5, 14));
  // While a transaction of another test is open, which began before the last search, the start of the searches does not advance.
  for (let round = 0; round < 80 || (round < 3000 && !isFlat()); round++) {
    await client.query(INSERT_EVENTS, [15]);
    expect(await process()).toBe(15);
    expect(await process()).toBe(0);
    blocks.push(await observed.countBlocks());
  }
  expect(isFlat()).toBe(true);
});

test('an event is found however late its transaction commits', async () => {
  const { process } = startBatches();
  const late = new Client({ connectionString: env.DATABASE_URL });
  await late.connect();
  onTestFinished(() => late.end());
  await late.query('begin');
  await late.query(INSERT_EVENTS, [1]);
  for (let round = 0; round < 40; round++) {
    await client.query(INSERT_EVENTS, [15]);
    await process();
  }
  await late.query('commit');
  expect(await process()).toBe(1);
});

/** Returns what a search for overdue rows reads at first and after `finish`, once searches of the whole table are expensive. */
async function compareSweeps(
  observed: ReturnType<typeof observeDatabase>,
  find: () => Promise<unknown>,
  finish: string,
): Promise<{ whole: number; next: number }> {
  await find();
  await holdSnapshot(env.DATABASE_URL!);
  await client.query(finish);
  observed.makeSearchesExpensive((text) => text.includes('k.start'));
  await find();
  const whole = await observed.countBlocks();
  await find();
  return { whole, next: await observed.countBlocks() };
}

test('the sweep of pushes skips finished chunks', async () => {
  const observed = observeDatabase(platform.database, client);
  const added: unknown[] = [];
  const queues = { add: async (...args: unknown[]) => void added.push(args) } as unknown as Queues;
  const [sweep] = createPushSweeps({ ...platform, database: observed, queues }, new Set(['fake']));
  await client.query(
    `insert into pushes (id, message, audience, status, devices, open_chunks) values ('p', '{}', '{}', 'queued', 2000, 2000)`,
  );
  await client.query(
    `insert into push_chunks (push_id, chunk, transport, first_position, last_position, due_at)
     select 'p', n, 'fake', n, n, now() - interval '1 hour' + n * interval '1 s' from generate_series(1, 2000) n`,
  );
  const finish = 'update push_chunks set finished_at = now() where chunk < 2000';
  const { whole, next } = await compareSweeps(observed, async () => sweep!.run(), finish);
  expect(whole).toBeGreaterThan(20);
  expect(next).toBeLessThan(10);
  added.length = 0;
  expect(await sweep!.run()).toBe(1);
});

test('the sweep of e-mails skips finished ones', async () => {
  const observed = observeDatabase(platform.database, client);
  const store = createMailStore(observed, {} as never);
  await client.query(
    `insert into mails (id, kind, attempts, due_at)
     select n::text, 'kind', 1, now() - interval '1 hour' + n * interval '1 s' from generate_series(1, 2000) n`,
  );
  const finish = `update mails set finished_at = now() where id <> '2000'`;
  const { whole, next } = await compareSweeps(observed, store.overdueMails.find, finish);
  expect(whole).toBeGreaterThan(20);
  expect(next).toBeLessThan(10);
  expect(await store.overdueMails.find()).toEqual([['2000']]);
});

/** Lets Postgres believe that hardly any row is open, holds a snapshot, and adds rows of which all but the last one are finished. */
async function finishUnderSnapshot(table: string, insert: string, finish: string): Promise<void> {
  await client.query(`delete from ${table}`);
  await client.query(insert, [0, 100]);
  await client.query(`update ${table} set finished_at = now()`);
  await client.query(`vacuum analyze ${table}`);
  await holdSnapshot(env.DATABASE_URL!);
  await client.query(insert, [101, 2000]);
  await client.query(finish);
}

test('a claim of an e-mail does not read those that were sent', async () => {
  const observed = observeDatabase(platform.database, client);
  const store = createMailStore(observed, {} as never);
  await finishUnderSnapshot(
    'mails',
    `insert into mails (id, kind, data) select n::text, 'kind', '{}' from generate_series($1::int, $2::int) n`,
    `update mails set finished_at = now(), status = 'sent' where id <> '2000'`,
  );
  expect((await store.claimMail('2000'))?.attempt).toBe(1);
  await client.query('update mails set claimed_until = null');
  expect(await observed.countBlocks()).toBeLessThan(30);
});

test('a claim of a chunk does not read those that were sent', async () => {
  const observed = observeDatabase(platform.database, client);
  await client.query(
    `insert into pushes (id, message, audience, status, devices, open_chunks) values ('q', '{}', '{}', 'queued', 2000, 2000)`,
  );
  await finishUnderSnapshot(
    'push_chunks',
    `insert into push_chunks (push_id, chunk, transport, first_position, last_position)
     select 'q', n, 'fake', n, n from generate_series($1::int, $2::int) n`,
    'update push_chunks set finished_at = now() where chunk < 2000',
  );
  expect(await createChunkClaimer(undefined)(observed, [{ pushId: 'q', chunk: 2000 }])).toHaveLength(1);
  await client.query('update push_chunks set claimed_until = null');
  expect(await observed.countBlocks()).toBeLessThan(40);
});
