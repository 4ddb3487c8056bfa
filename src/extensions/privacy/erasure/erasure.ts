/** Data that an erasure keeps, and the reason. */
export interface Kept {
  name: string;
  /** Null if it was not counted. */
  count: number | null;
  why: string;
}

/** An erasure with its report, for admins. */
export interface Erasure {
  id: string;
  user: string;
  requestedBy: string;
  status: 'running' | 'finished';
  requestedAt: string;
  finishedAt: string | null;
  /** Deleted records, by resource. */
  deleted: Record<string, number>;
  /** Anonymized records, by resource. */
  anonymized: Record<string, number>;
  /** Other deleted or anonymized rows, by kind: sessions, devices. */
  erased: Record<string, number>;
  kept: Kept[];
}

/** A row of `privacy_erasures`. */
export type ErasureRow = [
  id: string,
  userId: string,
  requestedBy: string,
  status: Erasure['status'],
  counts: Record<string, number>,
  kept: Kept[],
  requestedAt: string,
  finishedAt: string | null,
];

function countsOf(counts: Record<string, number>, what: string): Record<string, number> {
  const found = Object.entries(counts).filter(([key, count]) => key.startsWith(`${what}:`) && count > 0);
  return Object.fromEntries(found.map(([key, count]): [string, number] => [key.slice(what.length + 1), count]).sort());
}

/** Converts a row to an erasure. */
export function readErasure(row: ErasureRow): Erasure {
  const [id, user, requestedBy, status, counts, kept, requestedAt, finishedAt] = row;
  return {
    id,
    user,
    requestedBy,
    status,
    requestedAt,
    finishedAt,
    deleted: countsOf(counts, 'deleted'),
    anonymized: countsOf(counts, 'anonymized'),
    erased: countsOf(counts, 'erased'),
    kept,
  };
}
