import type { ClaimRow } from './sql/claim.ts';

/** A claimed delivery, and what its endpoint was when it was claimed. */
export interface Claimed {
  id: string;
  url: string;
  /** As stored, newest first. */
  secrets: readonly string[];
  messageId: string;
  body: string;
  attempt: number;
  scheduleAttempt: number;
}

/** The deliveries in the rows of one claim: all of one endpoint. */
export function claimedOf(rows: readonly ClaimRow[]): Claimed[] {
  const [first] = rows;
  if (first === undefined) return [];
  const [url, secret, ...old] = first.slice(0, 4) as [string, string, string | null, string | null];
  const secrets = [secret, ...old.filter((one) => one !== null)];
  return rows.flatMap(([, , , , , id, messageId, body, attempt, scheduleAttempt]) =>
    id === null
      ? []
      : [
          {
            id,
            url,
            secrets,
            messageId: messageId!,
            body: body!,
            attempt: attempt!,
            scheduleAttempt: scheduleAttempt!,
          },
        ],
  );
}
