/** Options of `createBatcher`. */
export interface BatchOptions<Item, Result> {
  /** Sends a batch. Resolves with one result per item, in order. If it rejects, so do the calls that the items came from. */
  send(items: readonly Item[]): Promise<readonly Result[]>;
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

/** The items of one caller. Those that wait have no promises of their own, because thousands may wait. */
interface Call<Item, Result> {
  items: readonly Item[];
  since: number;
  results: Result[];
  /** The number of items that no longer wait, and of items without a result. */
  taken: number;
  open: number;
  resolve(results: Result[]): void;
  reject(error: unknown): void;
}

/** Items of one call that are sent together. */
interface Part<Item, Result> {
  call: Call<Item, Result>;
  from: number;
  items: readonly Item[];
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
  const waiting: Call<Item, Result>[] = [];
  let itemsWaiting = 0;
  let batchesInProgress = 0;
  let timer: NodeJS.Timeout | undefined;

  /** Takes up to `most` items of the call that has waited longest. */
  function takePart(most: number): Part<Item, Result> {
    const call = waiting[0]!;
    const from = call.taken;
    const items = call.items.slice(from, from + most);
    call.taken += items.length;
    itemsWaiting -= items.length;
    if (call.taken === call.items.length) waiting.shift();
    return { call, from, items };
  }

  function addResult(call: Call<Item, Result>, at: number, result: Result): void {
    call.results[at] = result;
    call.open -= 1;
    if (call.open === 0) call.resolve(call.results);
  }

  async function sendBatch(): Promise<void> {
    const parts = [takePart(maxPerBatch)];
    let { items } = parts[0]!;
    while (items.length < maxPerBatch && waiting.length > 0) {
      const part = takePart(maxPerBatch - items.length);
      parts.push(part);
      items = [...items, ...part.items];
    }
    batchesInProgress += 1;
    try {
      const results = await options.send(items);
      let done = 0;
      for (const { call, from, items: own } of parts)
        for (let i = 0; i < own.length; i++) addResult(call, from + i, results[done++]!);
    } catch (error) {
      for (const { call } of parts) call.reject(error);
    }
    batchesInProgress -= 1;
    sendWaiting();
  }

  function sendWaiting(): void {
    clearTimeout(timer);
    timer = undefined;
    const oldest = performance.now() - maxWaitMs;
    while (waiting.length > 0 && waiting[0]!.since < oldest) {
      const { call, from, items } = takePart(Number.POSITIVE_INFINITY);
      for (let i = 0; i < items.length; i++) addResult(call, from + i, options.late);
    }
    while (batchesInProgress < maxConcurrent && waiting.length > 0) void sendBatch();
  }

  return (items) => {
    const { promise, resolve, reject } = Promise.withResolvers<Result[]>();
    const results = new Array<Result>(items.length);
    if (items.length === 0) return Promise.resolve(results);
    waiting.push({ items, since: performance.now(), results, taken: 0, open: items.length, resolve, reject });
    itemsWaiting += items.length;
    if (itemsWaiting >= maxPerBatch) sendWaiting();
    else timer ??= setTimeout(sendWaiting, gatherMs);
    return promise;
  };
}
