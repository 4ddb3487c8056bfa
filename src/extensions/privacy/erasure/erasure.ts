/** What stays of a user, and why. */
export interface Kept {
  name: string;
  /** Null: it is not counted. */
  count: number | null;
  why: string;
}

/** An erasure, as admins read it: the report of what was done. */
export interface Erasure {
  id: string;
  user: string;
  requestedBy: string;
  status: 'running' | 'finished';
  requestedAt: string;
  finishedAt: string | null;
  /** Records that are gone, by resource. */
  deleted: Record<string, number>;
  /** Records that are nobody's, by resource. */
  anonymized: Record<string, number>;
  /** Rows that are gone or nobody's, by what they are: sessions, devices. */
  erased: Record<string, number>;
  kept: Kept[];
}

/** A row of its columns. */
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

/** Reads a row. */
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
