import { Counter, Gauge, type Registry } from 'prom-client';
import type { ReplicaMonitor } from './monitor.ts';
import type { ReplicaProgress } from './progress.ts';

const REASONS = ['own_write', 'cursor', 'requested', 'lag', 'unknown_lag', 'unavailable', 'redis'] as const;
/** Why a list is read from the primary. */
export type Reason = (typeof REASONS)[number];

/** Creates the metrics of a replica, and returns the functions that count. */
export function createReplicaMetrics(registry: Registry, monitor: ReplicaMonitor, progress: ReplicaProgress) {
  const registers = [registry];
  const lists = new Counter({
    name: 'belfry_db_replica_lists_total',
    help: `Lists of clients by the server that was chosen before the list was authorized: replica, or primary, because of: ${REASONS.join(', ')}.`,
    labelNames: ['target', 'reason'],
    registers,
  });
  const labelsOf = (reason: Reason | undefined) =>
    reason === undefined ? { target: 'replica', reason: 'none' } : { target: 'primary', reason };
  for (const reason of [undefined, ...REASONS]) lists.inc(labelsOf(reason), 0);
  const retries = new Counter({
    name: 'belfry_db_replica_retries_total',
    help: 'Statements that failed on the replica and ran again on the primary.',
    registers,
  });
  new Gauge({
    name: 'belfry_db_replica_in_use',
    help: 'Whether lists are read from the replica: 1 or 0.',
    registers,
    collect() {
      this.set(monitor.unusableReason() === undefined ? 1 : 0);
    },
  });
  new Gauge({
    name: 'belfry_db_replica_lag_seconds',
    help: 'How old the data of the replica is at most. Includes the time since the last check.',
    registers,
    collect() {
      this.set(progress.ageMs() / 1000);
    },
  });
  return { countList: (reason: Reason | undefined) => lists.inc(labelsOf(reason)), countRetry: () => retries.inc() };
}
