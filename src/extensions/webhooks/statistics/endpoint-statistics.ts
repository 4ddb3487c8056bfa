import { z } from 'zod';
import type { Database } from '../../../extension/index.ts';
import { addHistograms, getPercentile } from './histogram.ts';
import { createBars, getPeriodStart, type Period } from './periods.ts';

/** Reads the hours of endpoints. $1 endpoints, $2 the first hour. Uses the primary key. */
const READ_HOURS = `
  select endpoint_id, hour, attempts, succeeded, failed, delivery_attempts, durations from webhook_endpoint_stats
  where endpoint_id = any($1::text[]) and hour >= $2`;

type HourRow = [
  endpointId: string,
  hour: string,
  attempts: number,
  succeeded: number,
  failed: number,
  deliveryAttempts: number,
  durations: number[],
];

/** The results of an endpoint in an hour. */
export interface EndpointHour {
  at: string;
  attempts: number;
  succeeded: number;
  failed: number;
  deliveryAttempts: number;
  durations: readonly number[];
}

/** Reads the hours of endpoints since a time, by endpoint. Each endpoint has up to 360 rows. @param from epoch ms */
export async function readHours(
  { read }: Pick<Database, 'read'>,
  ids: readonly string[],
  from: number,
): Promise<Map<string, EndpointHour[]>> {
  const values = [ids, new Date(from).toISOString()];
  const rows = await read<HourRow>({ name: 'webhook_statistics', text: READ_HOURS, values });
  const byId = new Map<string, EndpointHour[]>(ids.map((id) => [id, []]));
  for (const [id, at, attempts, succeeded, failed, deliveryAttempts, durations] of rows)
    byId.get(id)!.push({ at, attempts, succeeded, failed, deliveryAttempts, durations });
  return byId;
}

const time = z.iso.datetime();
const share = z.number().min(0).max(1);
const percentile = z.int().nullable();

const periodShape = z
  .strictObject({
    from: time.meta({ description: 'When the period began: at a full hour or day of UTC.' }),
    deliveries: z.int().meta({ description: 'Deliveries that succeeded, or failed in all attempts.' }),
    succeeded: z.int(),
    failed: z.int(),
    successRate: share
      .nullable()
      .meta({ description: '`succeeded` / `deliveries`; null if there were no deliveries.' }),
    attempts: z.int().meta({ description: 'Attempts, including those of deliveries that are still retried.' }),
    attemptsPerDelivery: z
      .number()
      .nullable()
      .meta({ description: 'The average number of attempts of these deliveries; null if there were none.' }),
    durationMs: z.strictObject({ p50: percentile, p95: percentile }).meta({
      description: 'Percentiles of the durations of attempts, at most 10% or 1 ms off; null if there were none.',
    }),
    series: z
      .strictObject({ at: time, succeeded: z.int(), failed: z.int() })
      .array()
      .meta({ description: 'The deliveries by hour or day, the oldest first. `at`: when the hour or day began.' }),
  })
  .meta({ id: 'WebhookPeriodStatistics' });

/** The shape of the statistics of an endpoint in responses. */
export const endpointStatisticsShape = z
  .strictObject({
    last24Hours: periodShape.meta({ description: 'The current hour and the 23 hours before it.' }),
    last14Days: periodShape.meta({ description: 'Today and the 13 days before it.' }),
  })
  .meta({ id: 'WebhookStatistics' });

type EndpointStatistics = z.output<typeof endpointStatisticsShape>;

function summarizePeriod(period: Period, now: number, all: readonly EndpointHour[]): EndpointStatistics[Period] {
  const from = getPeriodStart(period, now);
  const hours = all.filter(({ at }) => Date.parse(at) >= from);
  const sum = (count: (hour: EndpointHour) => number) => hours.reduce((total, hour) => total + count(hour), 0);
  const [succeeded, failed] = [sum((hour) => hour.succeeded), sum((hour) => hour.failed)];
  const deliveries = succeeded + failed;
  const durations = addHistograms(hours.map((hour) => hour.durations));
  return {
    from: new Date(from).toISOString(),
    deliveries,
    succeeded,
    failed,
    successRate: deliveries === 0 ? null : succeeded / deliveries,
    attempts: sum((hour) => hour.attempts),
    attemptsPerDelivery: deliveries === 0 ? null : sum((hour) => hour.deliveryAttempts) / deliveries,
    durationMs: { p50: getPercentile(durations, 0.5), p95: getPercentile(durations, 0.95) },
    series: createBars(period, from, hours),
  };
}

/** Reads the statistics of an endpoint: one statement, up to 360 rows. */
export async function readEndpointStatistics(
  database: Pick<Database, 'read'>,
  id: string,
): Promise<EndpointStatistics> {
  const now = Date.now();
  const hours = (await readHours(database, [id], getPeriodStart('last14Days', now))).get(id)!;
  const summarize = (period: Period) => summarizePeriod(period, now, hours);
  return { last24Hours: summarize('last24Hours'), last14Days: summarize('last14Days') };
}
