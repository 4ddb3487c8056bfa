/** What a recovery can be: `stopped` is one whose endpoint was disabled or removed before it was through. */
export const RECOVERY_STATUSES = ['running', 'finished', 'stopped'] as const;

/** A recovery's row, in the order of `RECOVERY_COLUMNS`. */
export type RecoveryRow = [
  id: string,
  endpointId: string,
  status: (typeof RECOVERY_STATUSES)[number],
  since: string,
  total: number,
  resent: number,
  createdAt: string,
  finishedAt: string | null,
];

/** The columns that a recovery is shown from. */
export const RECOVERY_COLUMNS = [
  'id',
  'endpoint_id',
  'status',
  'since',
  'total',
  'resent',
  'created_at',
  'finished_at',
];

/** A recovery as the endpoint's owner sees it. */
export function showRecovery([id, , status, since, total, resent, createdAt, finishedAt]: RecoveryRow) {
  return { id, status, since, total, resent, createdAt, finishedAt };
}
