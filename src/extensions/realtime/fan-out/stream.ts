import type { Response } from 'express';
import { readAcceptedBytes } from '../../../platform/http/stalled-connections.ts';
import { type EndReason, encodeEndEvent } from './frame.ts';

/** An open response with server-sent events. */
export interface Stream {
  readonly isOpen: boolean;
  /** Sends bytes, or disconnects the client if it has too many unsent bytes. */
  write(bytes: Buffer): void;
  /** Disconnects the client if it has unsent bytes, because they may contain erased values. */
  disconnectIfUnsent(): void;
  /** Resolves when the client has few unsent bytes or the stream has ended. */
  waitUntilDrained(): Promise<void>;
  /** Sends a heartbeat, or disconnects the client if it had unsent bytes and has read nothing since the last heartbeat. */
  sendHeartbeatOrDisconnect(bytes: Buffer): void;
  /** Ends the stream with a last event that contains the reason. */
  end(reason: EndReason): void;
  /** Runs `work` when the stream has ended for any reason. */
  onClose(work: () => void): void;
}

const EMPTY_COMMENT = Buffer.from(':\n\n');
const FIRST_RETRY_MS = 1000;
// Maximum random ms added to the reconnect delay, so that clients that are disconnected together do not reconnect together.
const SPREAD_MS = 2000;
// ms that an ended stream has to send its remaining bytes before its connection is destroyed.
const LONGEST_END_MS = 2000;

const pickRandomRetryMs = () => Math.round(FIRST_RETRY_MS + Math.random() * SPREAD_MS);

/**
 * Starts a response that stays open. The response uses its own connection without chunked encoding, so that the same bytes can be sent
 * to many clients.
 *
 * @param maxBufferedBytes a client with more unsent bytes is disconnected
 * @param onCutOff called when the client was disconnected for reading too slowly
 */
export function openStream(res: Response, maxBufferedBytes: number, onCutOff: () => void): Stream {
  res.removeHeader('Transfer-Encoding');
  res.writeHead(200, {
    'Content-Type': 'text/event-stream',
    // Proxies must not store, change or buffer the stream.
    'Cache-Control': 'no-store, no-transform',
    'X-Accel-Buffering': 'no',
    Connection: 'close',
  });
  res.write(`retry: ${pickRandomRetryMs()}\n\n`);
  let isOpen = true;
  let acceptedAtLastBeat = 0;
  let waitedAtLastBeat = false;
  res.once('close', () => {
    isOpen = false;
  });
  // A broken connection also emits `close`, which is handled above.
  res.on('error', () => undefined);

  function disconnectSlowClient(): void {
    onCutOff();
    res.destroy();
  }

  function write(bytes: Buffer): void {
    if (!isOpen) return;
    if (res.writableLength > maxBufferedBytes) {
      isOpen = false;
      disconnectSlowClient();
      return;
    }
    res.write(bytes);
  }

  return {
    get isOpen() {
      return isOpen;
    },
    write,
    disconnectIfUnsent() {
      if (!isOpen || res.writableLength === 0) return;
      isOpen = false;
      disconnectSlowClient();
    },
    async waitUntilDrained() {
      if (!isOpen || !res.writableNeedDrain) return;
      await new Promise<void>((resolve) => {
        const finishWaiting = () => {
          res.off('drain', finishWaiting).off('close', finishWaiting);
          resolve();
        };
        res.once('drain', finishWaiting).once('close', finishWaiting);
      });
    },
    sendHeartbeatOrDisconnect(bytes) {
      if (!isOpen) return;
      const accepted = res.socket === null ? 0 : readAcceptedBytes(res.socket);
      const waits = res.writableLength > 0;
      if (waits && waitedAtLastBeat && accepted <= acceptedAtLastBeat) {
        isOpen = false;
        disconnectSlowClient();
        return;
      }
      [acceptedAtLastBeat, waitedAtLastBeat] = [accepted, waits];
      write(bytes.length > 0 ? bytes : EMPTY_COMMENT);
    },
    end(reason) {
      if (!isOpen) return;
      isOpen = false;
      res.end(encodeEndEvent(reason, pickRandomRetryMs()));
      const destroyTimer = setTimeout(() => res.destroy(), LONGEST_END_MS);
      destroyTimer.unref();
      res.once('close', () => clearTimeout(destroyTimer));
    },
    onClose(work) {
      res.once('close', work);
    },
  };
}
