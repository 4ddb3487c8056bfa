import type { Client } from 'pg';
import { vi } from 'vitest';

/** The connections that wait for a lock of the current one, for a condition on `pid`. */
export const BLOCKED_BY_ME = `select pid from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`;

/**
 * Waits until another connection waits for a lock that the open transaction of a client holds. `pg_stat_activity` could not tell: within a
 * transaction, it never shows the connections that were opened after it was first read.
 */
export async function waitUntilBlockedBy(client: Pick<Client, 'query'>): Promise<void> {
  await vi.waitUntil(async () => (await client.query(BLOCKED_BY_ME)).rows.length > 0, { timeout: 60_000 });
}
