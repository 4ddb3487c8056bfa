import { withTimeoutFallback } from '../../platform/helpers/concurrency/deadline.ts';
import type { Platform } from '../../platform/platform.ts';

/** Waits for one push to finish. */
export interface PushWaiter {
  /** Resolves when this process is subscribed to the announcements in Redis, but after `ms` at the latest. */
  waitUntilSubscribed(ms: number): Promise<void>;
  /** Resolves when it is announced that the push is finished, but after `ms` at the latest. */
  waitUntilFinished(ms: number): Promise<void>;
  stop(): void;
}

/** Notifies waiting senders, in any process, that their push is finished. Only a hint: it can be lost. */
export interface FinishedSignals {
  announceFinished(pushId: string): void;
  createWaiterFor(pushId: string): PushWaiter;
}

/**
 * Creates the signals that tell a waiting send that its push is finished. They subscribe to Redis at the first send; a process that never
 * sends opens no connection for them.
 */
export function createPushFinishedSignals({ redis, env }: Pick<Platform, 'redis' | 'env'>): FinishedSignals {
  const channel = `${env.redisPrefix}:push-finished`;
  const wakeUps = new Map<string, () => void>();
  let listening: Promise<void> | undefined;

  function subscribeOnce(): Promise<void> {
    listening ??= redis.subscribe(channel, (pushId) => wakeUps.get(pushId)?.()).started;
    return listening;
  }

  return {
    announceFinished(pushId) {
      const wake = wakeUps.get(pushId);
      // A sender that waits in this process is notified without Redis.
      if (wake === undefined) redis.commands.publish(channel, pushId).catch(() => undefined);
      else wake();
    },
    createWaiterFor(pushId) {
      const finished = new Promise<void>((resolve) => wakeUps.set(pushId, resolve));
      return {
        waitUntilSubscribed: (ms) => withTimeoutFallback(subscribeOnce(), ms, undefined),
        waitUntilFinished: (ms) => withTimeoutFallback(finished, ms, undefined),
        stop: () => wakeUps.delete(pushId),
      };
    },
  };
}
