import { z } from 'zod';
import type { Host } from '../../../extension/index.ts';
import { DAY_MS, HOUR_MS } from '../../../extension/index.ts';
import { isKeptSql } from '../deliveries/deliveries-sql.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import type { Chart, ChartRange, RankedEndpoint } from './responses.ts';

/** The times that charts cover, with the size of a bar. */
const RANGES = { day: { bars: 24, barMs: HOUR_MS }, week: { bars: 7, barMs: DAY_MS } } as const;

const RANGE_NAMES = ['day', 'week'] as const satisfies readonly ChartRange[];

/** The query of a chart. */
export const rangeQuery = z.strictObject({
  range: z.enum(RANGE_NAMES, { error: `Must be one of: ${RANGE_NAMES.join(', ')}` }).default('day'),
});

/** Maximum numbers of newest deliveries that a chart reads, so that its cost does not depend on the size of the log. */
const MOST = { overview: 50_000, endpoint: 10_000, row: 1000 };
const RANKED = 5;

/** Statistics of deliveries. All of them read a limited number of deliveries, by existing indexes. */
export interface DeliveryStatistics {
  /** Of all endpoints, with those that fail most and those that are slowest. */
  overview(range: ChartRange): Promise<{ chart: Chart; failing: RankedEndpoint[]; slow: RankedEndpoint[] }>;
  endpoint(id: string, range: ChartRange): Promise<Chart>;
  /** The last 24 hours of several endpoints, by id, in one statement. */
  lastDay(ids: readonly string[]): Promise<Map<string, Chart>>;
}

const STATE = `case when d.status in ('succeeded', 'failed') then d.status else 'pending' end as state`;
const COUNTS = ['succeeded', 'failed', 'pending']
  .map((state) => `count(*) filter (where state = '${state}') as ${state}`)
  .join(', ');

/** The bar of a delivery, counted from 0 for the oldest. @param barMs an SQL expression */
const barSql = (barMs: string) =>
  `greatest(0, floor(extract(epoch from created_at - $3::timestamptz) * 1000 / ${barMs}))::int as bar`;

/**
 * Selects the newest deliveries since a time. $1 the first id of that time, $2 maximum number, $3 the time itself, with which Postgres
 * skips the older partitions of the log.
 *
 * @param idColumn the column that is compared with $1; event ids and delivery ids begin with the time of their creation
 */
function newestSql(isKept: string, idColumn: 'id' | 'event_id', condition: string): string {
  const columns = `d.${idColumn}, d.endpoint_id, ${STATE}, d.created_at, d.duration_ms`;
  const newestRowsSql = (table: string, more: string) =>
    `(select ${columns} from ${table} d where ${condition} and d.${idColumn} >= $1 ${more} order by d.${idColumn} desc limit $2)`;
  return `(select * from (
      ${newestRowsSql('webhook_deliveries', '')}
      union all
      ${newestRowsSql('webhook_delivery_log', `and d.finished_at >= $3::timestamptz and ${isKept}`)}) d
    order by ${idColumn} desc limit $2)`;
}

/** Counts the newest deliveries of all endpoints, and ranks the endpoints. Uses the indexes by id. $1 to $3 see `newestSql`, $4 ms of a bar. */
const overviewSql = (isKept: string) => `
  with newest as materialized ${newestSql(isKept, 'id', 'true')},
  by_endpoint as materialized (
    select endpoint_id, ${COUNTS}, round(percentile_cont(0.95) within group (order by duration_ms))::int as ms from newest group by 1),
  failing as (select * from by_endpoint where failed > 0 order by failed desc, endpoint_id limit ${RANKED}),
  slow as (select * from by_endpoint where ms > 0 order by ms desc, endpoint_id limit ${RANKED})
  select 'bar', bar, null, null, null, ${COUNTS}, null from (select state, ${barSql('$4::bigint')} from newest) n group by 2
  ${['failing', 'slow']
    .map(
      (ranking) => `union all
  select '${ranking}', null, e.id, e.url, e.owner_id, r.succeeded, r.failed, r.pending, r.ms
  from ${ranking} r join webhook_endpoints e on e.id = r.endpoint_id where e.removed_at is null`,
    )
    .join('\n  ')}`;

type OverviewRow = [
  kind: 'bar' | 'failing' | 'slow',
  bar: number | null,
  id: string | null,
  url: string | null,
  owner: string | null,
  succeeded: number,
  failed: number,
  pending: number,
  durationMs: number | null,
];

/**
 * Counts the newest deliveries of each endpoint. Uses the indexes by endpoint and event. $1 to $3 see `newestSql`, $4 ms of a bar, $5
 * endpoints.
 */
const byEndpointSql = (isKept: string) => `
  select e.id, n.bar, ${COUNTS}
  from unnest($5::text[]) e(id) cross join lateral (
    select state, ${barSql('$4::bigint')} from ${newestSql(isKept, 'event_id', 'd.endpoint_id = e.id')} d) n
  group by 1, 2`;

type EndpointBarRow = [id: string, bar: number, succeeded: number, failed: number, pending: number];

type CountsRow = [bar: number, succeeded: number, failed: number, pending: number];

/** The start of a range: its bars begin at full hours or days, in UTC. */
function getRangeStart(range: ChartRange): number {
  const { bars, barMs } = RANGES[range];
  return Math.floor(Date.now() / barMs) * barMs - (bars - 1) * barMs;
}

function toChart(range: ChartRange, from: number, most: number, rows: readonly CountsRow[]): Chart {
  const { bars, barMs } = RANGES[range];
  const counted = new Map(rows.map(([bar, ...counts]) => [Math.min(bar, bars - 1), counts]));
  const total = rows.reduce((sum, [, ...counts]) => sum + counts.reduce((a, b) => a + b, 0), 0);
  return {
    range,
    bars: Array.from({ length: bars }, (_, bar) => {
      const [succeeded = 0, failed = 0, pending = 0] = counted.get(bar) ?? [];
      return { at: new Date(from + bar * barMs).toISOString(), succeeded, failed, pending };
    }),
    newest: total >= most ? most : null,
  };
}

/** Creates the reader of statistics. Its statements run alongside those of requests, and are cancelled after 5 seconds. */
export function createDeliveryStatistics(
  { database }: Pick<Host, 'database'>,
  settings: Pick<WebhookSettings, 'keepDeliveriesDays'>,
): DeliveryStatistics {
  const isKept = isKeptSql(settings);
  const [overviewText, byEndpointText] = [overviewSql(isKept), byEndpointSql(isKept)];

  const parametersOf = (range: ChartRange, from: number, most: number) => [
    Math.floor(from / 1000).toString(16),
    most,
    new Date(from).toISOString(),
    RANGES[range].barMs,
  ];

  async function readCharts(ids: readonly string[], range: ChartRange, most: number): Promise<Map<string, Chart>> {
    if (ids.length === 0) return new Map();
    const from = getRangeStart(range);
    const values = [...parametersOf(range, from, most), ids];
    const rows = await database.readSlowly<EndpointBarRow>({ text: byEndpointText, values });
    const byId = Map.groupBy(rows, ([id]) => id);
    return new Map(
      ids.map((id) => [
        id,
        toChart(
          range,
          from,
          most,
          (byId.get(id) ?? []).map(([, ...counts]) => counts),
        ),
      ]),
    );
  }

  return {
    async overview(range) {
      const from = getRangeStart(range);
      const values = parametersOf(range, from, MOST.overview);
      const rows = await database.readSlowly<OverviewRow>({ text: overviewText, values });
      const rank = (ranking: 'failing' | 'slow'): RankedEndpoint[] =>
        rows
          .filter(([kind]) => kind === ranking)
          .map(([, , id, url, owner, succeeded, failed, pending, durationMs]) => {
            return { id: id!, url: url!, owner: owner!, succeeded, failed, pending, durationMs };
          });
      const bars = rows.filter(([kind]) => kind === 'bar').map((row): CountsRow => [row[1]!, row[5], row[6], row[7]]);
      return {
        chart: toChart(range, from, MOST.overview, bars),
        failing: rank('failing').toSorted((a, b) => b.failed - a.failed),
        slow: rank('slow').toSorted((a, b) => (b.durationMs ?? 0) - (a.durationMs ?? 0)),
      };
    },
    async endpoint(id, range) {
      return (await readCharts([id], range, MOST.endpoint)).get(id)!;
    },
    lastDay: (ids) => readCharts(ids, 'day', MOST.row),
  };
}
