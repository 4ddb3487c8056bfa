import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Stream } from './stream.ts';

// Takes about 2 ms. Between two turns the process handles requests, which would stretch a pass with many turns.
const STREAMS_AT_ONCE = 256;
// After each pass there is a pause for as long as the pass took, but at most this many ms. A busy process then has time for other work, and
// each stream gets more events in one write, which costs as much as any other.
const LONGEST_PAUSE_MS = 50;

/**
 * Writes the events of many streams in passes. A pass visits each stream with waiting bytes once and writes everything that waits by then, so
 * an event that arrives during a pass still reaches the streams that the pass has not visited yet.
 */
export class WritingPasses {
  /** The streams with waiting bytes, the one that has waited longest first. */
  readonly #waiting = new Set<Stream>();
  #isRunning = false;
  /** Waiting parts of the last stream with more than one, and the parts joined. Most streams wait for the same. */
  #joined: { parts: readonly Buffer[]; bytes: Buffer } = { parts: [], bytes: Buffer.alloc(0) };

  /** Whether any bytes wait. */
  get isBehind(): boolean {
    return this.#waiting.size > 0;
  }

  /** Adds bytes to those that wait for a stream. */
  add(stream: Stream, bytes: Buffer): void {
    stream.queue(bytes);
    this.#waiting.add(stream);
    if (!this.#isRunning) void this.#run();
  }

  /** Writes everything that waits, without a pause. */
  async finish(): Promise<void> {
    while (this.isBehind) await this.#visitWaiting();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.isBehind) {
      const startedAt = performance.now();
      await this.#visitWaiting();
      await sleep(Math.min(performance.now() - startedAt, LONGEST_PAUSE_MS));
    }
    this.#isRunning = false;
  }

  async #visitWaiting(): Promise<void> {
    // The caller is still adding the bytes of the same change for other streams.
    await nextTurn();
    // A stream that gets more bytes after its visit is added at the end, for the next pass.
    let left = this.#waiting.size;
    for (const stream of this.#waiting) {
      if (left-- === 0) return;
      this.#waiting.delete(stream);
      stream.flush((parts) => this.#join(parts));
      if (left % STREAMS_AT_ONCE === 0) await nextTurn();
    }
  }

  #join(parts: readonly Buffer[]): Buffer {
    const known = this.#joined.parts;
    if (known.length !== parts.length || parts.some((part, i) => part !== known[i]))
      this.#joined = { parts, bytes: Buffer.concat(parts) };
    return this.#joined.bytes;
  }
}
