/** SQL of the snapshot of a statement: its oldest open transaction, and the one after the newest that has ended. Postgres computes it once for all rows. */
export const SNAPSHOT = `(select concat_ws(' ', pg_snapshot_xmin(s), pg_snapshot_xmax(s)) from pg_current_snapshot() s)`;

/** Maximum ms to wait for an open transaction to end. */
const MAX_OPEN_MS = 60_000;
/** Maximum ms between the time that a statement gives a row and the moment when its transaction gets an id. */
const MARGIN_MS = 500;

/**
 * The position up to which no row will be committed any more, if rows get growing positions as they are written: ids, or the time. Transactions do
 * not commit in the order of these. But once all that were open at a position have ended, a snapshot contains every row up to it.
 */
export class Settled {
  #passed = Number.NEGATIVE_INFINITY;
  #position = Number.NEGATIVE_INFINITY;
  /** The next position, and the transaction before which all must have ended. */
  #next = { position: Number.NEGATIVE_INFINITY, transaction: 0n, at: Number.NEGATIVE_INFINITY };

  get position(): number {
    return this.#position;
  }

  /** The position that was passed last. Read it before the statement that `noteSnapshot` gets. */
  get passed(): number {
    return this.#passed;
  }

  /**
   * Call this when a transaction has ended that got its id after the position was reached. Only then do later snapshots know all transactions that
   * were open at the position: a snapshot knows none that is newer than the last one that has ended.
   */
  notePassed(position: number): void {
    this.#passed = Math.max(this.#passed, position);
  }

  /**
   * Like `notePassed`, if positions are times. Forgets all positions if the clock was set back.
   *
   * @param ms when a statement began that has written, in epoch ms by the clock of Postgres
   */
  notePassedTime(ms: number): void {
    if (ms < this.#passed) {
      this.#passed = this.#position = Number.NEGATIVE_INFINITY;
      this.#next = { position: this.#passed, transaction: 0n, at: this.#passed };
    } else this.notePassed(ms - MARGIN_MS);
  }

  /** @param passed the position that was `passed` before the statement @param snapshot its `SNAPSHOT` */
  noteSnapshot(passed: number, snapshot: string): void {
    const [oldest, next] = snapshot.split(' ').map(BigInt) as [bigint, bigint];
    const now = performance.now();
    if (oldest < this.#next.transaction && now - this.#next.at < MAX_OPEN_MS) return;
    this.#position = Math.max(this.#position, this.#next.position);
    this.#next = { position: passed, transaction: next, at: now };
  }
}
