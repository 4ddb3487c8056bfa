import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterAll, vi } from 'vitest';
import { startPostgresReplica } from '../../../scripts/services/postgres-replica.ts';
import { startPostgres } from '../../../src/dev-servers/postgres.ts';
import { completeKeyOf } from '../../../src/platform/data/replica/own-writes.ts';

/** A Postgres with a streaming replica, for one test file. */
export interface ReplicatedPostgres {
  /** Creates an empty database on the primary. Returns its addresses on both servers, once the replica has it. */
  createDatabase(): Promise<{ DATABASE_URL: string; DATABASE_REPLICA_URL: string }>;
  /** Makes the replica stop replaying changes, so that it lags until `resume`. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Waits until the replica has everything that the primary has written. */
  waitUntilCaughtUp(): Promise<void>;
  /** Runs a statement as the superuser. */
  onPrimary(text: string): Promise<unknown[]>;
  onReplica(text: string): Promise<unknown[]>;
  stopReplica(): Promise<void>;
}

/** Makes apps trust Redis at once, as if another process had watched it for long. Otherwise they wait for longer than a replica may lag. */
export async function trustRedis(prefix: string, url = process.env.TEST_REDIS_URL!): Promise<void> {
  const redis = new Redis(url);
  await redis.set(completeKeyOf(prefix), '1', 'EX', 600);
  redis.disconnect();
}

/** Starts both servers. They are stopped after the last test of the file. */
export async function startReplicatedPostgres(replicaSettings: readonly string[] = []): Promise<ReplicatedPostgres> {
  const primary = await startPostgres(undefined, true, ['wal_keep_size=512MB']);
  afterAll(() => primary.stop());
  const replica = await startPostgresReplica(primary.url, replicaSettings);
  afterAll(() => replica.stop());

  async function run(url: string, text: string): Promise<unknown[]> {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  const onPrimary = (text: string) => run(primary.url, text);
  const onReplica = (text: string) => run(replica.url, text);

  async function waitUntilCaughtUp(): Promise<void> {
    // The flushed position: nothing after it can be on the replica yet.
    const [end] = (await onPrimary('select pg_current_wal_flush_lsn() as at')) as { at: string }[];
    const hasReached = `select pg_last_wal_replay_lsn() >= '${end!.at}' as yes`;
    await vi.waitUntil(async () => ((await onReplica(hasReached)) as { yes: boolean }[])[0]!.yes, {
      timeout: 60_000,
      interval: 20,
    });
  }

  return {
    onPrimary,
    onReplica,
    waitUntilCaughtUp,
    async createDatabase() {
      const name = `app_${randomBytes(4).toString('hex')}`;
      await onPrimary(`create database ${name}`);
      await run(new URL(`/${name}`, primary.url).href, 'create extension pg_trgm');
      await waitUntilCaughtUp();
      return {
        DATABASE_URL: new URL(`/${name}`, primary.url).href,
        DATABASE_REPLICA_URL: new URL(`/${name}`, replica.url).href,
      };
    },
    async pause() {
      await waitUntilCaughtUp();
      await onReplica('select pg_wal_replay_pause()');
      await vi.waitUntil(
        async () => {
          const [row] = (await onReplica('select pg_get_wal_replay_pause_state() as state')) as { state: string }[];
          return row!.state === 'paused';
        },
        { timeout: 60_000, interval: 20 },
      );
    },
    async resume() {
      await onReplica('select pg_wal_replay_resume()');
    },
    stopReplica: () => replica.stop(),
  };
}
