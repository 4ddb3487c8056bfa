/**
 * ms that a turn lasts unless it is renewed. Once it has run out, another worker may send to the endpoint: all but what the turn had
 * claimed. Not less than `LAUNCH_MS`, so that nothing is begun after it that was claimed in it.
 */
export const TURN_LEASE_MS = 5000;

/** ms between renewals of turns. */
export const RENEW_MS = 1000;

/** ms after the first claim of a turn within which its requests are begun. */
export const LAUNCH_MS = 5000;

/** ms between the tries to write what was sent while Postgres is away: unwritten it is sent again. */
export const WRITE_RETRY_MS = [100, 1000];

const MARGIN_MS = 10_000;

/**
 * ms after which what was in the hands of a worker of which nothing was heard since is taken for lost, and sent again: its request may
 * have been begun at the last moment, take the whole time-out, and its result has to be written.
 */
export function deliveryLeaseMs({ timeoutMs }: { timeoutMs: number }): number {
  return LAUNCH_MS + timeoutMs + MARGIN_MS;
}
