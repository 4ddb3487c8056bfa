// Clients that hold streams open. Most of them only receive the bytes; every twentieth client parses the events.
import { connect } from 'node:net';
import { now, ready } from './child.ts';

interface Wanted {
  url: string;
  path: string;
  tokens: string[];
}

const READS_EVERY = 20;
const AT_ONCE = 50;
/** Matches the time when the relay passed the event on, and the id of the record. */
const CREATED = /^id: (\d+)-\d+\nevent: article\.created\ndata: \{[^{]*?"id":"([0-9a-f]{24})"/gm;

let receipts: [record: string, at: number, passedOnAt: number][] = [];

function open({ url, path }: Wanted, token: string, reads: boolean): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(port), host: hostname, noDelay: true });
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    socket.once('error', reject).once('close', () => reject(new Error('a stream was closed')));
    let text = '';
    let isReady = false;
    socket.on('data', (chunk: Buffer) => {
      if (isReady && !reads) return;
      text += chunk.toString('latin1');
      if (!isReady && text.includes('event: ready')) {
        isReady = true;
        resolve();
      }
      if (!isReady) return;
      const end = text.lastIndexOf('\n\n') + 2;
      const whole = text.slice(0, end);
      text = text.slice(end);
      const at = now();
      for (const [, passedOn, id] of whole.matchAll(CREATED)) receipts.push([id!, at, Number(passedOn)]);
    });
  });
}

ready('', {
  /** Opens a stream for each token. */
  async open(wanted: Wanted) {
    for (let from = 0; from < wanted.tokens.length; from += AT_ONCE) {
      const some = wanted.tokens.slice(from, from + AT_ONCE);
      await Promise.all(some.map((token, i) => open(wanted, token, (from + i) % READS_EVERY === 0)));
    }
  },
  /** Discards all receipts so far. */
  begin() {
    receipts = [];
  },
  /** Returns what the parsing clients have received. */
  receipts: () => receipts,
});
