/** A table is counted in ranges from this number of rows on: counting fewer one by one takes a few milliseconds. */
export const MIN_RANGED_ROWS = 20_000;

/** For how long a table without ranges is not tried again, in ms. */
const RETRY_MS = 10_000;

/** What this process knows about the ranges of a table. The database decides: a read by ranges finds nothing if there are none. */
export class RangeUse {
  #areKept = false;
  /** The last total that was counted row by row. */
  #total = 0;
  #triedAt = Number.NEGATIVE_INFINITY;

  /** Whether the last try has found ranges. */
  get areKept(): boolean {
    return this.#areKept;
  }

  /** Whether to try a read by ranges: a small table has none. */
  mayBeKept(): boolean {
    if (this.#areKept) return true;
    return this.#total >= MIN_RANGED_ROWS && performance.now() - this.#triedAt > RETRY_MS;
  }

  /** @param areKept whether a read by ranges has found some */
  found(areKept: boolean): void {
    this.#areKept = areKept;
    this.#triedAt = performance.now();
  }

  /** @param total the number of rows, counted one by one */
  counted(total: number): void {
    this.#total = total;
  }
}
