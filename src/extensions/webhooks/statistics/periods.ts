import { DAY_MS, HOUR_MS } from '../../../extension/index.ts';

/** The periods of statistics, with the size of their bars. Hours and days are those of UTC. */
export const PERIODS = {
  last24Hours: { bars: 24, barMs: HOUR_MS },
  last14Days: { bars: 14, barMs: DAY_MS },
} as const;

export type Period = keyof typeof PERIODS;

/** Returns when a period began, in epoch ms: its last bar is the hour or day of `now`. */
export function getPeriodStart(period: Period, now: number): number {
  const { bars, barMs } = PERIODS[period];
  return Math.floor(now / barMs) * barMs - (bars - 1) * barMs;
}

/** The results of deliveries in an hour or day. */
export interface Bar {
  /** When it began, ISO 8601. */
  at: string;
  succeeded: number;
  failed: number;
}

/** Returns the bars of a period from the results of its hours, the oldest first. @param from see `getPeriodStart` */
export function createBars(
  period: Period,
  from: number,
  hours: readonly { at: string; succeeded: number; failed: number }[],
): Bar[] {
  const { bars, barMs } = PERIODS[period];
  const series = Array.from({ length: bars }, (_, bar) => {
    return { at: new Date(from + bar * barMs).toISOString(), succeeded: 0, failed: 0 };
  });
  for (const { at, succeeded, failed } of hours) {
    // The clock of the database may be ahead.
    const bar = series[Math.min(Math.floor((Date.parse(at) - from) / barMs), bars - 1)];
    if (bar === undefined) continue;
    bar.succeeded += succeeded;
    bar.failed += failed;
  }
  return series;
}
