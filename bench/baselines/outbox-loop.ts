// The baseline of the relay: two streams, each of which claims 500 rows with SKIP LOCKED, adds a job for each row, and deletes the rows.
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import { reportReady } from '../processes/child.ts';

const BATCH = 500;
const STREAMS = 2;
const CLAIM = `select id, event_id, name, resource, record_id, user_id, payload, created_at
  from outbox where available_at <= now() order by id limit $1 for update skip locked`;
const REMOVE = 'delete from outbox where id = any($1::bigint[])';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: STREAMS });
const connection = new Redis(process.env.REDIS_URL!, { maxRetriesPerRequest: null });
const queue = new Queue('baseline', { connection, prefix: process.env.REDIS_PREFIX! });

async function claimBatch(client: pg.PoolClient): Promise<number> {
  await client.query('begin');
  const { rows } = await client.query<{ id: string }>({ name: 'claim', text: CLAIM, values: [BATCH] });
  await queue.addBulk(rows.map(({ id }) => ({ name: 'row', data: { id } })));
  await client.query({ name: 'remove', text: REMOVE, values: [rows.map(({ id }) => id)] });
  await client.query('commit');
  return rows.length;
}

async function runStream(): Promise<void> {
  const client = await pool.connect();
  while ((await claimBatch(client)) > 0);
  client.release();
}

reportReady('', {
  /** Runs until the outbox is empty. */
  async drain() {
    await Promise.all(Array.from({ length: STREAMS }, runStream));
  },
});
