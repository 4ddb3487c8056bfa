import { setTimeout as sleep } from 'node:timers/promises';
import { removeDevices } from '../accounts/devices/index.ts';
import type { Platform } from '../platform/platform.ts';
import { isUnavailable } from '../platform/postgres/errors.ts';
import type { RunningWorker } from '../platform/queues.ts';
import { type ChunkKey, chunkOf, FINISHED, PUSH_QUEUE } from './jobs.ts';
import { emitOutcome } from './status.ts';
import { type Answer, type ClaimedChunk, claimChunk, finishChunk } from './store.ts';
import { sendThrough, type Transport, type TransportDevice, type TransportResult } from './transport.ts';

/** Chunks in work at once in a process. */
const CONCURRENCY = 4;
/** ms between attempts to store what was sent while Postgres is away; after the last the chunk's lease runs out. */
const STORE_AGAIN_MS = [200, 1000, 3000, 10_000, 20_000];

/** What the worker works with. */
export type WorkerParts = Pick<Platform, 'env' | 'log' | 'database' | 'queues' | 'events'>;

/** Sends the chunks of pushes and stores the answers. */
export function startPushWorker(parts: WorkerParts, transports: readonly Transport[]): RunningWorker {
  const { env, log, database, queues, events } = parts;
  const byName = new Map(transports.map((transport) => [transport.name, transport]));
  const captures = env.nodeEnv !== 'production';

  /** One result per device, in order. */
  function deliver(id: string, chunk: ClaimedChunk, devices: readonly TransportDevice[]): Promise<TransportResult[]> {
    const all = (result: TransportResult) => Promise.resolve(devices.map(() => result));
    if (devices.length === 0) return all({ ok: true });
    if (chunk.transport === null) {
      return all(captures ? { ok: true } : { ok: false, error: 'No push transport accepts this device' });
    }
    const transport = byName.get(chunk.transport);
    if (transport !== undefined) return sendThrough(transport, chunk.message, devices, { id }, log);
    log.error({ transport: chunk.transport, push: id }, 'this push-worker lacks a transport that the sender has');
    return all({ ok: false, error: `The worker has no transport named "${chunk.transport}"` });
  }

  async function answersOf(id: string, chunk: ClaimedChunk): Promise<Answer[]> {
    const there = chunk.devices.filter((one) => one.device.token !== null);
    const gone = chunk.devices.filter((one) => one.device.token === null);
    const results = await deliver(
      id,
      chunk,
      there.map((one) => one.device as TransportDevice),
    );
    return [
      ...there.map(({ position }, i) => ({ position, ...results[i]! })),
      ...gone.map(({ position }) => ({ position, ok: false, error: 'The device is no longer registered' })),
    ];
  }

  /** What was sent must not be sent again for want of a stored answer, so a short absence of Postgres is waited out. */
  async function insist<T>(store: () => Promise<T>): Promise<T> {
    for (const pause of STORE_AGAIN_MS) {
      try {
        return await store();
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        await sleep(pause);
      }
    }
    return store();
  }

  async function work(key: ChunkKey): Promise<boolean> {
    const claimed = await claimChunk(database, key);
    if (typeof claimed === 'boolean') return claimed;
    const started = performance.now();
    const answers = await answersOf(key.pushId, claimed);
    const outcome = await insist(() => finishChunk(database, key, answers, captures && claimed.transport === null));
    const unregistered = new Set(answers.filter((answer) => answer.unregistered).map((answer) => answer.position));
    const removed = claimed.devices.filter((one) => unregistered.has(one.position)).map((one) => one.device.id);
    await removeDevices(
      database,
      removed.filter((id) => id !== null),
      claimed.createdAt,
    );
    log.info(
      {
        push: key.pushId,
        chunk: key.chunk,
        transport: claimed.transport,
        devices: answers.length,
        ok: answers.filter((answer) => answer.ok).length,
        removed: removed.length,
        status: outcome?.status,
        ms: Math.round(performance.now() - started),
      },
      'push chunk',
    );
    if (outcome !== undefined) emitOutcome(events, outcome);
    return outcome !== undefined;
  }

  return queues.work(
    PUSH_QUEUE,
    async ({ data }) => {
      const key = chunkOf(data.id);
      return key !== undefined && (await work(key)) ? FINISHED : null;
    },
    CONCURRENCY,
  );
}
