import type { Queues } from '../platform/queues.ts';
import { chunkOf, FINISHED, PUSH_QUEUE } from './jobs.ts';
import { within } from './within.ts';

/** Waits for one push to finish. */
export interface Waiter {
  /** Resolves when the queue's events are received, at most after `ms`: jobs added from then on are not missed. */
  ready(ms: number): Promise<void>;
  /** Resolves when the push was reported finished, at most after `ms`. */
  wait(ms: number): Promise<void>;
  stop(): void;
}

/** Tells senders that their push is finished, wherever its worker runs. */
export interface Waiting {
  for(pushId: string): Waiter;
}

/** Subscribes to the queue's events at the first send, so that a process that never sends holds no connection for it. */
export function createWaiting(queues: Queues): Waiting {
  const wakes = new Map<string, () => void>();
  let subscribed: Promise<unknown> | undefined;

  function subscribe(): Promise<unknown> {
    if (subscribed === undefined) {
      const events = queues.events(PUSH_QUEUE);
      events.on('completed', ({ jobId, returnvalue }: { jobId: string; returnvalue: unknown }) => {
        if (returnvalue === FINISHED) wakes.get(chunkOf(jobId)?.pushId ?? '')?.();
      });
      subscribed = events.waitUntilReady().catch(() => undefined);
    }
    return subscribed;
  }

  return {
    for(pushId) {
      const finished = new Promise<void>((resolve) => wakes.set(pushId, resolve));
      return {
        ready: (ms) => within(ms, subscribe()),
        wait: (ms) => within(ms, finished),
        stop: () => wakes.delete(pushId),
      };
    },
  };
}
