import type { Host, ResourceGateway } from '../../../declare/host.ts';
import type { Sweep } from '../../../platform/outbox/relay.ts';
import type { RecoveryRow } from './recoveries.ts';
import { globalRoles, type WebhookSettings } from '../settings.ts';
import { DELETE_RECOVERIES, RUNNING_RECOVERIES, recoverPage } from './recoveries-sql.ts';
import { usersSql } from '../endpoints/users-sql.ts';
import { laneOf, wakeUp } from '../delivery/endpoint-jobs.ts';

const PAGE = 500;
const AT_ONCE = 100;
const DAY_MS = 86_400_000;

type PageRow = [slow: boolean, sent: number, more: boolean, ...RecoveryRow];

/** Sends what failed again, page by page; what a process that dies leaves undone, the next look of any relay goes on with. */
export interface Recovering {
  /** Sends one page again. Gives the recovery as it then stands; undefined when it has ended, or another process is at it. */
  page(id: string): Promise<{ recovery: RecoveryRow; more: boolean } | undefined>;
  sweeps: Sweep[];
}

/** Makes what carries recoveries out. */
export function createRecovering(
  { database, queues }: Pick<Host, 'database' | 'queues'>,
  users: ResourceGateway,
  settings: WebhookSettings,
): Recovering {
  const text = recoverPage(usersSql(users));
  const roles = globalRoles(settings);

  const page: Recovering['page'] = async (id) => {
    const [row] = await database.write<PageRow>({ name: 'webhook_recover', text, values: [id, PAGE, roles] });
    if (row === undefined) return undefined;
    const [slow, sent, more, ...recovery] = row;
    if (sent > 0) await wakeUp(queues, [{ id: recovery[1], lane: laneOf(slow) }]);
    return { recovery, more };
  };

  async function goOn(): Promise<void> {
    const running = await database.write<[string]>({ text: RUNNING_RECOVERIES, values: [AT_ONCE] });
    for (const [id] of running) while ((await page(id))?.more);
  }

  return {
    page,
    sweeps: [
      { name: 'webhooks: recoveries', everyMs: settings.pollMs, run: goOn },
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
