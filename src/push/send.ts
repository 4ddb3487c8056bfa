import type { PushResult, PushSender } from '../declare/host.ts';
import type { Transaction } from '../declare/transaction.ts';
import { newId } from '../platform/ids.ts';
import type { Platform } from '../platform/platform.ts';
import type { Executor } from '../platform/postgres/database.ts';
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

/** Makes and stores pushes. */
export interface Sender extends PushSender {
  /** Stores a push in a transaction; it is sent once that is committed. */
  enqueueWithin(tx: Pick<Transaction, 'database' | 'afterCommit'>, message: unknown): Promise<{ id: string }>;
}

interface Stored {
  devices: number;
  /** Hands it to the workers, waiting at most that many ms for Redis. */
  dispatch(patienceMs: number): Promise<void>;
}

/** `app.push.send` and `app.push.enqueue`. */
export function createSender(parts: SendParts, transports: readonly Transport[]): Sender {
  const { env, settings, log, database, queues, events } = parts;
  const waiting = createWaiting(queues);

  async function store(id: string, input: unknown, on: Executor): Promise<Stored> {
    const message = readMessage(input, { allowPrivate: env.nodeEnv !== 'production' });
    const chunks = await findTargets(on, message, transports, log);
    await insertPush(on, id, message.stored, chunks);
    const devices = chunks.reduce((sum, chunk) => sum + chunk.targets.length, 0);
    const jobs = chunks.map((_, chunk) => chunkJob({ pushId: id, chunk }));
    return {
      devices,
      async dispatch(patienceMs) {
        if (devices === 0) emitOutcome(events, { id, status: 'no-devices', devices });
        else await within(patienceMs, queues.add(PUSH_QUEUE, jobs));
      },
    };
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
      const { devices, dispatch } = await store(id, input, database);
      if (devices === 0) {
        await dispatch(0);
        return { id, status: 'no-devices', devices, results: [] };
      }
      const waiter = waiting.for(id);
      try {
        await waiter.ready(until - performance.now());
        await dispatch(until - performance.now());
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
      const { dispatch } = await store(id, input, database);
      await dispatch(ADD_JOBS_MS);
      return { id };
    },
    async enqueueWithin(tx, input) {
      const id = newId();
      const { dispatch } = await store(id, input, tx.database);
      tx.afterCommit(() => dispatch(ADD_JOBS_MS));
      return { id };
    },
  };
}
