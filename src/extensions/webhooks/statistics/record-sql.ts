import { plainArrayLiteral, textArrayLiteral } from '../../../extension/index.ts';
import { TEST_EVENT } from '../settings/events.ts';
import { countByBucket } from './histogram.ts';

/** What an attempt adds to the statistics of its endpoint. */
interface MeasuredAttempt {
  endpointId: string;
  outcome: {
    /** In ms; null if the worker died. */
    durationMs: number | null;
    /** Attempts that sent nothing are not counted. */
    refused?: true;
  };
}

/**
 * Returns the durations of attempts by endpoint, as the four parameters of `addStatisticsSql`: endpoints, their numbers of attempts, the sums
 * of the durations, histograms.
 */
export function createStatisticsParameters(attempts: readonly MeasuredAttempt[]): unknown[] {
  const sent = attempts.filter(({ outcome }) => !outcome.refused);
  const groups = [...Map.groupBy(sent, ({ endpointId }) => endpointId)].map(([endpointId, group]) => {
    const durations = group.flatMap(({ outcome }) => outcome.durationMs ?? []);
    return { endpointId, attempts: group.length, durations };
  });
  return [
    plainArrayLiteral(groups.map(({ endpointId }) => endpointId)),
    plainArrayLiteral(groups.map((group) => group.attempts)),
    plainArrayLiteral(groups.map(({ durations }) => durations.reduce((sum, ms) => sum + ms, 0))),
    textArrayLiteral(groups.map(({ durations }) => plainArrayLiteral(countByBucket(durations)))),
  ];
}

/** The aggregates of `counts`, from rows with `type`, `status` and `schedule_attempts`. A test has one attempt and no schedule. */
export const STATISTICS_COUNTS = `count(*)::int as attempts, (count(*) filter (where status = 'succeeded'))::int as delivered,
      (count(*) filter (where status = 'failed'))::int as given_up,
      (coalesce(sum(case when type = '${TEST_EVENT}' then 1 else schedule_attempts end) filter (where status <> 'pending'), 0))::int as delivery_attempts`;

/** Adds rows of `webhook_endpoint_stats` to those of the same endpoint and hour. */
const ADD_TO_HOUR = `on conflict (endpoint_id, hour) do update set attempts = s.attempts + excluded.attempts, succeeded = s.succeeded + excluded.succeeded,
      failed = s.failed + excluded.failed, delivery_attempts = s.delivery_attempts + excluded.delivery_attempts,
      duration_sum = s.duration_sum + excluded.duration_sum,
      durations = array(
        select coalesce(a, 0) + coalesce(b, 0) from unnest(s.durations, excluded.durations) with ordinality u(a, b, bucket) order by bucket)`;

/**
 * Adds finished deliveries to polled endpoints, each as one attempt without a duration.
 *
 * @param finished rows with `endpoint_id`, one for each delivery
 */
export const addPolledSql = (finished: string, status: 'succeeded' | 'failed') => `
    insert into webhook_endpoint_stats as s (endpoint_id, hour, attempts, succeeded, failed, delivery_attempts, duration_sum, durations)
    select endpoint_id, date_trunc('hour', now(), 'UTC'), n, ${status === 'succeeded' ? 'n, 0' : '0, n'}, n, 0, '{}'
    from (select endpoint_id, count(*)::int as n from ${finished} group by endpoint_id order by endpoint_id) c
    ${ADD_TO_HOUR}`;

/**
 * Adds the results of attempts to the statistics of their endpoints, in the current hour of UTC. Four parameters, numbered from `first`: see
 * `createStatisticsParameters`. Rows are written in the order of their endpoints, so that two workers cannot deadlock.
 *
 * The durations come from the worker, because Postgres takes longer to group them. They are left out for an endpoint if not all of its
 * results count, which happens only if a lease expired: the counts stay exact, and percentiles miss these attempts.
 *
 * @param counts rows with `endpoint_id` and `STATISTICS_COUNTS`, one for each endpoint
 */
export const addStatisticsSql = (counts: string, first: number) => `
    insert into webhook_endpoint_stats as s (endpoint_id, hour, attempts, succeeded, failed, delivery_attempts, duration_sum, durations)
    select c.endpoint_id, date_trunc('hour', now(), 'UTC'), c.attempts, c.delivered, c.given_up, c.delivery_attempts,
      case when c.attempts = m.attempts then m.duration_sum else 0 end,
      case when c.attempts = m.attempts then m.durations::int[] else '{}' end
    from ${counts} c join unnest($${first}::text[], $${first + 1}::int[], $${first + 2}::bigint[], $${first + 3}::text[])
      as m(endpoint_id, attempts, duration_sum, durations) on m.endpoint_id = c.endpoint_id
    order by c.endpoint_id
    ${ADD_TO_HOUR}`;
