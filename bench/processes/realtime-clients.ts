// Clients that hold streams open. Those of one process parse the events and note when they came, those of another only receive the
// bytes: a process that reads 2,000 sockets in turn would measure its own queue.
import { connect } from 'node:net';
import { currentTimeMs, reportReady } from './child.ts';

interface StreamsToOpen {
  url: string;
  path: string;
  tokens: string[];
  /** Whether the clients parse the events that they receive. */
  parsesEvents: boolean;
}

const OPEN_CONCURRENCY = 50;
/** Matches the time when the relay published the event, and the id of the record. */
const CREATED_EVENT = /^id: (\d+)-\d+\nevent: article\.created\ndata: \{[^{]*?"id":"([0-9a-f]{24})"/gm;

let receipts: [record: string, at: number, relayedAt: number][] = [];

/** Receives into one buffer for all clients, because nobody reads it again once a stream is ready. */
const sharedBuffer = Buffer.alloc(65_536);

function openStream({ url, path, parsesEvents }: StreamsToOpen, token: string): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let text = '';
    let isReady = false;
    const receive = (count: number, buffer: Uint8Array): true => {
      if (isReady && !parsesEvents) return true;
      text += Buffer.from(buffer.buffer, buffer.byteOffset, count).toString('latin1');
      if (!isReady && text.includes('event: ready')) {
        isReady = true;
        resolve();
      }
      if (!isReady) return true;
      const end = text.lastIndexOf('\n\n') + 2;
      const completeEvents = text.slice(0, end);
      text = text.slice(end);
      const at = currentTimeMs();
      for (const [, relayedAt, id] of completeEvents.matchAll(CREATED_EVENT))
        receipts.push([id!, at, Number(relayedAt)]);
      return true;
    };
    const onread = { buffer: sharedBuffer, callback: receive };
    const socket = connect({ port: Number(port), host: hostname, noDelay: true, onread });
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    socket.once('error', reject).once('close', () => reject(new Error('a stream was closed')));
  });
}

reportReady('', {
  /** Opens a stream for each token. */
  async open(streams: StreamsToOpen) {
    for (let from = 0; from < streams.tokens.length; from += OPEN_CONCURRENCY) {
      const batch = streams.tokens.slice(from, from + OPEN_CONCURRENCY);
      await Promise.all(batch.map((token) => openStream(streams, token)));
    }
  },
  /** Discards all receipts so far. */
  begin() {
    receipts = [];
  },
  /** Returns what the parsing clients have received. */
  receipts: () => receipts,
});
