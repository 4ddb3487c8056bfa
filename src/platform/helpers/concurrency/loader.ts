interface PendingInput<Input, Result> extends PromiseWithResolvers<Result> {
  input: Input;
}

/**
 * Combines the calls of one turn of the event loop, for example from requests that arrived together, into one. Inputs with equal keys are
 * passed once. Nothing is cached: the next turn calls again.
 *
 * @param load returns a result for each input, in the order of the inputs
 * @param keyOf returns the key of an input; left out: each input is passed
 * @param maxBatch maximum number of inputs of one call of `load`; further inputs of the turn go into calls of their own
 * @returns a function that returns the result for one input
 */
export function createBatchedCall<Input, Result>(
  load: (inputs: Input[]) => Promise<readonly Result[]>,
  keyOf: (input: Input) => unknown = (input) => input,
  maxBatch = Number.POSITIVE_INFINITY,
): (input: Input) => Promise<Result> {
  let pending: Map<unknown, PendingInput<Input, Result>> | undefined;

  async function loadBatch(batch: readonly PendingInput<Input, Result>[]): Promise<void> {
    try {
      const results = await load(batch.map(({ input }) => input));
      for (const [i, { resolve }] of batch.entries()) resolve(results[i]!);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  async function loadPending(): Promise<void> {
    const all = [...pending!.values()];
    pending = undefined;
    const batches = [];
    for (let from = 0; from < all.length; from += maxBatch) batches.push(all.slice(from, from + maxBatch));
    await Promise.all(batches.map(loadBatch));
  }

  return (input) => {
    if (pending === undefined) {
      pending = new Map();
      setImmediate(loadPending);
    }
    const key = keyOf(input);
    let entry = pending.get(key);
    if (entry === undefined) {
      entry = { ...Promise.withResolvers<Result>(), input };
      pending.set(key, entry);
    }
    return entry.promise;
  };
}

/**
 * Combines the look-ups of one turn of the event loop into one query, as {@link createBatchedCall} does.
 *
 * @param find finds the entries for a batch of keys; returns them in any order
 * @param keyOf returns the key of an entry
 * @returns a function that finds one entry; undefined if there is none
 */
export function createBatchLoader<Entry>(
  find: (keys: string[]) => Promise<Entry[]>,
  keyOf: (entry: Entry) => string,
): (key: string) => Promise<Entry | undefined> {
  return createBatchedCall<string, Entry | undefined>(
    async (keys) => {
      const entries = new Map((await find(keys)).map((entry) => [keyOf(entry), entry]));
      return keys.map((key) => entries.get(key));
    },
    (key) => key,
  );
}
