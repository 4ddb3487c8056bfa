import { type Finding, type Host, warning } from '../../../extension/index.ts';
import { ENDPOINT_STATE } from '../endpoints/endpoint-state.ts';
import { IS_NEGLECTED } from './status.ts';

const MAX_LISTED = 3;

/** Selects the endpoints that do not work, by state, the newest failures first. Each row also has the total number of its state. */
const NOT_WORKING = `
  select state, total, url, last_error from (
    select state, e.url, e.last_error, count(*) over (partition by state)::int as total,
      row_number() over (partition by state order by e.last_failure_at desc nulls last, e.id desc) as place
    from webhook_endpoints e cross join lateral (select ${ENDPOINT_STATE} as state) s
    where e.removed_at is null and state in ('retrying', 'failing')) e
  where place <= ${MAX_LISTED} order by state, place`;

type NotWorkingRow = [state: 'failing' | 'retrying', total: number, url: string, lastError: string | null];

const COUNT_NEGLECTED = `select count(*)::int from webhook_endpoints e where e.removed_at is null and ${IS_NEGLECTED}`;

/**
 * Creates the check of `belfry doctor` that finds endpoints that are failing or retrying, or whose messages nobody fetches. It names their hosts,
 * because URLs may contain secrets.
 */
export function createEndpointDiagnosis({ database }: Pick<Host, 'database'>): () => Promise<Finding[]> {
  async function findNeglected(): Promise<Finding[]> {
    const [[count] = [0]] = await database.readSlowly<[number]>({ text: COUNT_NEGLECTED, values: [] });
    if (count === 0) return [];
    const message =
      count === 1
        ? '1 polled webhook endpoint has messages that wait for more than a day'
        : `${count} polled webhook endpoints have messages that wait for more than a day`;
    return [
      warning(
        message,
        'see npx belfry webhooks status; messages that are never acknowledged fail (keepDeliveriesDays)',
      ),
    ];
  }

  async function findNotWorking(): Promise<Finding[]> {
    const found = await database.readSlowly<NotWorkingRow>({ text: NOT_WORKING, values: [] });
    return [...Map.groupBy(found, ([state]) => state)].map(([state, rows]) => {
      const total = rows[0]![1];
      const listed = rows.map(
        ([, , url, error]) => `${URL.parse(url)?.host ?? ''}${error === null ? '' : ` (${error})`}`,
      );
      const more = total > rows.length ? ` and ${total - rows.length} more` : '';
      return warning(
        `${total} webhook ${total === 1 ? 'endpoint is' : 'endpoints are'} ${state}: ${listed.join(', ')}${more}`,
        `see npx belfry webhooks status, and /console/webhooks/endpoints?state=${state} in the console`,
      );
    });
  }

  return async () => (await Promise.all([findNotWorking(), findNeglected()])).flat();
}
