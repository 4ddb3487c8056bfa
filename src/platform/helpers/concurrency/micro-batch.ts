/** Adds an item to the next batch. Resolves to its result when that batch is written; rejects if the write fails. */
export type AddToBatch<Item, Result = void> = (item: Item) => Promise<Result>;

/**
 * Creates batches without a timer: items that arrive while a batch is being written form the next batch. An item that arrives alone is
 * written at once.
 *
 * @param write writes a batch, in the order in which the items arrived; returns the result of each item, if items have results
 * @param maxItems the maximum number of items per batch
 * @param schedule schedules the write: `queueMicrotask` writes in this tick; `setImmediate` first collects all items of this turn of
 *   the event loop
 */
export function createMicroBatch<Item, Result = void>(
  write: (items: Item[]) => Promise<readonly Result[]> | Promise<void>,
  maxItems: number,
  schedule: (writeNextBatch: () => void) => void = queueMicrotask,
): AddToBatch<Item, Result> {
  const queued: { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }[] = [];
  let writing = false;

  async function writeNextBatch(): Promise<void> {
    const batch = queued.splice(0, maxItems);
    try {
      const results = await write(batch.map(({ item }) => item));
      for (const [i, { resolve }] of batch.entries()) resolve(results?.[i] as Result);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    writing = queued.length > 0;
    if (writing) schedule(writeNextBatch);
  }

  return (item) =>
    new Promise((resolve, reject) => {
      queued.push({ item, resolve, reject });
      // Items that are added before the scheduled write join this batch.
      if (!writing) {
        writing = true;
        schedule(writeNextBatch);
      }
    });
}
