import type { Host, ResourceGateway } from '../../declare/host.ts';
import { globalRoles, type WebhookSettings } from './settings.ts';
import {
  ENDPOINT_STATES,
  FAILED,
  type QueueRow,
  queueSql,
  RECENT_ATTEMPTS,
  WORST,
  type WorstRow,
} from './status-sql.ts';
import { usersSql } from './endpoints/users-sql.ts';

/** What waits and what is being sent, in all processes together. */
export interface WebhookQueue {
  /** Deliveries that could be sent now. */
  due: number;
  /** Deliveries that wait for the time of their next attempt. */
  retrying: number;
  /** Deliveries that are kept because their endpoint is disabled, or its owner may not receive. */
  held: number;
  inFlight: number;
  /** ms by which the earliest one is overdue; null: none is due. */
  oldestMs: number | null;
  /** Events that the relay has not turned into deliveries yet. */
  events: number;
  /** ms since the first of these; null: there is none. */
  oldestEventMs: number | null;
}

/** How webhooks are doing. */
export interface WebhookStatus {
  endpoints: { active: number; failing: number; disabled: Record<string, number> };
  queue: WebhookQueue;
  /** Deliveries that used up their schedule and are still in the log. */
  failed: number;
  /** How attempts of the last `recentMs` ended: `succeeded` or the error. Of the newest 10,000 deliveries. */
  attempts: Record<string, number>;
  recentMs: number;
  /** Endpoints for which most is due, has failed or waits. */
  worst: {
    id: string;
    /** Of its URL, the rest of which may hold a secret of the receiver. */
    host: string;
    status: 'active' | 'failing' | 'disabled';
    due: number;
    retrying: number;
    failed: number;
    oldestMs: number | null;
    lastError: string | null;
  }[];
}

const NEWEST = 10_000;
const RECENT_MS = 3_600_000;

/** Reads how webhooks are doing. */
export interface StatusReader {
  queue(): Promise<WebhookQueue>;
  /** @param worst endpoints to tell of, at most */
  status(worst?: number): Promise<WebhookStatus>;
}

/** Makes what reads the state of webhooks. Its statements run beside those of requests, and end after 5 seconds at the latest. */
export function createStatusReader(
  { database }: Pick<Host, 'database'>,
  users: ResourceGateway,
  settings: WebhookSettings,
): StatusReader {
  const text = queueSql(usersSql(users));
  const roles = globalRoles(settings);

  async function queue(): Promise<WebhookQueue> {
    const [row] = await database.readSlowly<QueueRow>({ text, values: [roles] });
    const [due, retrying, held, inFlight, oldestMs, events, oldestEventMs] = row!;
    // The earliest that is overdue may be one that is being sent.
    return { due, retrying, held, inFlight, oldestMs: due > 0 ? oldestMs : null, events, oldestEventMs };
  }

  async function endpoints(): Promise<WebhookStatus['endpoints']> {
    const rows = await database.readSlowly<[string, string | null, number]>({ text: ENDPOINT_STATES, values: [] });
    const of = (state: string) => rows.filter(([one]) => one === state);
    const disabled = of('disabled').map(([, reason, count]) => [reason ?? 'manual', count] as const);
    return {
      active: of('active')[0]?.[2] ?? 0,
      failing: of('failing')[0]?.[2] ?? 0,
      disabled: Object.fromEntries(disabled),
    };
  }

  return {
    queue,
    async status(worst = 10) {
      const [states, waiting, [failed], attempts, worstRows] = await Promise.all([
        endpoints(),
        queue(),
        database.readSlowly<[number]>({ text: FAILED, values: [] }),
        database.readSlowly<[string | null, number]>({ text: RECENT_ATTEMPTS, values: [RECENT_MS, NEWEST] }),
        database.readSlowly<WorstRow>({ text: WORST, values: [worst] }),
      ]);
      return {
        endpoints: states,
        queue: waiting,
        failed: failed![0],
        attempts: Object.fromEntries(attempts.map(([error, count]) => [error ?? 'succeeded', count])),
        recentMs: RECENT_MS,
        worst: worstRows.map(([id, url, status, due, retrying, ended, oldestMs, lastError]) => {
          const host = URL.parse(url)?.host ?? '';
          return { id, host, status, due, retrying, failed: ended, oldestMs, lastError };
        }),
      };
    },
  };
}
