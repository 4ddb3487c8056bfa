/*
 * Leased work: rows of which each is worked on by one worker at a time, and by another one when that worker dies.
 *
 * - Claim: one statement gives this worker the rows that are due and whose lease is free or has expired. It sets the end of the lease, by
 *   the clock of Postgres, and a new fence. Rows that are locked are being claimed or written by somebody else: where a statement takes
 *   several, it skips them (`for update skip locked`).
 * - Fence: the number of the claim, or a random id. Each later write of the worker is conditional on it, so that a worker whose lease has
 *   expired meanwhile changes nothing. The statement returns the rows that it changed: none means that the lease is lost.
 * - Renew: a worker that lives extends its leases well before they expire. Work that always ends sooner needs no renewal.
 * - Release: a result, or a retry at a later time, ends the lease in the statement that stores it.
 * - Reclaim: an expired lease is free. A sweep finds due rows that have no job, those of lost workers among them, and adds their jobs.
 * - Give up: rows whose workers are lost again and again fail for good after a number of claims; they may be what kills the workers.
 *
 * The statements stand next to the table that they are about, whole and named. This folder has what is the same for all of them.
 */
import type { Logger } from '../log.ts';

/** Work that ended because its lease was lost: another worker has the row, or the row is gone. There is nothing left to do. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

/**
 * ms between the tries to store the result of finished work while Postgres does not answer. After the last one the lease expires, and the
 * work is done again.
 */
export const STORE_RESULT_RETRY_MS: readonly number[] = [200, 1000, 3000, 10_000, 20_000];

/** Renews the leases of a process while they are held, all of them in one statement. */
export interface LeaseRenewals<Lease> {
  /** @param onLost called when a renewal finds that the lease is lost */
  add(lease: Lease, onLost?: () => void): void;
  remove(lease: Lease): void;
  /** Renews nothing any more: leases that are held still expire. */
  stop(): void;
}

/** What leases are renewed with. */
export interface LeaseRenewalsOptions<Lease> {
  /** A third of a lease or less, so that one renewal may fail. */
  everyMs: number;
  /** What is leased, in the plural, for the log. */
  what: string;
  log: Pick<Logger, 'warn'>;
  /** Extends leases. Returns those that are still held, or nothing where that does not matter. */
  renew(leases: readonly Lease[]): Promise<readonly Lease[]> | Promise<void>;
}

/** Creates what renews leases. Its timer runs only while leases are held. A renewal that fails is made up for by the next. */
export function createLeaseRenewals<Lease>({
  everyMs,
  what,
  log,
  renew,
}: LeaseRenewalsOptions<Lease>): LeaseRenewals<Lease> {
  const held = new Map<Lease, (() => void) | undefined>();
  let timer: NodeJS.Timeout | undefined;
  let renewing = false;
  let stopped = false;

  async function renewAll(): Promise<void> {
    if (renewing) return;
    renewing = true;
    const leases = [...held.keys()];
    try {
      const kept = await renew(leases);
      if (kept === undefined) return;
      const known = new Set(kept);
      for (const lease of leases) if (!known.has(lease)) held.get(lease)?.();
    } catch (error) {
      log.warn({ err: error, leases: leases.length }, `the leases of ${what} were not renewed`);
    } finally {
      renewing = false;
    }
  }

  function pause(): void {
    clearInterval(timer);
    timer = undefined;
  }

  return {
    add(lease, onLost) {
      held.set(lease, onLost);
      if (!stopped) timer ??= setInterval(() => void renewAll(), everyMs).unref();
    },
    remove(lease) {
      held.delete(lease);
      if (held.size === 0) pause();
    },
    stop() {
      stopped = true;
      pause();
    },
  };
}
