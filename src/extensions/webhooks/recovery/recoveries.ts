import { z } from 'zod';
import type { Host, ResourceGateway } from '../../../declare/host.ts';
import { newId } from '../../../platform/ids.ts';
import type { Sweep } from '../../../platform/outbox/relay.ts';
import { laneOf, wakeUp } from '../delivery/endpoint-jobs.ts';
import { usersSql } from '../endpoints/endpoints-sql.ts';
import { globalRoles, type WebhookSettings } from '../settings.ts';
import {
  BEGIN_RECOVERY,
  DELETE_RECOVERIES,
  FAILED_ENDPOINTS,
  RECOVERY_STATUSES,
  type RecoveryRow,
  RUNNING_RECOVERIES,
  recoverPage,
} from './recoveries-sql.ts';

/** The shape of a recovery in answers. */
export const recoveryShape = z
  .strictObject({
    id: z.string(),
    status: z.enum(RECOVERY_STATUSES),
    since: z.iso.datetime(),
    total: z.int(),
    resent: z.int(),
    createdAt: z.iso.datetime(),
    finishedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'WebhookRecovery' });

/** A recovery as the endpoint's owner sees it. */
export function serializeRecovery([id, , status, since, total, resent, createdAt, finishedAt]: RecoveryRow) {
  return { id, status, since, total, resent, createdAt, finishedAt };
}

const PAGE = 500;
const AT_ONCE = 100;
const DAY_MS = 86_400_000;

type PageRow = [slow: boolean, sent: number, more: boolean, ...RecoveryRow];

/** Sends what failed again, page by page; what a process that dies leaves undone, the next look of any relay goes on with. */
export interface Recoveries {
  /** Sends one page again. Gives the recovery as it then stands; undefined when it has ended, or another process is at it. */
  page(id: string): Promise<{ recovery: RecoveryRow; sent: number; more: boolean } | undefined>;
  sweeps: Sweep[];
}

/** Creates the recoveries. */
export function createRecoveries(
  { database, queues }: Pick<Host, 'database' | 'queues'>,
  users: ResourceGateway,
  settings: WebhookSettings,
): Recoveries {
  const text = recoverPage(usersSql(users));
  const roles = globalRoles(settings);

  const page: Recoveries['page'] = async (id) => {
    const [row] = await database.write<PageRow>({ name: 'webhook_recover', text, values: [id, PAGE, roles] });
    if (row === undefined) return undefined;
    const [slow, sent, more, ...recovery] = row;
    if (sent > 0) await wakeUp(queues, [{ id: recovery[1], lane: laneOf(slow) }]);
    return { recovery, sent, more };
  };

  /** Continues the recoveries that run. Returns the number of pages that sent something again. */
  async function continueRunning(): Promise<number> {
    let pages = 0;
    const running = await database.write<[string]>({ text: RUNNING_RECOVERIES, values: [AT_ONCE] });
    for (const [id] of running) {
      for (let more = true; more; ) {
        const done = await page(id);
        more = done?.more ?? false;
        if (done !== undefined && done.sent > 0) pages += 1;
      }
    }
    return pages;
  }

  return {
    page,
    sweeps: [
      { name: 'webhooks: recoveries', everyMs: settings.pollMs, run: continueRunning },
      {
        name: 'webhooks: old recoveries',
        everyMs: settings.cleanMs,
        run: async () => {
          await database.write({ text: DELETE_RECOVERIES, values: [settings.keepDeliveriesDays * DAY_MS] });
        },
      },
    ],
  };
}

/** What came of asking to recover one endpoint. */
export interface RecoveredEndpoint {
  endpoint: string;
  /** `begun`: the relay carries it out; `disabled`: nothing is sent; `busy`: a recovery since another time is running. */
  state: 'begun' | 'disabled' | 'busy';
  /** Deliveries that failed and are sent again. */
  total: number;
}

/**
 * Begins to send again what failed, for every endpoint that has such or for one of them: the same as its owner could ask for by
 * `POST /api/webhooks/:id/recover`.
 *
 * @param since ISO 8601; left out: since ever
 */
export type RecoverFailed = (which: {
  since?: string | undefined;
  endpoint?: string | undefined;
}) => Promise<RecoveredEndpoint[]>;

const EVER = '1970-01-01T00:00:00.000Z';

/** Creates `app.webhooks.recoverFailed`. */
export function createRecoverFailed({ database }: Pick<Host, 'database'>, { page }: Recoveries): RecoverFailed {
  return async ({ since = EVER, endpoint }) => {
    const found = await database.write<[string]>({ text: FAILED_ENDPOINTS, values: [since, endpoint ?? null] });
    const recovered: RecoveredEndpoint[] = [];
    for (const [id] of found) {
      const [row] = await database.write<RecoveryRow>({ text: BEGIN_RECOVERY, values: [newId(), id, since] });
      if (row === undefined) recovered.push({ endpoint: id, state: 'disabled', total: 0 });
      else if (row[3] !== since) recovered.push({ endpoint: id, state: 'busy', total: 0 });
      else {
        recovered.push({ endpoint: id, state: 'begun', total: row[4] });
        // The first page at once; the relay goes on.
        await page(row[0]);
      }
    }
    return recovered;
  };
}
