import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type pg from 'pg';
import { startPostgres } from '../../src/dev-servers/postgres.ts';
import { wakeChannel } from '../../src/platform/work/outbox/wake.ts';
import type { Bench } from '../figure.ts';
import { addEndpoints, startBelfry, startReceiver } from '../setup/belfry.ts';
import type { Child } from '../setup/children.ts';
import { UNDELIVERED, waitUntilEmpty, withClient } from '../setup/database.ts';
import { REDIS_PREFIX, type Role } from '../setup/environment.ts';
import { getUserEmail, getUserId, seedDatabase, USERS } from '../setup/seed.ts';

export const ENDPOINTS = 30;
export const DELIVERIES_PER_SECOND = 300;
const TICKS_PER_SECOND = 20;
/** What each tick enqueues. */
const WORK_OF_TICK = { jobs: 5, user: getUserId(0), email: getUserEmail(0) };
const WARM_UP_SECONDS = 3;
const EVENT = 'memo.created';
const MEMOS = 1000;

const INSERT_MEMOS = `
  insert into memos (id, text, owner, created_at, updated_at)
  select 'd' || lpad(to_hex(n), 23, '0'), repeat('The bells of the old town ring at noon. ', 8),
    'b' || lpad(to_hex(n % ${USERS}), 23, '0'), now(), now()
  from generate_series(0, ${MEMOS - 1}) n`;
// What creating memos writes. Only the owner of a memo gets its event, so that each event has one or two deliveries.
const INSERT_EVENTS = `
  insert into outbox (event_id, name, resource, record_id, user_id, payload)
  select lpad(to_hex(extract(epoch from clock_timestamp())::bigint), 8, '0') || substr(md5(random()::text), 1, 16),
    '${EVENT}', 'memo', m.id, m.owner, jsonb_build_object('record', to_jsonb(m))
  from memos m where id = any(array(
    select 'd' || lpad(to_hex(floor(random() * ${MEMOS})::int), 23, '0') from generate_series(1, $1::int)))`;
// A device of each user.
const INSERT_DEVICES = `
  insert into devices (id, user_id, token, token_hash, platform)
  select 'e' || substr(id, 2), id, 'token-' || id, md5(id), 'android' from users`;
const READ_STATEMENTS = `
  select queryid::text as id, min(query) as text, sum(calls)::int as calls, sum(shared_blks_hit + shared_blks_read)::float as blocks
  from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database()) group by queryid`;

/** A statement in a window of time. */
interface Statement {
  id: string;
  text: string;
  calls: number;
  /** Blocks that all calls have read. */
  blocks: number;
}

/** The statements of the same length of time without a snapshot, and at the end of the time under a snapshot. */
export interface HeldSnapshot {
  before: Statement[];
  after: Statement[];
  /** Deliveries that were sent under the snapshot. */
  deliveries: number;
}

/** What creates the load. */
interface Load {
  client: pg.Client;
  redis: Redis;
  web: Child;
}

async function createLoad({ client, redis, web }: Load, seconds: number): Promise<void> {
  const begin = performance.now();
  const events = Math.round((DELIVERIES_PER_SECOND * USERS) / ENDPOINTS / TICKS_PER_SECOND);
  for (let tick = 0; tick < seconds * TICKS_PER_SECOND; tick++) {
    await sleep(Math.max(0, begin + (tick * 1000) / TICKS_PER_SECOND - performance.now()));
    await client.query(INSERT_EVENTS, [events]);
    await redis.publish(wakeChannel(REDIS_PREFIX), '');
    await web.call('enqueue', WORK_OF_TICK);
  }
}

async function measureStatements(load: Load, seconds: number): Promise<Statement[]> {
  await load.client.query('select pg_stat_statements_reset()');
  await createLoad(load, seconds);
  return (await load.client.query<Statement>(READ_STATEMENTS)).rows;
}

async function countSent(client: pg.Client): Promise<number> {
  await waitUntilEmpty(client, UNDELIVERED);
  const { rows } = await client.query<{ n: number }>('select count(*)::int as n from webhook_delivery_log');
  return rows[0]!.n;
}

async function measureUnderLoad(
  { servers: { databaseUrl } }: Bench,
  others: Omit<Load, 'client'>,
  { heldSeconds, windowSeconds }: { heldSeconds: number; windowSeconds: number },
): Promise<HeldSnapshot> {
  return withClient(databaseUrl, async (client) => {
    const load = { ...others, client };
    await client.query('create extension pg_stat_statements');
    await client.query(INSERT_MEMOS);
    await client.query(INSERT_DEVICES);
    await createLoad(load, WARM_UP_SECONDS);
    await client.query('vacuum analyze');
    const before = await measureStatements(load, windowSeconds);
    const sentBefore = await countSent(client);
    return withClient(databaseUrl, async (holder) => {
      await holder.query('begin isolation level repeatable read');
      await holder.query('select 1');
      await createLoad(load, heldSeconds - windowSeconds);
      const after = await measureStatements(load, windowSeconds);
      const deliveries = (await countSent(client)) - sentBefore;
      await holder.query('rollback');
      return { before, after, deliveries };
    });
  });
}

/**
 * Sends 300 deliveries per second to 30 endpoints, and enqueues 100 jobs, 20 pushes and 20 e-mails per second, first without and then with a session that holds a snapshot.
 * Counts the blocks that each statement reads. The Postgres is one of its own, with the module that counts them.
 *
 * @param times `heldSeconds`: for how long the snapshot is held; `windowSeconds`: the length of each measurement, the second at the end
 */
export async function measureHeldSnapshot(
  { servers, ...others }: Bench,
  times: { heldSeconds: number; windowSeconds: number },
): Promise<HeldSnapshot> {
  const settings = ['shared_preload_libraries=pg_stat_statements', 'autovacuum_naptime=10s'];
  const postgres = await startPostgres(undefined, true, settings);
  const bench: Bench = { ...others, servers: { ...servers, databaseUrl: postgres.url } };
  const redis = new Redis(servers.redisUrl);
  try {
    await redis.flushall();
    await seedDatabase(bench.servers);
    const receiver = await startReceiver(bench, USERS, 0, EVENT);
    const more = Array.from({ length: ENDPOINTS - USERS }, (_, user) => user);
    await addEndpoints(bench, receiver, more, EVENT);
    const roles = ['web', 'relay', 'webhook-worker', 'push-worker', 'job-worker'] as const;
    // Outside production, e-mails are captured.
    const environmentOf = (role: Role) => ({
      BENCH_WORK: 'on',
      ...(role === 'push-worker' && { NODE_ENV: 'development' }),
    });
    const processes = await Promise.all(roles.map((role) => startBelfry(bench, role, environmentOf(role))));
    const measured = await measureUnderLoad(bench, { redis, web: processes[0]! }, times);
    await Promise.all([receiver, ...processes].map((process) => process.stop()));
    return measured;
  } finally {
    await redis.flushall();
    redis.disconnect();
    await postgres.stop();
  }
}
