import type { Redis } from 'ioredis';

/** Tells relays that there is something to do. */
export interface Wake {
  /** At most one hint is in flight per process; those that come meanwhile are gathered into one more. */
  hint(): void;
}

/** The Redis channel of wake-ups. */
export function wakeChannel(prefix: string): string {
  return `${prefix}:wake`;
}

/**
 * A hint and no more: the relay also polls. It goes through Redis since `NOTIFY` in a write transaction takes a lock that
 * serialises every commit of the database.
 */
export function createWake(redis: Redis, prefix: string): Wake {
  const channel = wakeChannel(prefix);
  let flying = false;
  let again = false;

  function publish(): void {
    flying = true;
    redis
      .publish(channel, '')
      .catch(() => undefined) // Redis is away: the relay's poll is the net under this
      .finally(() => {
        flying = false;
        if (again) {
          again = false;
          publish();
        }
      });
  }

  return {
    hint() {
      if (flying) again = true;
      else publish();
    },
  };
}
