import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Platform } from '../../platform/platform.ts';

/** Waits for something, but at most `ms`. Its failure is the caller's only while it is waited for. */
export async function waitAtMost(ms: number, done: Promise<unknown>): Promise<void> {
  const stop = new AbortController();
  const late = sleep(Math.max(ms, 0), undefined, { signal: stop.signal }).catch(() => undefined);
  try {
    await Promise.race([done, late]);
  } finally {
    stop.abort();
  }
}

/** Waits for one push to finish. */
export interface Waiter {
  /** Resolves once the end of the push cannot be missed any more, at most after `ms`. */
  ready(ms: number): Promise<void>;
  /** Resolves when the push was announced, at most after `ms`. */
  wait(ms: number): Promise<void>;
  stop(): void;
}

/** Tells senders that their push is finished, wherever its worker runs. A hint and no more: it may be lost. */
export interface FinishedSignals {
  announce(pushId: string): void;
  waiterFor(pushId: string): Waiter;
}

/** Listens from the first send on, so that a process that never sends holds no connection for it. */
export function createFinishedSignals({ redis, env }: Pick<Platform, 'redis' | 'env'>): FinishedSignals {
  const channel = `${env.redisPrefix}:push-finished`;
  const wakeUps = new Map<string, () => void>();
  let listening: Promise<unknown> | undefined;

  function listen(): Promise<unknown> {
    if (listening === undefined) {
      const subscriber: Redis = redis.patient();
      subscriber.on('message', (_channel: string, pushId: string) => wakeUps.get(pushId)?.());
      listening = subscriber.subscribe(channel).catch(() => undefined);
    }
    return listening;
  }

  return {
    announce(pushId) {
      const wake = wakeUps.get(pushId);
      // Whoever waits in this process needs no way round by Redis.
      if (wake === undefined) redis.commands.publish(channel, pushId).catch(() => undefined);
      else wake();
    },
    waiterFor(pushId) {
      const finished = new Promise<void>((resolve) => wakeUps.set(pushId, resolve));
      return {
        ready: (ms) => waitAtMost(ms, listen()),
        wait: (ms) => waitAtMost(ms, finished),
        stop: () => wakeUps.delete(pushId),
      };
    },
  };
}
