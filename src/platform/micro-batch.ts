/** Adds an item; resolves when the batch that it was in is written, rejects when that failed. */
export type AddToBatch<Item> = (item: Item) => Promise<void>;

/**
 * Batches that form by themselves: what gathers while the last batch is written makes up the next. No timer: alone, an item is
 * written at once.
 *
 * @param write writes a batch, in the order in which the items came
 * @param most items of a batch
 * @param soon calls what writes a batch: in this tick or, by `setImmediate`, when all that came in one turn of the event loop is there
 */
export function createMicroBatch<Item>(
  write: (items: Item[]) => Promise<void>,
  most: number,
  soon: (flush: () => void) => void = queueMicrotask,
): AddToBatch<Item> {
  const gathered: { item: Item; resolve: () => void; reject: (error: unknown) => void }[] = [];
  let writing = false;

  async function flush(): Promise<void> {
    const batch = gathered.splice(0, most);
    try {
      await write(batch.map(({ item }) => item));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    writing = gathered.length > 0;
    if (writing) soon(flush);
  }

  return (item) =>
    new Promise<void>((resolve, reject) => {
      gathered.push({ item, resolve, reject });
      // What else is added soon comes along.
      if (!writing) {
        writing = true;
        soon(flush);
      }
    });
}
