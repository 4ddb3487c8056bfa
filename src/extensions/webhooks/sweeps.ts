import type { Host, ResourceView } from '../../declare/host.ts';
import type { Sweep } from '../../platform/outbox/relay.ts';
import { deliveryLeaseMs, TURN_LEASE_MS } from './leases.ts';
import { globalRoles, type WebhookSettings } from './settings.ts';
import { FORGET_OLD_SECRETS } from './sql/secrets.ts';
import {
  DELETE_ENDPOINTS,
  DELETE_FINISHED,
  DELETE_LOG,
  DELETE_OVERDUE,
  END_LOST_TURNS,
  pendingEndpoints,
  REMOVED_ENDPOINTS,
  RETURN_LOST,
  removeOwnerless,
} from './sql/sweeps.ts';
import { usersSql } from './sql/users.ts';
import { laneOf, wakeUp } from './wake-up.ts';

const PAGE = 500;
const BATCH = 1000;
const DAY_MS = 86_400_000;

type PendingRow = [endpointId: string, slow: boolean, open: boolean, overdueMs: number];

/** The nets under the queue, and the removal of what is old. All of it may run in many relays at once. */
export function createSweeps(
  host: Pick<Host, 'database' | 'queues'>,
  users: ResourceView,
  settings: WebhookSettings,
): Sweep[] {
  const { database, queues } = host;
  const table = usersSql(users);
  const pendingText = pendingEndpoints(table);
  const roles = globalRoles(settings);
  const keepMs = settings.keepDeliveriesDays * DAY_MS;

  async function* pending(): AsyncGenerator<PendingRow[]> {
    for (let after = ''; ; ) {
      const page = await database.write<PendingRow>({
        name: 'webhook_pending',
        text: pendingText,
        values: [after, PAGE, roles],
      });
      yield page;
      if (page.length < PAGE) return;
      after = page.at(-1)![0];
    }
  }

  /** Runs a bounded delete until there is nothing left for it. */
  async function deleteAll(text: string, values: unknown[]): Promise<void> {
    let deleted = BATCH;
    while (deleted === BATCH) {
      const [row] = await database.write<[number]>({ text, values: [...values, BATCH] });
      deleted = row![0];
    }
  }

  async function inPages(text: string, value: unknown): Promise<void> {
    for (let found = PAGE; found === PAGE; ) found = (await database.write({ text, values: [value, PAGE] })).length;
  }

  async function returnLost(): Promise<void> {
    await inPages(END_LOST_TURNS, deliveryLeaseMs(settings) - TURN_LEASE_MS);
    await inPages(RETURN_LOST, settings.retrySchedule);
  }

  async function wakeOverdue(): Promise<void> {
    for await (const page of pending()) {
      const overdue = page.filter(([, , open, overdueMs]) => open && overdueMs >= settings.pollMs);
      await wakeUp(
        queues,
        overdue.map(([id, slow]) => ({ id, lane: laneOf(slow) })),
      );
    }
  }

  /** What waits for an endpoint that stays disabled is kept as long as what is finished. */
  async function deleteStale(): Promise<void> {
    for await (const page of pending()) {
      for (const [id, , open, overdueMs] of page) {
        if (!open && overdueMs > keepMs) await deleteAll(DELETE_OVERDUE, [id, keepMs]);
      }
    }
  }

  async function deleteRemoved(): Promise<void> {
    const rows = await database.write<[string]>({ text: REMOVED_ENDPOINTS, values: [PAGE] });
    for (const [id] of rows) await deleteAll(DELETE_LOG, [id]);
    if (rows.length > 0) await database.write({ text: DELETE_ENDPOINTS, values: [rows.flat()] });
  }

  return [
    { name: 'webhooks: lost workers', everyMs: settings.pollMs, run: returnLost },
    { name: 'webhooks: overdue deliveries', everyMs: settings.pollMs, run: wakeOverdue },
    {
      name: 'webhooks: old deliveries',
      everyMs: settings.cleanMs,
      async run() {
        await deleteAll(DELETE_FINISHED, [keepMs]);
        await deleteStale();
        await database.write({ text: removeOwnerless(table), values: [] });
        await deleteRemoved();
        await database.write({ text: FORGET_OLD_SECRETS, values: [] });
      },
    },
  ];
}
