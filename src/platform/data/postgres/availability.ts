import { isClosed, isTransient } from './errors.ts';
import type { Executor } from './queryable.ts';

/** ms between two probes while Postgres is unavailable, plus up to half of that at random. */
const PROBE_EVERY_MS = 400;

/** Whether the Postgres of a process is available. However much work waits for it, a process sends one probe at a time. */
export interface Availability {
  /** Sends a probe, unless one is under way. */
  isAvailable(): Promise<boolean>;
  /** Resolves when Postgres is available again, or after `giveUp`. For a caller that has just found Postgres unavailable. */
  waitUntilAvailable(): Promise<void>;
  /** Ends all waits, because the process stops: their statements then fail as they do without a wait. */
  giveUp(): void;
  hasGivenUp(): boolean;
}

const byDatabase = new WeakMap<Executor, Availability>();

/** Returns the availability of a database. Everything that waits for the same database shares its probes. */
export function getOrCreateAvailability(database: Executor): Availability {
  const known = byDatabase.get(database);
  if (known !== undefined) return known;
  const created = createAvailability(database);
  byDatabase.set(database, created);
  return created;
}

function createAvailability(database: Executor): Availability {
  const givenUp = new AbortController();
  let probe: Promise<boolean> | undefined;
  let wait: Promise<void> | undefined;
  let endPause: () => void = () => undefined;

  async function sendProbe(): Promise<boolean> {
    try {
      await database.write({ text: 'select 1', values: [] });
      return true;
    } catch (error) {
      // Another error, such as closed connections of a stopped process, would not go away: the work that waits must see it.
      return isClosed(error) || !isTransient(error);
    } finally {
      probe = undefined;
    }
  }

  function isAvailable(): Promise<boolean> {
    probe ??= sendProbe();
    return probe;
  }

  async function pauseUnlessGivenUp(): Promise<void> {
    if (givenUp.signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    endPause = resolve;
    const timer = setTimeout(resolve, PROBE_EVERY_MS * (1 + Math.random() / 2));
    await promise;
    clearTimeout(timer);
  }

  /** Begins with a pause: the caller has just found Postgres unavailable. */
  async function probeUntilAvailable(): Promise<void> {
    do {
      await pauseUnlessGivenUp();
    } while (!givenUp.signal.aborted && !(await isAvailable()));
    wait = undefined;
  }

  return {
    isAvailable,
    waitUntilAvailable() {
      wait ??= probeUntilAvailable();
      return wait;
    },
    giveUp() {
      givenUp.abort();
      endPause();
    },
    hasGivenUp: () => givenUp.signal.aborted,
  };
}
