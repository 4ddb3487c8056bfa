import { ApiError } from '../../helpers/errors.ts';
import { isConcurrencyConflict, isDatabaseError, isStatementTimeout, isTransient } from '../postgres/errors.ts';
import type { Queryable } from '../postgres/queryable.ts';
import type { ReplicaMonitor } from './monitor.ts';

/** Whether a statement that failed on the replica may succeed on the primary, without burdening it with what overloads the replica. */
export function mayRunOnPrimary(error: unknown): boolean {
  if (error instanceof ApiError || isStatementTimeout(error)) return false;
  const code = String((error as { code?: unknown } | null)?.code ?? '');
  const isWaitTimeout = code === '53300' && !isDatabaseError(error);
  // Class 22: a value that the primary would refuse, too.
  return !isWaitTimeout && !code.startsWith('22');
}

/** Runs work of the replica, and again on the primary if it fails because of the replica. */
interface Fallback {
  /** @param onRetry called if the work runs again */
  run<T>(onReplica: () => Promise<T>, onPrimary: () => Promise<T>, onRetry?: () => void): Promise<T>;
  /** Like `run`, and does not wait for a replica that has been lost. */
  read: Fallback['run'];
  /** Ends the waits of `read` for statements of the replica. */
  abandonReads(error: unknown): void;
}

/** @param countRetry called for work that runs again */
export function createFallback(
  monitor: Pick<ReplicaMonitor, 'unusableReason' | 'checkSoon'>,
  countRetry: () => void,
): Fallback {
  const pending = new Set<(error: unknown) => void>();

  const run: Fallback['run'] = async (onReplica, onPrimary, onRetry) => {
    // A request with several statements must not wait again for a replica that an earlier one has found lost.
    if (monitor.unusableReason() === 'unavailable') return onPrimary();
    try {
      return await onReplica();
    } catch (error) {
      if (monitor.unusableReason() !== 'unavailable' && !mayRunOnPrimary(error)) throw error;
      if (isTransient(error) && !isConcurrencyConflict(error)) monitor.checkSoon();
      countRetry();
      onRetry?.();
      return onPrimary();
    }
  };

  return {
    run,
    async read(onReplica, onPrimary, onRetry) {
      const { promise: lost, reject } = Promise.withResolvers<never>();
      pending.add(reject);
      try {
        return await run(() => Promise.race([onReplica(), lost]), onPrimary, onRetry);
      } finally {
        pending.delete(reject);
      }
    },
    abandonReads(error) {
      for (const giveUp of pending) giveUp(error);
    },
  };
}

type Read<Sent> = <Row extends unknown[]>(sent: Sent) => Promise<Row[]>;

/** Reads on the replica or, if that fails because of the replica, on the primary. @param onRetry called for each statement that runs again */
export function createReads(
  { read }: Fallback,
  replica: Queryable,
  primary: Queryable,
  onRetry: (() => void) | undefined,
): Queryable {
  const withPrimaryFallback =
    <Sent>(onReplica: Read<Sent>, onPrimary: Read<Sent>): Read<Sent> =>
    (sent) =>
      read(
        () => onReplica(sent),
        () => onPrimary(sent),
        onRetry,
      );
  return {
    read: withPrimaryFallback(replica.read, primary.read),
    readList: withPrimaryFallback(replica.readList, primary.readList),
    readSlowly: withPrimaryFallback(replica.readSlowly, primary.readSlowly),
    write: primary.write,
  };
}
