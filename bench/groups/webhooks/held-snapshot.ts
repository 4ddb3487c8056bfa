import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type pg from 'pg';
import { startPostgres } from '../../../src/dev-servers/postgres.ts';
import { wakeChannel } from '../../../src/platform/work/outbox/wake.ts';
import type { Bench, Figure, Group } from '../../figure.ts';
import { addEndpoints, startBelfry, startReceiver } from '../../setup/belfry.ts';
import { UNDELIVERED, waitUntilEmpty, withClient } from '../../setup/database.ts';
import { REDIS_PREFIX } from '../../setup/environment.ts';
import { seedDatabase, USERS } from '../../setup/seed.ts';

const NAME = 'scale.webhooks.heldSnapshot';
const ENDPOINTS = 30;
const RATE = Number(process.env.RATE ?? 300);
const TICKS = Number(process.env.TICKS ?? 20);
const WINDOW_S = Number(process.env.WINDOW_S ?? 10);
const HELD_S = Number(process.env.HELD_S ?? 40);

const MEMOS = 1000;
const INSERT_MEMOS = `
  insert into memos (id, text, owner, created_at, updated_at)
  select 'd' || lpad(to_hex(n), 23, '0'), repeat('The bells of the old town ring at noon. ', 8), 'b' || lpad(to_hex(n % ${USERS}), 23, '0'), now(), now()
  from generate_series(0, ${MEMOS - 1}) n`;
const INSERT_EVENTS = `
  insert into outbox (event_id, name, resource, record_id, user_id, payload)
  select lpad(to_hex(extract(epoch from clock_timestamp())::bigint), 8, '0') || substr(md5(random()::text), 1, 16), 'memo.created', 'memo', m.id, m.owner, jsonb_build_object('record', to_jsonb(m))
  from memos m where id = any(array(select 'd' || lpad(to_hex(floor(random() * ${MEMOS})::int), 23, '0') from generate_series(1, $1::int)))`;

interface StatementRow {
  id: string;
  query: string;
  calls: number;
  blocks: number;
  ms: number;
}
const STATEMENTS = `
  select queryid::text as id, min(query) as query, sum(calls)::int as calls, (sum(shared_blks_hit + shared_blks_read) / sum(calls))::float as blocks, (sum(total_exec_time) / sum(calls))::float as ms
  from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database()) group by queryid`;

async function load(client: pg.Client, redis: Redis, seconds: number): Promise<void> {
  const begin = performance.now();
  const ticks = seconds * TICKS;
  for (let tick = 0; tick < ticks; tick++) {
    await sleep(Math.max(0, begin + (tick * 1000) / TICKS - performance.now()));
    await client.query({
      name: 'load_events',
      text: INSERT_EVENTS,
      values: [Math.round((RATE * USERS) / ENDPOINTS / TICKS)],
    });
    await redis.publish(wakeChannel(REDIS_PREFIX), '');
  }
}

async function measureWindow(client: pg.Client, redis: Redis): Promise<Map<string, StatementRow>> {
  await client.query('select pg_stat_statements_reset()');
  await load(client, redis, WINDOW_S);
  const { rows } = await client.query<StatementRow>(STATEMENTS);
  return new Map(rows.map((row) => [row.id, row]));
}

export const webhookStorage: Group = {
  name: 'scale',
  async run(session: Bench): Promise<Figure[]> {
    if (!session.isRequested(NAME)) return [];
    session.logProgress(`${NAME} …`);
    const postgres = await startPostgres(undefined, true, [
      'shared_preload_libraries=pg_stat_statements',
      'pg_stat_statements.track_utility=off',
      'autovacuum_naptime=10s',
      ...(process.env.EXTRA_PG ?? '').split(';').filter(Boolean),
    ]);
    const bench: Bench = { ...session, servers: { ...session.servers, databaseUrl: postgres.url } };
    const redis = new Redis(bench.servers.redisUrl);
    await redis.flushall();
    await seedDatabase(bench.servers);
    const receiver = await startReceiver(bench, USERS, 0, 'memo.created');
    await addEndpoints(
      bench,
      receiver,
      Array.from({ length: ENDPOINTS - USERS }, (_, i) => i),
      'memo.created',
    );
    const processes = await Promise.all([
      startBelfry(bench, 'relay'),
      startBelfry(bench, 'webhook-worker'),
      startBelfry(bench, 'push-worker'),
    ]);
    const figure = await withClient(bench.servers.databaseUrl, async (client) => {
      await client.query('create extension pg_stat_statements');
      await client.query(INSERT_MEMOS);
      await load(client, redis, 5);
      await client.query('vacuum analyze');
      const before = await measureWindow(client, redis);
      return withClient(bench.servers.databaseUrl, async (holder): Promise<Figure> => {
        await holder.query('begin isolation level repeatable read');
        await holder.query('select 1');
        await load(client, redis, HELD_S);
        const after = await measureWindow(client, redis);
        const list = [...after.values()]
          .map((row) => ({ ...row, before: before.get(row.id) }))
          .filter((row) => row.calls > 1)
          .sort((a, b) => b.blocks * b.calls - a.blocks * a.calls);
        for (const row of list.slice(0, 60)) {
          const name = row.query.replace(/\s+/g, ' ').slice(0, 130);
          session.logProgress(
            [
              row.before?.calls ?? 0,
              row.calls,
              (row.before?.blocks ?? 0).toFixed(1),
              row.blocks.toFixed(1),
              (row.before?.ms ?? 0).toFixed(2),
              row.ms.toFixed(2),
              name,
            ].join('\t'),
          );
        }
        const delivered = await client.query<{ n: number }>('select count(*)::int as n from webhook_delivery_log');
        for (const q of (process.env.EXTRA ?? '').split(';').filter(Boolean))
          session.logProgress(JSON.stringify((await client.query(q)).rows));
        await waitUntilEmpty(client, UNDELIVERED);
        await holder.query('rollback');
        return { name: NAME, value: 0, unit: '×', note: `${delivered.rows[0]!.n} delivered` };
      });
    });
    redis.disconnect();
    await Promise.all([receiver.stop(), ...processes.map((process) => process.stop())]);
    await postgres.stop();
    return [figure];
  },
};
