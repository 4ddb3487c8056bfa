import type { PushResult, PushSender } from '../declare/host.ts';
import { newId } from '../platform/ids.ts';
import type { Platform } from '../platform/platform.ts';
import { chunkJob, PUSH_QUEUE } from './jobs.ts';
import { readMessage } from './message.ts';
import { emitOutcome } from './status.ts';
import { insertPush, readResult } from './store.ts';
import { findTargets } from './targets.ts';
import type { Transport } from './transport.ts';
import { createWaiting, type Waiter } from './waiting.ts';
import { within } from './within.ts';

/** First pause between looks at the result. Only a net: an event that was lost must not cost the whole wait. */
const LOOK_MS = 250;
const LONGEST_LOOK_MS = 2000;
/** Most time that `enqueue` gives Redis: the push is stored, and the sweep adds jobs that are missing. */
const ADD_JOBS_MS = 500;

/** What a send works with. */
export type SendParts = Pick<Platform, 'env' | 'settings' | 'log' | 'database' | 'queues' | 'events'>;

/** `app.push.send` and `app.push.enqueue`. */
export function createSender(parts: SendParts, transports: readonly Transport[]): PushSender {
  const { env, settings, log, database, queues, events } = parts;
  const waiting = createWaiting(queues);

  /** Stores a push. Gives the number of its devices, and how its jobs are added. */
  async function store(id: string, input: unknown): Promise<{ devices: number; addJobs: () => Promise<void> }> {
    const message = readMessage(input, { allowPrivate: env.nodeEnv !== 'production' });
    const chunks = await findTargets(database, message, transports, log);
    await insertPush(database, id, message.stored, chunks);
    const devices = chunks.reduce((sum, chunk) => sum + chunk.targets.length, 0);
    if (devices === 0) emitOutcome(events, { id, status: 'no-devices', devices });
    const jobs = chunks.map((_, chunk) => chunkJob({ pushId: id, chunk }));
    return { devices, addJobs: () => queues.add(PUSH_QUEUE, jobs) };
  }

  /** The result, looked up when it is reported, and now and then besides; undefined when it did not come in time. */
  async function resultOf(id: string, waiter: Waiter, until: number): Promise<PushResult | undefined> {
    for (let pause = LOOK_MS; ; pause = Math.min(2 * pause, LONGEST_LOOK_MS)) {
      await waiter.wait(Math.min(pause, until - performance.now()));
      const result = await readResult(database, id);
      if (result !== undefined || performance.now() >= until) return result;
    }
  }

  return {
    async send(input) {
      const id = newId();
      const until = performance.now() + settings.push.waitMs;
      const { devices, addJobs } = await store(id, input);
      if (devices === 0) return { id, status: 'no-devices', devices, results: [] };
      const waiter = waiting.for(id);
      try {
        await waiter.ready(until - performance.now());
        await within(until - performance.now(), addJobs());
        const result = await resultOf(id, waiter, until);
        if (result !== undefined) return result;
      } catch (error) {
        // It is stored and will be sent: that its result can't be read now is no reason to call it not sent.
        log.warn({ err: error, push: id }, 'the result of a push could not be read');
      } finally {
        waiter.stop();
      }
      return { id, status: 'queued', devices, results: [] };
    },
    async enqueue(input) {
      const id = newId();
      const { addJobs } = await store(id, input);
      await within(ADD_JOBS_MS, addJobs());
      return { id };
    },
  };
}
