import type { Redis } from 'ioredis';
import { resolveWithin } from '../../platform/deadline.ts';
import type { Platform } from '../../platform/platform.ts';

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
  let listening: Promise<void> | undefined;

  function listen(): Promise<void> {
    if (listening === undefined) {
      const subscriber: Redis = redis.patient();
      subscriber.on('message', (_channel: string, pushId: string) => wakeUps.get(pushId)?.());
      listening = subscriber.subscribe(channel).then(
        () => undefined,
        () => undefined,
      );
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
        ready: (ms) => resolveWithin(listen(), ms, undefined),
        wait: (ms) => resolveWithin(finished, ms, undefined),
        stop: () => wakeUps.delete(pushId),
      };
    },
  };
}
