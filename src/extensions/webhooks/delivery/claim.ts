import type { ClaimedEndpoint, ClaimRow } from './claim-sql.ts';

/** A claimed delivery. */
export interface ClaimedDelivery {
  id: string;
  messageId: string;
  /** The event's name. */
  type: string;
  /** As it is stored: see `readBody`. */
  body: string;
  encryptedBody: string | null;
  /** The number of the attempt to come, and its number since the schedule began. */
  attempt: number;
  scheduleAttempt: number;
  /** ms since the epoch, by this process: when it was due. */
  dueAt: number;
}

/** What came of a claim. */
export interface Claim {
  /** As it was when they were claimed. */
  endpoint: ClaimedEndpoint;
  deliveries: ClaimedDelivery[];
}

/** What is in the rows of a claim; undefined when the endpoint is disabled, removed, or its owner may not receive. */
export function claimOf(rows: readonly ClaimRow[]): Claim | undefined {
  let endpoint: ClaimedEndpoint | undefined;
  const deliveries: ClaimedDelivery[] = [];
  const now = Date.now();
  for (const row of rows) {
    if (row[0] !== null) endpoint = row[0];
    else {
      const [, id, messageId, type, body, encryptedBody, attempt, scheduleAttempt, lateMs] = row;
      deliveries.push({ id, messageId, type, body, encryptedBody, attempt, scheduleAttempt, dueAt: now - lateMs });
    }
  }
  return endpoint === undefined ? undefined : { endpoint, deliveries };
}
