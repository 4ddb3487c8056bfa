import { StorageError } from '../storage.ts';

/**
 * The size of the parts of a file. S3 requires at least 5 MiB except for the last part, and R2 requires that all parts except the last have
 * the same size.
 */
export const PART_BYTES = 8 * 1024 * 1024;
/** The number of parts that S3 allows, so a file has at most 78 GiB. */
export const MAX_PARTS = 10_000;
/** Parts of one file that are sent at the same time. */
const PARTS_IN_FLIGHT = 3;

/** Passes a body on, but stops waiting for it when the signal is aborted, and then destroys it. */
async function* untilAborted(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let stopWaiting: (reason: unknown) => void = () => undefined;
  const onAbort = () => stopWaiting(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const iterator = body[Symbol.asyncIterator]();
  let isFinished = false;
  try {
    for (;;) {
      signal.throwIfAborted();
      // A promise for each wait: one for all of them would keep a callback for every chunk until the body ends.
      const next = await new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
        stopWaiting = reject;
        iterator.next().then(resolve, reject);
      });
      if (next.done) {
        isFinished = true;
        return;
      }
      yield next.value;
    }
  } catch (error) {
    isFinished = !signal.aborted;
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    if (!isFinished) {
      // A stream that waits for data only ends its iterator when it is destroyed.
      (body as { destroy?: () => void }).destroy?.();
      iterator.return?.().catch(() => undefined);
    }
  }
}

/** Yields pieces of exactly `PART_BYTES`, and a last one that is shorter, possibly empty. */
async function* splitIntoParts(body: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  for await (const chunk of body) {
    let rest = chunk;
    while (pendingBytes + rest.length >= PART_BYTES) {
      const taken = rest.subarray(0, PART_BYTES - pendingBytes);
      const part = Buffer.concat([...pending, taken], PART_BYTES);
      pending = [];
      pendingBytes = 0;
      rest = rest.subarray(taken.length);
      yield part;
    }
    if (rest.length > 0) {
      pending.push(rest);
      pendingBytes += rest.length;
    }
  }
  yield Buffer.concat(pending, pendingBytes);
}

/**
 * Sends a body part by part: at most three parts are in flight while the next one is collected, so 32 MiB are in memory. The last part is
 * shorter than `PART_BYTES`, possibly empty.
 *
 * @param send sends the part with this index, from 0
 * @returns the number of bytes
 * @throws the error of the body, the error of `send`, or a StorageError `aborted`; then no call of `send` is still running
 */
export async function sendInParts(
  body: AsyncIterable<Uint8Array>,
  send: (part: Buffer, index: number, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<number> {
  const failed = new AbortController();
  const stop = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]);
  const running = new Set<Promise<void>>();
  let count = 0;
  let bytes = 0;
  try {
    for await (const part of splitIntoParts(untilAborted(body, stop))) {
      if (count === MAX_PARTS) throw new StorageError('full', `A file has at most ${MAX_PARTS * PART_BYTES} bytes`);
      const task = send(part, count, stop)
        .catch((error: unknown) => failed.abort(error))
        .finally(() => running.delete(task));
      running.add(task);
      count += 1;
      bytes += part.length;
      if (running.size === PARTS_IN_FLIGHT) await Promise.race(running);
      stop.throwIfAborted();
    }
    await Promise.all(running);
    stop.throwIfAborted();
    return bytes;
  } catch (error) {
    failed.abort(error);
    await Promise.all(running);
    if (signal?.aborted) throw new StorageError('aborted', 'The write was aborted', { cause: signal.reason });
    throw error;
  }
}

/** Runs a task for each item, with as many at once as a file has parts in flight. Stops at the first error. */
export async function forEachPart<T>(
  items: readonly T[],
  run: (item: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  let hasFailed = false;
  const work = async () => {
    while (next < items.length && !hasFailed) {
      const index = next++;
      try {
        await run(items[index]!, index);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const workers = Array.from({ length: PARTS_IN_FLIGHT }, work);
  await Promise.allSettled(workers);
  await Promise.all(workers);
}
