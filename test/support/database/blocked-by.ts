import type { Client } from 'pg';
import { vi } from 'vitest';

/** Selects the `pid` of each connection that waits for a lock of the transaction in which the statement runs. */
export const BLOCKED_BY_ME = `select pid from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`;

/**
 * Waits until another connection waits for a lock that the open transaction of a client holds. It does not read `pg_stat_activity`,
 * which keeps its list of connections until the end of a transaction, and so would not show one that was opened later.
 */
export async function waitUntilBlockedBy(client: Pick<Client, 'query'>): Promise<void> {
  await vi.waitUntil(async () => (await client.query(BLOCKED_BY_ME)).rows.length > 0, { timeout: 60_000 });
}
