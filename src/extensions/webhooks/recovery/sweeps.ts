import type { Host, ResourceGateway } from '../../../declare/host.ts';
import type { Sweep } from '../../../platform/outbox/relay.ts';
import { laneOf, wakeUp } from '../delivery/endpoint-jobs.ts';
import { deliveryLeaseMs, TURN_LEASE_MS } from '../delivery/lease-store.ts';
import type { WriteResults } from '../delivery/record-results.ts';
import { FORGET_OLD_SECRETS, usersSql } from '../endpoints/endpoints-sql.ts';
import { DELETE_DELETED } from '../readability/deleted-records.ts';
import { globalRoles, type WebhookSettings } from '../settings.ts';
import {
  DELETE_ENDPOINTS,
  DELETE_FINISHED,
  DELETE_LOGS,
  DELETE_OVERDUE,
  END_LOST_TURNS,
  LOST_DELIVERIES,
  pendingEndpoints,
  removeOwnerless,
} from './sweeps-sql.ts';

const PAGE = 500;
const BATCH = 1000;
const DAY_MS = 86_400_000;
/** How often logs of removed endpoints are deleted, in ms: the log of a deleted user is gone within a minute. */
const LOGS_MS = 5000;

/** The outcome of an attempt whose worker died. It says nothing about the receiver. */
const workerLost = () => ({
  ok: false,
  at: new Date().toISOString(),
  statusCode: null,
  durationMs: null,
  error: 'worker lost',
  response: null,
  retryAfterMs: null,
  gone: false,
  slow: null,
});

type PendingRow = [endpointId: string, slow: boolean, open: boolean, overdueMs: number];

/** The nets under the queue, and the removal of what is old. All of it may run in many relays at once. */
export function createSweeps(
  host: Pick<Host, 'database' | 'queues'>,
  users: ResourceGateway,
  settings: WebhookSettings,
  writeResults: WriteResults,
): Sweep[] {
  const { database, queues } = host;
  const table = usersSql(users);
  const pendingText = pendingEndpoints(table);
  const roles = globalRoles(settings);
  const keepMs = settings.keepDeliveriesDays * DAY_MS;
  // A delivery about the record may run through the whole schedule, each wait up to 20% longer, and then stay in the log.
  const keepDeletedMs = keepMs + 1.2 * settings.retrySchedule.reduce((sum, wait) => sum + wait, 0);

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

  async function returnLost(): Promise<void> {
    const values = [deliveryLeaseMs(settings) - TURN_LEASE_MS, PAGE];
    for (let found = PAGE; found === PAGE; ) {
      found = (await database.write({ text: END_LOST_TURNS, values })).length;
    }
    await failLost();
  }

  /** Fails the attempts of dead workers. Such an attempt uses up the schedule and counts towards disabling its endpoint. */
  async function failLost(): Promise<void> {
    for (let found = PAGE; found === PAGE; ) {
      const statement = { name: 'webhook_lost', text: LOST_DELIVERIES, values: [PAGE] };
      const rows = await database.write<[id: string, attempt: number, scheduleAttempt: number]>(statement);
      found = rows.length;
      const outcome = workerLost();
      if (found > 0)
        await writeResults(rows.map(([id, attempt, scheduleAttempt]) => ({ id, attempt, scheduleAttempt, outcome })));
    }
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

  return [
    { name: 'webhooks: lost workers', everyMs: settings.pollMs, run: returnLost },
    {
      name: 'webhooks: logs of removed endpoints',
      everyMs: Math.min(settings.cleanMs, LOGS_MS),
      run: () => deleteAll(DELETE_LOGS, []),
    },
    { name: 'webhooks: overdue deliveries', everyMs: settings.pollMs, run: wakeOverdue },
    {
      name: 'webhooks: old deliveries',
      everyMs: settings.cleanMs,
      async run() {
        await deleteAll(DELETE_FINISHED, [keepMs]);
        await deleteAll(DELETE_DELETED, [keepDeletedMs]);
        await deleteStale();
        await database.write({ text: removeOwnerless(table), values: [] });
        await deleteAll(DELETE_ENDPOINTS, []);
        await database.write({ text: FORGET_OLD_SECRETS, values: [] });
      },
    },
  ];
}
