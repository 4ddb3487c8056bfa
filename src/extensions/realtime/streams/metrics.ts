import { Counter, Gauge } from 'prom-client';
import type { Metrics } from '../../../platform/observability/metrics.ts';

/** Counters of streams. */
export interface RealtimeMetrics {
  /** Counts a client that was disconnected for reading too slowly. */
  countSlowClientDisconnect(): void;
  /** Counts record changes that are sent to the streams they concern. */
  countChanges(count: number): void;
}

/** Registers the metrics of client streams. @param countOpen returns the number of open streams of this process */
export function createRealtimeMetrics({ registry }: Metrics, countOpen: () => number): RealtimeMetrics {
  new Gauge({
    name: 'belfry_realtime_streams',
    help: 'Open streams of this process.',
    registers: [registry],
    collect() {
      this.set(countOpen());
    },
  });
  const cut = new Counter({
    name: 'belfry_realtime_cut_off_total',
    help: 'Streams that were disconnected because their clients read too slowly.',
    registers: [registry],
  });
  const changes = new Counter({
    name: 'belfry_realtime_changes_total',
    help: 'Record changes that this process read while streams were open.',
    registers: [registry],
  });
  return { countSlowClientDisconnect: () => cut.inc(), countChanges: (count) => changes.inc(count) };
}
