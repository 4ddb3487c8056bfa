/*
 * Leased work: one worker at a time works on a row, and another worker takes over if that worker dies.
 *
 * - Claim: one statement returns the rows that are due and whose lease is free or has expired. It sets the end of the lease, by the clock
 *   of Postgres, and a new fence. Locked rows are being claimed or written by another transaction; a statement that claims several rows
 *   skips them (`for update skip locked`).
 * - Fence: the number of the claim, or a random id. Each later write of the worker is conditional on it, so that a worker whose lease has
 *   expired changes nothing. The statement returns the rows that it changed: no row means that the lease is lost.
 * - Renew: a live worker extends its leases well before they expire. Work that always ends sooner needs no renewal.
 * - Release: a result, or a retry at a later time, ends the lease in the statement that stores it.
 * - Outage: while Postgres is down, live workers keep their leases, although these expire. As soon as it is back, they renew leases and
 *   store results; sweeps wait a moment longer, so that they reclaim only the leases of dead workers.
 * - Reclaim: an expired lease is free. A sweep finds due rows without a job, including those of dead workers, and adds their jobs.
 * - Give up: rows whose workers die again and again fail permanently after a number of claims, because they may be the cause.
 *
 * The statements are next to the table that they work on, and named. This folder contains the parts and the code that they share.
 */
import { getOrCreateAvailability } from '../../data/postgres/availability.ts';
import type { Executor } from '../../data/postgres/queryable.ts';
import type { Logger } from '../../observability/log.ts';

/** Thrown when work ends because its lease was lost: another worker has the row, or the row was deleted. Nothing is left to do. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

/** Renews all leases that a process holds, in one statement. */
export interface LeaseRenewals<Lease> {
  /** Renews a lease from now on. @param onLost called when a renewal finds that the lease is lost */
  add(lease: Lease, onLost?: () => void): void;
  /** Stops renewing a lease, because its work has ended. */
  remove(lease: Lease): void;
  /** Stops renewing all leases; leases that are still held expire. */
  stop(): void;
}

/** The options of lease renewals. */
interface LeaseRenewalsOptions<Lease> {
  /** ms between two renewals: at most a third of the lease duration, so that one renewal may fail. */
  everyMs: number;
  /** The plural noun for the leased rows, for the log. */
  what: string;
  log: Pick<Logger, 'warn'>;
  /** The database of the leases: after a failed renewal, the next one follows as soon as it is available. Default: after `everyMs`. */
  database?: Executor;
  /** Extends leases. Returns those that are still held, or nothing if lost leases do not matter. */
  renew(leases: readonly Lease[]): Promise<readonly Lease[]> | Promise<void>;
}

/** Creates the lease renewals. The timer runs only while leases are held. After a failed renewal, the next one extends the leases. */
export function createLeaseRenewals<Lease>({
  everyMs,
  what,
  log,
  database,
  renew,
}: LeaseRenewalsOptions<Lease>): LeaseRenewals<Lease> {
  const heldLeases = new Map<Lease, (() => void) | undefined>();
  let timer: NodeJS.Timeout | undefined;
  let renewing = false;
  let stopped = false;

  /** Renews the leases. After a failure, renews them again as soon as that is possible: they may have expired meanwhile. */
  async function renewLeases(): Promise<void> {
    if (renewing) return;
    renewing = true;
    if (!(await tryToRenewLeases()) && database !== undefined) {
      await getOrCreateAvailability(database).waitUntilAvailable();
      if (heldLeases.size > 0 && !stopped) await tryToRenewLeases();
    }
    renewing = false;
  }

  /** Returns whether the renewal succeeded. */
  async function tryToRenewLeases(): Promise<boolean> {
    const leases = [...heldLeases.keys()];
    try {
      const stillHeld = await renew(leases);
      if (stillHeld === undefined) return true;
      const stillHeldSet = new Set(stillHeld);
      for (const lease of leases) if (!stillHeldSet.has(lease)) heldLeases.get(lease)?.();
      return true;
    } catch (error) {
      log.warn({ err: error, leases: leases.length }, `the leases of ${what} were not renewed`);
      return false;
    }
  }

  function stopTimer(): void {
    clearInterval(timer);
    timer = undefined;
  }

  return {
    add(lease, onLost) {
      heldLeases.set(lease, onLost);
      if (!stopped) timer ??= setInterval(() => void renewLeases(), everyMs).unref();
    },
    remove(lease) {
      heldLeases.delete(lease);
      if (heldLeases.size === 0) stopTimer();
    },
    stop() {
      stopped = true;
      stopTimer();
    },
  };
}
