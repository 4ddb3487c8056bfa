// Clients that hold streams open. Most of them only receive the bytes; every twentieth client parses the events.
import { connect } from 'node:net';
import { currentTimeMs, reportReady } from './child.ts';

interface StreamsToOpen {
  url: string;
  path: string;
  tokens: string[];
}

const CLIENTS_PER_PARSER = 20;
const OPEN_CONCURRENCY = 50;
/** Matches the time when the relay published the event, and the id of the record. */
const CREATED_EVENT = /^id: (\d+)-\d+\nevent: article\.created\ndata: \{[^{]*?"id":"([0-9a-f]{24})"/gm;

let receipts: [record: string, at: number, relayedAt: number][] = [];

function openStream({ url, path }: StreamsToOpen, token: string, parsesEvents: boolean): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(port), host: hostname, noDelay: true });
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    socket.once('error', reject).once('close', () => reject(new Error('a stream was closed')));
    let text = '';
    let isReady = false;
    socket.on('data', (chunk: Buffer) => {
      if (isReady && !parsesEvents) return;
      text += chunk.toString('latin1');
      if (!isReady && text.includes('event: ready')) {
        isReady = true;
        resolve();
      }
      if (!isReady) return;
      const end = text.lastIndexOf('\n\n') + 2;
      const completeEvents = text.slice(0, end);
      text = text.slice(end);
      const at = currentTimeMs();
      for (const [, relayedAt, id] of completeEvents.matchAll(CREATED_EVENT))
        receipts.push([id!, at, Number(relayedAt)]);
    });
  });
}

reportReady('', {
  /** Opens a stream for each token. */
  async open(streams: StreamsToOpen) {
    for (let from = 0; from < streams.tokens.length; from += OPEN_CONCURRENCY) {
      const batch = streams.tokens.slice(from, from + OPEN_CONCURRENCY);
      await Promise.all(batch.map((token, i) => openStream(streams, token, (from + i) % CLIENTS_PER_PARSER === 0)));
    }
  },
  /** Discards all receipts so far. */
  begin() {
    receipts = [];
  },
  /** Returns what the parsing clients have received. */
  receipts: () => receipts,
});
