import { z } from 'zod';
import type { Host } from '../../../extension/index.ts';
import { readSummedHours } from '../statistics/all-endpoints.ts';
import { type EndpointHour, readHours } from '../statistics/endpoint-statistics.ts';
import { addHistograms, getPercentile } from '../statistics/histogram.ts';
import { createBars, getPeriodStart, type Period } from '../statistics/periods.ts';
import type { Chart, ChartRange, RankedEndpoint } from './responses.ts';

const PERIOD_OF: Record<ChartRange, Period> = { day: 'last24Hours', twoWeeks: 'last14Days' };
const RANGE_NAMES = ['day', 'twoWeeks'] as const satisfies readonly ChartRange[];

/** The query of a chart. */
export const rangeQuery = z.strictObject({
  range: z.enum(RANGE_NAMES, { error: `Must be one of: ${RANGE_NAMES.join(', ')}` }).default('day'),
});

const RANKED = 5;

/** Statistics of the deliveries of several endpoints. */
export interface DeliveryStatistics {
  /** Of all endpoints, with those that fail most and those that are slowest. */
  overview(range: ChartRange): Promise<{ chart: Chart; failing: RankedEndpoint[]; slow: RankedEndpoint[] }>;
  /** The last 24 hours of endpoints, by id, in one statement. */
  lastDay(ids: readonly string[]): Promise<Map<string, Chart>>;
}

/**
 * Selects the endpoints with the most failed deliveries, and those whose attempts took longest on average. $1 the first hour. Uses
 * webhook_endpoint_stats_hour_index.
 */
const RANK = `
  with by_endpoint as materialized (
    select endpoint_id, sum(succeeded)::bigint as succeeded, sum(failed)::bigint as failed,
      sum(duration_sum) / nullif(sum(attempts), 0) as average_ms
    from webhook_endpoint_stats where hour >= $1 group by endpoint_id),
  failing as (select * from by_endpoint where failed > 0 order by failed desc, endpoint_id limit ${RANKED}),
  slow as (select * from by_endpoint where average_ms > 0 order by average_ms desc, endpoint_id limit ${RANKED})
  ${['failing', 'slow']
    .map(
      (
        ranking,
      ) => `select '${ranking}', e.id, nullif(e.url, ''), e.owner_id, e.organisation_role, r.succeeded, r.failed, r.average_ms::float8
  from ${ranking} r join webhook_endpoints e on e.id = r.endpoint_id where e.removed_at is null`,
    )
    .join('\n  union all\n  ')}`;

type RankedRow = [
  ranking: 'failing' | 'slow',
  id: string,
  url: string,
  owner: string,
  organisationRole: string | null,
  succeeded: number,
  failed: number,
  averageMs: number,
];

/** Creates the reader of statistics. Its statements read a row of each endpoint for each hour with attempts, not the delivery log. */
export function createDeliveryStatistics({ database }: Pick<Host, 'database'>): DeliveryStatistics {
  const toChart = (range: ChartRange, from: number, hours: Parameters<typeof createBars>[2]): Chart => ({
    range,
    bars: createBars(PERIOD_OF[range], from, hours),
  });

  async function rank(
    from: number,
  ): Promise<Pick<Awaited<ReturnType<DeliveryStatistics['overview']>>, 'failing' | 'slow'>> {
    const rows = await database.readSlowly<RankedRow>({ text: RANK, values: [new Date(from).toISOString()] });
    const ids = rows.flatMap(([ranking, id]) => (ranking === 'slow' ? [id] : []));
    const hours = ids.length === 0 ? new Map<string, EndpointHour[]>() : await readHours(database, ids, from);
    const list = (wanted: RankedRow[0], order: (a: RankedRow, b: RankedRow) => number): RankedEndpoint[] =>
      rows
        .filter(([ranking]) => ranking === wanted)
        .toSorted(order)
        .map(([, id, url, owner, role, succeeded, failed]) => {
          const durations = addHistograms((hours.get(id) ?? []).map((hour) => hour.durations));
          const as = role === null ? {} : { as: `org:${role}` };
          return { id, url, owner, ...as, succeeded, failed, durationMs: getPercentile(durations, 0.95) };
        });
    const slow = list('slow', (a, b) => b[7] - a[7]);
    return {
      failing: list('failing', (a, b) => b[6] - a[6]),
      slow: slow.toSorted((a, b) => (b.durationMs ?? 0) - (a.durationMs ?? 0)),
    };
  }

  return {
    async overview(range) {
      const from = getPeriodStart(PERIOD_OF[range], Date.now());
      const [hours, ranked] = await Promise.all([readSummedHours(database, from), rank(from)]);
      return { chart: toChart(range, from, hours), ...ranked };
    },
    async lastDay(ids) {
      if (ids.length === 0) return new Map();
      const from = getPeriodStart('last24Hours', Date.now());
      const hours = await readHours(database, ids, from);
      return new Map(ids.map((id) => [id, toChart('day', from, hours.get(id)!)]));
    },
  };
}
