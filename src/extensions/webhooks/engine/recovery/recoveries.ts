import { createRetentionSweep, DAY_MS, type Host, newId, type Sweep } from '../../../../extension/index.ts';
import { isKeptSql } from '../../deliveries/deliveries-sql.ts';
import { announcePolledEndpoints, chooseLane, enqueueEndpointJobs } from '../../endpoints/endpoint-jobs.ts';
import { ownersSql } from '../../endpoints/endpoints-sql.ts';
import type { OwnerTables } from '../../endpoints/owners.ts';
import { listGlobalRoles, type WebhookSettings } from '../../settings/settings.ts';
import {
  beginRecoverySql,
  DELETE_RECOVERIES,
  failedEndpointsSql,
  HAS_ENDED_LATELY,
  HAS_RUNNING,
  type RecoveryRow,
  RUNNING_RECOVERIES,
  recoverPageSql,
  reopenRecoveriesSql,
} from './recoveries-sql.ts';

const PAGE_SIZE = 500;
const RECOVERIES_AT_ONCE = 100;

type PageRow = [slow: boolean, owner: string, polled: boolean, sent: number, more: boolean, ...RecoveryRow];

/** Resends failed deliveries page by page. If a process dies, the sweep of any relay continues the recoveries that it ran. */
export interface Recoveries {
  /**
   * Starts a recovery. Returns it, or the recovery of the endpoint that is already running. Returns undefined if the endpoint is disabled or
   * deleted, or another request has just started a recovery.
   */
  begin(id: string, endpointId: string, since: string): Promise<RecoveryRow | undefined>;
  /** Returns the ids of the endpoints with failed deliveries. @param endpoint null: all endpoints */
  findFailedEndpoints(since: string, endpoint: string | null): Promise<string[]>;
  /** Resends one page. Returns the recovery's new state; undefined if it has ended or another process is working on it. */
  resendPage(id: string): Promise<{ recovery: RecoveryRow; sent: number; more: boolean } | undefined>;
  sweeps: Sweep[];
}

/** Creates the functions that resend failed deliveries. */
export function createRecoveries(
  { database, queues }: Pick<Host, 'database' | 'queues'>,
  owners: OwnerTables,
  settings: WebhookSettings,
): Recoveries {
  const isKeptCondition = isKeptSql(settings);
  const text = recoverPageSql(ownersSql(owners), isKeptCondition);
  const [beginText, failedEndpointsText] = [beginRecoverySql(isKeptCondition), failedEndpointsSql(isKeptCondition)];
  const reopenText = reopenRecoveriesSql(isKeptCondition);
  const roles = listGlobalRoles(settings);

  const resendPage: Recoveries['resendPage'] = async (id) => {
    const [row] = await database.write<PageRow>({ name: 'webhook_recover', text, values: [id, PAGE_SIZE, roles] });
    if (row === undefined) return undefined;
    const [slow, owner, polled, sent, more, ...recovery] = row;
    if (polled) announcePolledEndpoints(queues, [recovery[1]]);
    else if (sent > 0) await enqueueEndpointJobs(queues, [{ id: recovery[1], owner, lane: chooseLane(slow) }]);
    return { recovery, sent, more };
  };

  /** Continues running recoveries. Returns the number of pages in which deliveries were resent. */
  async function continueRecoveries(): Promise<number> {
    let pages = 0;
    const running = await database.write<[string]>({ text: RUNNING_RECOVERIES, values: [RECOVERIES_AT_ONCE] });
    for (const [id] of running) {
      for (let more = true; more; ) {
        const done = await resendPage(id);
        more = done?.more ?? false;
        if (done !== undefined && done.sent > 0) pages += 1;
      }
    }
    return pages;
  }

  return {
    async begin(id, endpointId, since) {
      const [row] = await database.write<RecoveryRow>({ text: beginText, values: [id, endpointId, since] });
      return row;
    },
    async findFailedEndpoints(since, endpoint) {
      const rows = await database.write<[string]>({ text: failedEndpointsText, values: [since, endpoint] });
      return rows.map(([id]) => id);
    },
    resendPage,
    sweeps: [
      {
        // A sweep of its own: an error must not keep running recoveries from being continued.
        name: 'webhooks: recoveries that ended too early',
        everyMs: settings.pollMs,
        condition: HAS_ENDED_LATELY,
        run: async () => (await database.write({ text: reopenText, values: [] })).length,
      },
      {
        name: 'webhooks: recoveries',
        everyMs: settings.pollMs,
        condition: HAS_RUNNING,
        run: continueRecoveries,
      },
      createRetentionSweep(database, {
        name: 'webhooks: old recoveries',
        everyMs: settings.cleanMs,
        removals: [{ text: DELETE_RECOVERIES, values: [settings.keepDeliveriesDays * DAY_MS] }],
      }),
    ],
  };
}

/** The result of requesting a recovery for one endpoint. */
export interface RecoveredEndpoint {
  endpoint: string;
  /** `begun`: the relay carries it out; `disabled`: nothing is sent; `busy`: a recovery with another start time is running. */
  state: 'begun' | 'disabled' | 'busy';
  /** Number of failed deliveries to resend. */
  total: number;
}

/**
 * Starts to resend failed deliveries, for one endpoint or for every endpoint that has any. Does the same as an owner's request to
 * `POST /api/webhooks/:id/recover`.
 *
 * @param since ISO 8601; without it, all failed deliveries are resent
 */
export type RecoverFailed = (which: {
  since?: string | undefined;
  endpoint?: string | undefined;
}) => Promise<RecoveredEndpoint[]>;

const EARLIEST_TIME = '1970-01-01T00:00:00.000Z';

/** Creates `app.webhooks.recoverFailed`. */
export function createRecoverFailed({ begin, findFailedEndpoints, resendPage }: Recoveries): RecoverFailed {
  return async ({ since = EARLIEST_TIME, endpoint }) => {
    const recovered: RecoveredEndpoint[] = [];
    for (const id of await findFailedEndpoints(since, endpoint ?? null)) {
      const row = await begin(newId(), id, since);
      if (row === undefined) recovered.push({ endpoint: id, state: 'disabled', total: 0 });
      else if (row[3] !== since) recovered.push({ endpoint: id, state: 'busy', total: 0 });
      else {
        recovered.push({ endpoint: id, state: 'begun', total: row[4] });
        // Send the first page at once; the relay sends the rest.
        await resendPage(row[0]);
      }
    }
    return recovered;
  };
}
