import type { Database } from '../../../extension/index.ts';
import { getPeriodStart } from './periods.ts';

/** Adds up the hours of all endpoints. $1 the first hour. Uses webhook_endpoint_stats_hour_index. */
const SUM_BY_HOUR = `
  select hour, sum(attempts)::bigint, sum(succeeded)::bigint, sum(failed)::bigint, sum(delivery_attempts)::bigint, sum(duration_sum)::bigint
  from webhook_endpoint_stats where hour >= $1 group by hour`;

type SumRow = [
  hour: string,
  attempts: number,
  succeeded: number,
  failed: number,
  deliveryAttempts: number,
  durationSum: number,
];

/** The results of all endpoints in an hour. */
interface SummedHour {
  at: string;
  attempts: number;
  succeeded: number;
  failed: number;
  deliveryAttempts: number;
  /** In ms. */
  durationSum: number;
}

/** Reads the hours of all endpoints together since a time: a row of each endpoint for each hour with attempts. @param from epoch ms */
export async function readSummedHours(
  { readSlowly }: Pick<Database, 'readSlowly'>,
  from: number,
): Promise<SummedHour[]> {
  const rows = await readSlowly<SumRow>({ text: SUM_BY_HOUR, values: [new Date(from).toISOString()] });
  return rows.map(([at, attempts, succeeded, failed, deliveryAttempts, durationSum]) => {
    return { at, attempts, succeeded, failed, deliveryAttempts, durationSum };
  });
}

/** The deliveries of all endpoints in a period. */
export interface DeliveryTotals {
  attempts: number;
  succeeded: number;
  /** In all attempts. */
  failed: number;
  /** From 0 to 1; null if no delivery succeeded or failed. */
  successRate: number | null;
  attemptsPerDelivery: number | null;
  /** The average duration of an attempt in ms; null if there were none. */
  averageMs: number | null;
}

/** Reads the deliveries of the current hour of UTC and the 23 hours before it. */
export async function readLastDay(database: Pick<Database, 'readSlowly'>): Promise<DeliveryTotals> {
  const hours = await readSummedHours(database, getPeriodStart('last24Hours', Date.now()));
  const sum = (name: Exclude<keyof SummedHour, 'at'>) => hours.reduce((total, hour) => total + hour[name], 0);
  const [attempts, succeeded, failed] = [sum('attempts'), sum('succeeded'), sum('failed')];
  const deliveries = succeeded + failed;
  return {
    attempts,
    succeeded,
    failed,
    successRate: deliveries === 0 ? null : succeeded / deliveries,
    attemptsPerDelivery: deliveries === 0 ? null : sum('deliveryAttempts') / deliveries,
    averageMs: attempts === 0 ? null : Math.round(sum('durationSum') / attempts),
  };
}
