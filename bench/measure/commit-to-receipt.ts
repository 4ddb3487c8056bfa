import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Bench } from '../figure.ts';
import { startBelfry } from '../setup/belfry.ts';
import type { Child } from '../setup/children.ts';
import { newArticle, tokenOf } from '../setup/seed.ts';

const WARM_UP = 20;
const WARM_UP_APART_MS = 50;
const CONNECTIONS = 50;
const PATIENCE_MS = 20_000;

type Times = [id: string, at: number][];

/** The four processes of a deployment. */
export async function startAll(bench: Bench): Promise<{ web: Child; stop(): Promise<unknown> }> {
  const web = await startBelfry(bench, 'web');
  const others = await Promise.all([
    startBelfry(bench, 'relay'),
    startBelfry(bench, 'webhook-worker'),
    startBelfry(bench, 'push-worker'),
  ]);
  return { web, stop: () => Promise.all([web, ...others].map((child) => child.stop())) };
}

/** Starts a create every `apartMs`, even if earlier ones have no response yet. */
async function createAll(pool: Pool, creates: number, apartMs: number): Promise<void> {
  const authorization = `Bearer ${tokenOf(0)}`;
  const create = async (number: number) => {
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: '/api/articles',
      headers: { authorization, 'content-type': 'application/json' },
      body: newArticle(number),
    });
    await body.dump();
    if (statusCode !== 201) throw new Error(`a create answered ${statusCode}`);
  };
  const begin = performance.now();
  const running: Promise<void>[] = [];
  for (let number = 0; number < creates; number++) {
    await sleep(Math.max(0, begin + number * apartMs - performance.now()));
    running.push(create(number));
  }
  await Promise.all(running);
}

/**
 * Creates records, and measures for each the ms from the moment when web knows of its commit until the receiver first sees its
 * webhook.
 *
 * @throws if one does not arrive
 */
export async function commitToReceipt(
  web: Child,
  receiver: Child,
  { creates, apartMs }: { creates: number; apartMs: number },
): Promise<number[]> {
  const pool = new Pool(web.url, { connections: CONNECTIONS });
  try {
    await createAll(pool, WARM_UP, WARM_UP_APART_MS);
    await web.ask('watch');
    await receiver.ask('watch');
    await createAll(pool, creates, apartMs);
  } finally {
    await pool.close();
  }
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(50)) {
    const receipts = new Map(await receiver.ask<Times>('receipts'));
    const commits = await web.ask<Times>('commits');
    const missing = commits.length < creates || commits.some(([id]) => !receipts.has(id));
    if (!missing) return commits.map(([id, at]) => receipts.get(id)! - at);
  }
  throw new Error('deliveries did not arrive');
}
