import { Counter, Gauge } from 'prom-client';
import type { Metrics } from '../../../extension/index.ts';

/** Counters of streams. */
export interface RealtimeMetrics {
  /** Counts a client that was disconnected for reading too slowly. */
  countSlowClientDisconnect(): void;
  /** Counts record changes that are sent to the streams they concern. @param newestAt when the last of them happened, ISO 8601 */
  countChanges(count: number, newestAt: string | undefined): void;
  /** Returns the counts since the start, and the delay of the last change in ms; null if there was none within a minute. */
  read(): { changes: number; cutOff: number; lagMs: number | null };
}

/** ms for which the delay of a change is reported. */
const LAG_FRESH_MS = 60_000;

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
  let changesRead = 0;
  let cutOff = 0;
  let lag: { ms: number; at: number } | undefined;
  return {
    countSlowClientDisconnect() {
      cutOff += 1;
      cut.inc();
    },
    countChanges(count, newestAt) {
      changesRead += count;
      changes.inc(count);
      const now = Date.now();
      // The clock of Postgres may be ahead.
      if (newestAt !== undefined) lag = { ms: Math.max(0, now - Date.parse(newestAt)), at: now };
    },
    read() {
      const isFresh = lag !== undefined && Date.now() - lag.at < LAG_FRESH_MS;
      return { changes: changesRead, cutOff, lagMs: isFresh ? lag!.ms : null };
    },
  };
}
