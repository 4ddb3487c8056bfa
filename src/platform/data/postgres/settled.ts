/** SQL of the snapshot of a statement: its oldest open transaction, and the next one. Postgres computes it once for all rows. */
export const SNAPSHOT = `(select concat_ws(' ', pg_snapshot_xmin(s), pg_snapshot_xmax(s)) from pg_current_snapshot() s)`;

/** ms for which an open transaction is waited for. */
const MAX_OPEN_MS = 60_000;
/** ms from the time that a statement gives a row until its transaction has an id. */
const MARGIN_MS = 100;

/**
 * The position up to which no row will be committed any more, if rows get growing positions as they are written: ids, or the time. Transactions do
 * not commit in the order of these. But once all that were open at a position have ended, a snapshot contains every row up to it.
 */
export class Settled {
  #position = Number.NEGATIVE_INFINITY;
  /** The next position, and the transaction before which all must have ended. */
  #next = { position: Number.NEGATIVE_INFINITY, transaction: 0n, at: Number.NEGATIVE_INFINITY };

  get position(): number {
    return this.#position;
  }

  /** Learns from a statement. @param reached a position that others had reached before the statement @param snapshot its `SNAPSHOT` */
  note(reached: number, snapshot: string): void {
    const [oldest, next] = snapshot.split(' ').map(BigInt) as [bigint, bigint];
    const now = performance.now();
    if (oldest < this.#next.transaction && now - this.#next.at < MAX_OPEN_MS) return;
    this.#position = Math.max(this.#position, this.#next.position);
    this.#next = { position: reached, transaction: next, at: now };
  }

  /** Like `note`, if positions are times. @param ms the time of the statement, in epoch ms */
  noteTime(ms: number, snapshot: string): void {
    this.note(ms - MARGIN_MS, snapshot);
  }
}
