/** Options of `createBatcher`. */
export interface BatchOptions<Item, Result> {
  /** Sends a batch. Resolves with one result per item, in order; never rejects. */
  send(items: Item[]): Promise<Result[]>;
  /** Maximum items per batch. */
  maxPerBatch: number;
  /** Maximum concurrent batches. */
  maxConcurrent: number;
  /** ms that an item waits for others to fill its batch. */
  gatherMs: number;
  /** ms after which an item that is still waiting is not sent. */
  maxWaitMs: number;
  /** The result of an item that waited too long. */
  late: Result;
}

interface WaitingCall<Item, Result> {
  item: Item;
  since: number;
  resolve(result: Result): void;
}

/**
 * Creates the function that gathers the items of all callers into batches. A batch is sent when it is full or its first item has waited
 * `gatherMs`. While `maxConcurrent` batches are in progress, further items wait.
 *
 * @returns a function that adds items and resolves with one result per item, in order
 */
export function createBatcher<Item, Result>(
  options: BatchOptions<Item, Result>,
): (items: readonly Item[]) => Promise<Result[]> {
  const { maxPerBatch, maxConcurrent, gatherMs, maxWaitMs } = options;
  let waiting: WaitingCall<Item, Result>[] = [];
  let batchesInProgress = 0;
  let timer: NodeJS.Timeout | undefined;

  async function sendBatch(batch: WaitingCall<Item, Result>[]): Promise<void> {
    batchesInProgress += 1;
    const results = await options.send(batch.map(({ item }) => item));
    batchesInProgress -= 1;
    for (const [i, { resolve }] of batch.entries()) resolve(results[i]!);
    if (waiting.length > 0) sendWaiting();
  }

  function sendWaiting(): void {
    clearTimeout(timer);
    timer = undefined;
    const oldest = performance.now() - maxWaitMs;
    const [late, inTime] = [
      waiting.filter(({ since }) => since < oldest),
      waiting.filter((one) => one.since >= oldest),
    ];
    for (const { resolve } of late) resolve(options.late);
    waiting = inTime;
    while (batchesInProgress < maxConcurrent && waiting.length > 0) void sendBatch(waiting.splice(0, maxPerBatch));
  }

  return (items) => {
    const since = performance.now();
    const results = items.map((item) => new Promise<Result>((resolve) => waiting.push({ item, since, resolve })));
    if (waiting.length >= maxPerBatch) sendWaiting();
    else timer ??= setTimeout(sendWaiting, gatherMs);
    return Promise.all(results);
  };
}
