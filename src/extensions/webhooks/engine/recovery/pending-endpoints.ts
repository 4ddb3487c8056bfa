import type { Host } from '../../../../extension/index.ts';
import { createCostLimit } from '../../../../platform/data/postgres/cost-limit.ts';
import { mayReceiveSql, type OwnersSql, ownersSql } from '../../endpoints/endpoints-sql.ts';
import type { OwnerTables } from '../../endpoints/owners.ts';
import { listGlobalRoles, type WebhookSettings } from '../../settings/settings.ts';

/** Selects the first pending delivery that meets a condition on the columns of webhook_deliveries_due_index. */
const firstPendingSql = (condition: string) => `
    select endpoint_id, next_attempt_at from webhook_deliveries where status = 'pending' and ${condition}
    order by endpoint_id, next_attempt_at limit 1`;

/**
 * Selects a page of the endpoints that have pending deliveries. The statement reads one entry of webhook_deliveries_due_index per endpoint,
 * however many deliveries the endpoint has, and the entries of finished deliveries that vacuum has not removed. $1 the last endpoint of the
 * previous page, $2 page size.
 */
const ALL_WAITING = `
  with recursive waiting as (
    (${firstPendingSql('endpoint_id > $1')})
    union all
    select next.* from waiting w cross join lateral (${firstPendingSql('endpoint_id > w.endpoint_id')}) next
  ), page as materialized (select *, false as is_cut from waiting limit $2)`;

/**
 * Selects the endpoints that have pending deliveries among these: $1 endpoints, of which nothing was pending before the times $2, and the
 * endpoints of the deliveries with ids from $4 to $5, at most $6 deliveries; `is_cut`: there may be more. Ids are in the order of their creation.
 */
const KNOWN_AND_RECENT = `
  with recent as materialized (
    select endpoint_id, next_attempt_at, status from webhook_deliveries where id >= $4 and id < $5 order by id limit $6
  ), page as materialized (
    select endpoint_id, min(next_attempt_at) as next_attempt_at, (select count(*) from recent) >= $6 as is_cut from (
      select d.* from unnest($1::text[], $2::timestamptz[]) as k(endpoint_id, at)
        cross join lateral (${firstPendingSql('endpoint_id = k.endpoint_id and next_attempt_at >= k.at')}) d
      union all
      select endpoint_id, next_attempt_at from recent where status = 'pending'
    ) d group by endpoint_id
  )`;

/**
 * Returns for each endpoint of `page`: the endpoint, whether it is slow, whether it may be sent to now, by how many ms its earliest delivery
 * is overdue, its owner, when that delivery is due, or now if that is earlier, and `is_cut`. $3 roles of the global policy.
 */
function pendingEndpointsSql(owners: OwnersSql, page: string): string {
  return `${page}
  select p.endpoint_id, coalesce(e.slow, false), coalesce(e.delivery = 'push' and ${mayReceiveSql(owners, '$3')}, false),
    floor(extract(epoch from now() - p.next_attempt_at) * 1000)::bigint, e.owner_id,
    least(p.next_attempt_at, now()), p.is_cut
  from page p left join webhook_endpoints e on e.id = p.endpoint_id left join ${owners.table} u on u.id = e.owner_id
  order by p.endpoint_id`;
}

const PAGE_SIZE = 500;
/** Maximum number of endpoints that are looked up one by one. */
const MAX_KNOWN = 2 * PAGE_SIZE;
const MAX_RECENT = 10_000;
/** ms after their creation when deliveries are searched: their transactions should have been committed, and clocks of processes may differ. */
const SETTLE_MS = 5000;

/**
 * An endpoint with pending deliveries: whether it may be sent to now, by how many ms its earliest delivery is overdue, and its owner, who
 * is null only if there is no such endpoint. `at`: when that delivery is due, or the time of the search if that is earlier.
 */
type PendingRow = [
  endpointId: string,
  slow: boolean,
  open: boolean,
  overdueMs: number,
  owner: string | null,
  at: string,
  isCut: boolean,
];

/** The endpoints that have pending deliveries. */
export interface PendingEndpoints {
  /** Reads all of them, page by page. */
  readAll(): AsyncGenerator<PendingRow[]>;
  /**
   * Like `readAll` while that is cheap. While another session holds an old snapshot, vacuum removes no finished deliveries, and `readAll` visits
   * all of them. Then this reads the endpoints that it has found before and those of recently created deliveries, and only rarely all. So it may
   * overlook for a while: deliveries that were committed more than 5 s after they were created, and those that wait again after they were finished
   * or lost.
   */
  read(): AsyncGenerator<PendingRow[]>;
  /** Whether the earliest delivery of an endpoint was the same in the last `read`. */
  isUnchanged(row: PendingRow): boolean;
  /** Returns the endpoints whose deliveries were overdue in the last `read`. */
  listOverdue(): string[];
  /** Makes the next `read` include endpoints, of which a delivery waits again. */
  add(endpointIds: readonly string[]): void;
}

/** Returns a text that is less than the ids that are created from a time on. @param ms epoch ms */
const idBefore = (ms: number) =>
  Math.floor(ms / 1000)
    .toString(16)
    .padStart(8, '0');

/** Creates the reader of endpoints that have pending deliveries. */
export function createPendingEndpoints(
  { database }: Pick<Host, 'database'>,
  owners: OwnerTables,
  settings: Pick<WebhookSettings, 'globalPolicy' | 'pollMs'>,
): PendingEndpoints {
  const roles = listGlobalRoles(settings);
  const [allText, recentText] = [ALL_WAITING, KNOWN_AND_RECENT].map((page) =>
    pendingEndpointsSql(ownersSql(owners), page),
  );
  const limit = createCostLimit('webhook_deliveries');
  let known = new Map<string, PendingRow>();
  const added = new Set<string>();
  let recentFrom = '';
  let isCut = false;

  async function* readAll(note?: (ms: number) => Promise<void>): AsyncGenerator<PendingRow[]> {
    let ms = 0;
    for (let after = ''; ; ) {
      const begin = performance.now();
      const values = [after, PAGE_SIZE, roles];
      const page = await database.write<PendingRow>({ name: 'webhook_pending', text: allText!, values });
      ms += performance.now() - begin;
      yield page;
      if (page.length < PAGE_SIZE) break;
      after = page.at(-1)![0];
    }
    await note?.(ms);
  }

  async function* readKnownAndRecent(until: string): AsyncGenerator<PendingRow[]> {
    const ids = [...known.keys(), ...added];
    const times = [...[...known.values()].map(([, , , , , at]) => at), ...[...added].map(() => '-infinity')];
    const values = [ids, times, roles, recentFrom, until, MAX_RECENT];
    yield await database.write<PendingRow>({ name: 'webhook_pending_recent', text: recentText!, values });
  }

  async function* read(): AsyncGenerator<PendingRow[]> {
    const until = idBefore(Date.now() - SETTLE_MS);
    const isComplete = isCut || known.size > MAX_KNOWN || limit.isDue();
    const found = new Map<string, PendingRow>();
    const addedBefore = [...added];
    for await (const page of isComplete ? readAll((ms) => limit.noteRun(database, ms)) : readKnownAndRecent(until)) {
      for (const row of page) found.set(row[0], row);
      yield page;
    }
    known = found;
    for (const id of addedBefore) added.delete(id);
    recentFrom = until;
    isCut = found.values().some((row) => row[6]);
  }

  return {
    readAll: () => readAll(),
    read,
    add(endpointIds) {
      for (const id of endpointIds) added.add(id);
    },
    isUnchanged: ([id, , , , , at]) => known.get(id)?.[5] === at,
    listOverdue: () => [...known.values()].flatMap(([id, , , overdueMs]) => (overdueMs >= settings.pollMs ? [id] : [])),
  };
}
