import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Bench } from '../figure.ts';
import { startBelfry } from '../setup/belfry.ts';
import type { Child } from '../setup/children.ts';
import { createArticleJson, getSessionToken } from '../setup/seed.ts';

const WARM_UP_CREATES = 20;
const WARM_UP_INTERVAL_MS = 50;
const CONNECTIONS = 50;
const TIMEOUT_MS = 20_000;

type Timestamps = [id: string, at: number][];

/** The four processes of a deployment. */
export async function startAllProcesses(bench: Bench): Promise<{ web: Child; stop(): Promise<unknown> }> {
  const web = await startBelfry(bench, 'web');
  const others = await Promise.all([
    startBelfry(bench, 'relay'),
    startBelfry(bench, 'webhook-worker'),
    startBelfry(bench, 'push-worker'),
  ]);
  return { web, stop: () => Promise.all([web, ...others].map((child) => child.stop())) };
}

/** Starts a create every `apartMs`, even if earlier ones have no response yet. */
async function createRecords(pool: Pool, creates: number, intervalMs: number): Promise<void> {
  const authorization = `Bearer ${getSessionToken(0)}`;
  const create = async (number: number) => {
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: '/api/articles',
      headers: { authorization, 'content-type': 'application/json' },
      body: createArticleJson(number),
    });
    await body.dump();
    if (statusCode !== 201) throw new Error(`POST /api/articles returned ${statusCode} instead of 201`);
  };
  const begin = performance.now();
  const running: Promise<void>[] = [];
  for (let number = 0; number < creates; number++) {
    await sleep(Math.max(0, begin + number * intervalMs - performance.now()));
    running.push(create(number));
  }
  await Promise.all(running);
}

/**
 * Creates records, and measures for each the time in ms from the moment when web knows of the commit until the
 * receiver first gets the webhook.
 *
 * @throws if one does not arrive
 */
export async function measureCommitToReceipt(
  web: Child,
  receiver: Child,
  { creates, intervalMs }: { creates: number; intervalMs: number },
): Promise<number[]> {
  const pool = new Pool(web.url, { connections: CONNECTIONS });
  try {
    await createRecords(pool, WARM_UP_CREATES, WARM_UP_INTERVAL_MS);
    await web.call('watch');
    await receiver.call('watch');
    await createRecords(pool, creates, intervalMs);
  } finally {
    await pool.close();
  }
  for (const end = Date.now() + TIMEOUT_MS; Date.now() < end; await sleep(50)) {
    const receipts = new Map(await receiver.call<Timestamps>('receipts'));
    const commits = await web.call<Timestamps>('commits');
    const missing = commits.length < creates || commits.some(([id]) => !receipts.has(id));
    if (!missing) return commits.map(([id, at]) => receipts.get(id)! - at);
  }
  throw new Error(`Not all deliveries arrived within ${TIMEOUT_MS / 1000} s of the last create.`);
}
