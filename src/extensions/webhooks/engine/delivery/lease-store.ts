import {
  type AddToBatch,
  createLeaseRenewals,
  createMicroBatch,
  type Host,
  type LeaseRenewals,
  plainArrayLiteral,
  retryWhileUnavailable,
  textArrayLiteral,
} from '../../../../extension/index.ts';
import { mayReceiveSql, type OwnersSql, ownersSql, RATE_RULE } from '../../endpoints/endpoints-sql.ts';
import type { OwnerTables } from '../../endpoints/owners.ts';
import { listGlobalRoles, type WebhookSettings } from '../../settings/settings.ts';
import type { RateRule, RateState } from './rate-limit.ts';

/**
 * ms that a lease lasts unless it is renewed. After it has expired, another worker may send to the endpoint, except for the deliveries
 * that the lease had claimed. At least `BEGIN_REQUESTS_MS`, so that no request begins after the lease that claimed it has expired.
 */
export const LEASE_MS = 5000;

/**
 * ms between renewals. A holder learns of requested deliveries within twice this time. A lease that lingers is not renewed: it learns
 * of them by announcements.
 */
const RENEW_EVERY_MS = 500;

/** ms after the last claim that returned deliveries within which the requests of a lease begin. */
export const BEGIN_REQUESTS_MS = 5000;

const MARGIN_MS = 10_000;
/**
 * Returns the ms after a worker's last renewal of a lease until its deliveries count as lost and are sent again: a request may begin at
 * the last moment and use its whole timeout, and its result must then be written.
 */
export function computeDeliveryLeaseMs({ timeoutMs }: { timeoutMs: number }): number {
  return BEGIN_REQUESTS_MS + timeoutMs + MARGIN_MS;
}

/** Creates the lease row of an endpoint, unless it exists. $1 endpoint. */
export const CREATE_LEASE_ROW = `
  insert into webhook_turns (endpoint_id) select id from webhook_endpoints where id = $1 on conflict do nothing`;

/** Of how many endpoints a worker remembers the lease row. */
const MAX_LEASE_ROWS = 10_000;

/** Where Postgres stored the lease rows when this worker last read or wrote them, by endpoint. Only a hint: another process may write the row. */
export interface LeaseRows {
  get(endpointId: string): string | undefined;
  /** @param row null or undefined: the row was not found */
  set(endpointId: string, row: string | null | undefined): void;
}

export function createLeaseRows(): LeaseRows {
  const rows = new Map<string, string>();
  return {
    get: (endpointId) => rows.get(endpointId),
    set(endpointId, row) {
      rows.delete(endpointId);
      if (row == null) return;
      rows.set(endpointId, row);
      if (rows.size > MAX_LEASE_ROWS) rows.delete(rows.keys().next().value!);
    },
  };
}

/**
 * Releases leases that their holders still hold. $1 endpoints, $2 holders, $3 the deliveries that stay claimed, as JSON: attempts by
 * delivery id, $4 rate states, JSON or null. A lease with claimed deliveries lasts until it expires.
 * Returns the endpoints, each with whether it has unclaimed requested deliveries, and where the row is now.
 *
 * @param rows a condition on the lease rows `t`, ending with `and`
 */
const releaseLeasesSql = (rows: string) => `
  update webhook_turns t set sending = coalesce(r.claimed, '{}')::jsonb,
    holder = case when r.claimed is not null then t.holder end,
    lease_until = case when r.claimed is not null then t.lease_until end,
    rate = coalesce(r.rate::jsonb, t.rate)
  from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as r(endpoint_id, holder, claimed, rate)
  where ${rows} t.endpoint_id = r.endpoint_id and t.holder = r.holder
  returning t.endpoint_id, t.requested <> '{}', t.ctid`;
const RELEASE_LEASES = releaseLeasesSql('');
/** $5 where the rows were last stored. Rows that are elsewhere by now are not released: see `claimDeliveriesSql`. */
const RELEASE_LEASES_BY_ROW = releaseLeasesSql('t.ctid = any($5::tid[]) and');

/** An endpoint as a renewal returns it: the settings that a lease sends with. */
export interface CurrentEndpoint {
  id: string;
  url: string;
  /** The newest secret, as ciphertext. */
  secret: string;
  /** The custom headers, as ciphertext. */
  headers: string | null;
  ordered: boolean;
  rateLimit: RateRule | null;
  /** Whether deliveries that clients requested (tests, retries) wait to be claimed. */
  requested: boolean;
  /** Where the lease row is stored; null if the lease was not renewed. */
  row: string | null;
}

/**
 * Renews leases that their holders still hold. $1 endpoints, $2 holders, $3 lease duration in ms, $4 roles of the global policy. Returns
 * the endpoints that may still be sent to, even if their lease was not renewed; the next claim detects a lost lease. Locked rows are skipped: a
 * claim locks the lease row and renews the lease anyway, and waiting could deadlock with a process that releases leases in another order.
 *
 * @param rows a condition on the lease rows `t`
 */
function renewLeasesSql(owners: OwnersSql, rows: string): string {
  return `
  with own as materialized (
    select t.endpoint_id, t.requested, t.ctid as tid from webhook_turns t
      join unnest($1::text[], $2::text[]) as r(endpoint_id, holder) on t.endpoint_id = r.endpoint_id and t.holder = r.holder
    where ${rows} for update of t skip locked
  ), renewed as (
    update webhook_turns t set lease_until = now() + $3 * interval '1 millisecond'
    where t.ctid = any(array(select tid from own)) returning t.endpoint_id, t.ctid as tid
  )
  select json_build_object('id', e.id, 'url', e.url, 'secret', e.secret, 'headers', e.headers, 'ordered', e.ordered,
    'rateLimit', ${RATE_RULE},
    'requested', coalesce((select requested <> '{}' from own where own.endpoint_id = e.id), false),
    'row', (select tid from renewed where renewed.endpoint_id = e.id))
  from webhook_endpoints e ${owners.join} where e.id = any($1::text[]) and ${mayReceiveSql(owners, '$4')}`;
}

/** A lease to renew. */
export interface LeaseToRenew {
  readonly endpointId: string;
  readonly holder: string;
  /** Time of the last claim, by `performance.now()`. A claim also renews the lease. */
  readonly claimedAt: number;
  /** Called after each renewal with the endpoint's current settings. */
  onRenewed(endpoint: CurrentEndpoint): void;
}

/**
 * Creates the renewals: one statement for all leases of a worker. Most leases are released before their first renewal. A lease counts as
 * lost if its endpoint must not be sent to any more; deliveries in flight at that time still belong to the lease.
 */
export function createEndpointLeaseRenewals(
  { database, log }: Pick<Host, 'database' | 'log'>,
  owners: OwnerTables,
  settings: Pick<WebhookSettings, 'globalPolicy'>,
  leaseRows: LeaseRows,
): LeaseRenewals<LeaseToRenew> {
  const byRow = { name: 'webhook_renew_by_row', text: renewLeasesSql(ownersSql(owners), 't.ctid = any($5::tid[])') };
  const byEndpoint = { name: 'webhook_renew_leases', text: renewLeasesSql(ownersSql(owners), 'true') };
  const roles = listGlobalRoles(settings);

  async function renew(statement: { name: string; text: string }, leases: readonly LeaseToRenew[], ...more: unknown[]) {
    const values = [leases.map(({ endpointId }) => endpointId), leases.map(({ holder }) => holder), LEASE_MS, roles];
    const rows = await database.write<[CurrentEndpoint]>({ ...statement, values: [...values, ...more] });
    for (const [{ id, row }] of rows) if (row !== null) leaseRows.set(id, row);
    return new Map(rows.map(([endpoint]) => [endpoint.id, endpoint]));
  }

  async function renewDueLeases(leases: readonly LeaseToRenew[]): Promise<readonly LeaseToRenew[]> {
    const due = leases.filter(({ claimedAt }) => performance.now() - claimedAt >= RENEW_EVERY_MS);
    if (due.length === 0) return leases;
    const rows = textArrayLiteral(due.flatMap(({ endpointId }) => leaseRows.get(endpointId) ?? []));
    const endpoints = await renew(byRow, due, rows);
    const others = due.filter(({ endpointId }) => endpoints.get(endpointId)?.row === null);
    if (others.length > 0) for (const [id, endpoint] of await renew(byEndpoint, others)) endpoints.set(id, endpoint);
    for (const lease of due) {
      const endpoint = endpoints.get(lease.endpointId);
      if (endpoint !== undefined) lease.onRenewed(endpoint);
    }
    const isDue = new Set(due);
    return leases.filter((lease) => !isDue.has(lease) || endpoints.has(lease.endpointId));
  }

  const options = { everyMs: RENEW_EVERY_MS, what: 'webhook endpoints', log, database };
  return createLeaseRenewals({ ...options, renew: renewDueLeases });
}

/** A lease that its holder releases. */
export interface LeaseToRelease {
  endpointId: string;
  /** The owner of the endpoint. */
  owner: string;
  holder: string;
  /** The attempts of sent deliveries whose results could not be written. */
  unwritten: ReadonlyMap<string, number>;
  /** The rate state, if the endpoint has a rate limit. */
  rate: RateState | undefined;
}

const MAX_RELEASED = 500;

/**
 * Creates the function that releases leases, in batches. A lease that cannot be released lasts until it expires.
 *
 * @param onRequested called with the endpoints for which a delivery was requested while their leases ended. The worker that got the
 *   job of the request found the lease held, so nothing else would send the delivery soon.
 */
export function createLeaseReleaser(
  { database, log }: Pick<Host, 'database' | 'log'>,
  leaseRows: LeaseRows,
  onRequested: (endpoints: { id: string; owner: string }[]) => Promise<void>,
): AddToBatch<LeaseToRelease> {
  async function releaseEach(leases: readonly LeaseToRelease[]): Promise<Map<string, boolean>> {
    const values = [
      plainArrayLiteral(leases.map(({ endpointId }) => endpointId)),
      plainArrayLiteral(leases.map(({ holder }) => holder)),
      textArrayLiteral(
        leases.map(({ unwritten }) => (unwritten.size > 0 ? JSON.stringify(Object.fromEntries(unwritten)) : null)),
      ),
      textArrayLiteral(leases.map(({ rate }) => (rate === undefined ? null : JSON.stringify(rate)))),
    ];
    const places = textArrayLiteral(leases.flatMap(({ endpointId }) => leaseRows.get(endpointId) ?? []));
    const run = async (statement: { name: string; text: string; values: unknown[] }) => {
      const rows = await retryWhileUnavailable(database, () =>
        database.write<[id: string, isRequested: boolean, row: string]>(statement),
      );
      for (const [id, , row] of rows) leaseRows.set(id, row);
      return rows.map(([id, isRequested]) => [id, isRequested] as const);
    };
    const byRow = { name: 'webhook_release_by_row', text: RELEASE_LEASES_BY_ROW, values: [...values, places] };
    const released = new Map(await run(byRow));
    if (released.size === leases.length) return released;
    const others = await run({ name: 'webhook_release_leases', text: RELEASE_LEASES, values });
    return new Map([...released, ...others]);
  }

  async function releaseLeases(leases: LeaseToRelease[]): Promise<void> {
    try {
      const requested = await releaseEach(leases);
      const endpoints = leases.filter(({ endpointId }) => requested.get(endpointId));
      if (endpoints.length > 0) await onRequested(endpoints.map(({ endpointId: id, owner }) => ({ id, owner })));
    } catch (error) {
      log.error(
        { err: error, leases: leases.length },
        'webhook endpoint leases could not be released; they last until they expire',
      );
    }
  }
  return createMicroBatch(releaseLeases, MAX_RELEASED);
}
