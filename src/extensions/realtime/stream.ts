import type { Response } from 'express';
import { type EndReason, endFrame } from './frame.ts';

/** An open answer. */
export interface Stream {
  readonly isOpen: boolean;
  /** Sends bytes; a client for which too many wait is cut off instead. */
  write(bytes: Buffer): void;
  /** Disconnects the client if it has unsent bytes: they may hold erased values. */
  cutIfWaiting(): void;
  /** Resolves when little waits for the client, or the stream is over. */
  drained(): Promise<void>;
  /** A sign of life. Who has not read anything since the last one, though there was something to read, is cut off. */
  beat(bytes: Buffer): void;
  /** Ends it, and says why. */
  end(reason: EndReason): void;
  /** Runs when it is over, however. */
  onClose(work: () => void): void;
}

const NOTHING = Buffer.from(':\n\n');
const FIRST_RETRY_MS = 1000;
// So that those who are cut off together do not come back together.
const SPREAD_MS = 2000;
// What has not left by then does not leave.
const LONGEST_END_MS = 2000;

const retryMs = () => Math.round(FIRST_RETRY_MS + Math.random() * SPREAD_MS);

/**
 * Begins an answer that stays open. Each stream is a connection of its own, without chunks: the same bytes go to many.
 *
 * @param maxBufferedBytes that may wait for the client
 * @param cutOff told when a client was too slow
 */
export function openStream(res: Response, maxBufferedBytes: number, cutOff: () => void): Stream {
  res.removeHeader('Transfer-Encoding');
  res.writeHead(200, {
    'Content-Type': 'text/event-stream',
    // Proxies neither keep, nor change, nor gather it.
    'Cache-Control': 'no-store, no-transform',
    'X-Accel-Buffering': 'no',
    Connection: 'close',
  });
  res.write(`retry: ${retryMs()}\n\n`);
  let isOpen = true;
  let sent = 0;
  let readAtBeat = 0;
  let waitedAtBeat = false;
  res.once('close', () => {
    isOpen = false;
  });
  // A connection that breaks closes; there is nobody to be told of it.
  res.on('error', () => undefined);

  function cut(): void {
    cutOff();
    res.destroy();
  }

  function write(bytes: Buffer): void {
    if (!isOpen) return;
    if (res.writableLength > maxBufferedBytes) {
      isOpen = false;
      cut();
      return;
    }
    sent += bytes.length;
    res.write(bytes);
  }

  return {
    get isOpen() {
      return isOpen;
    },
    write,
    cutIfWaiting() {
      if (!isOpen || res.writableLength === 0) return;
      isOpen = false;
      cut();
    },
    async drained() {
      if (!isOpen || !res.writableNeedDrain) return;
      await new Promise<void>((resolve) => {
        const done = () => {
          res.off('drain', done).off('close', done);
          resolve();
        };
        res.once('drain', done).once('close', done);
      });
    },
    beat(bytes) {
      if (!isOpen) return;
      const read = sent - res.writableLength;
      const waits = res.writableLength > 0;
      if (waits && waitedAtBeat && read <= readAtBeat) {
        isOpen = false;
        cut();
        return;
      }
      [readAtBeat, waitedAtBeat] = [read, waits];
      write(bytes.length > 0 ? bytes : NOTHING);
    },
    end(reason) {
      if (!isOpen) return;
      isOpen = false;
      res.end(endFrame(reason, retryMs()));
      const late = setTimeout(() => res.destroy(), LONGEST_END_MS);
      late.unref();
      res.once('close', () => clearTimeout(late));
    },
    onClose(work) {
      res.once('close', work);
    },
  };
}
