// The baseline of deliveries: undici alone, with the signature of Belfry's deliveries.
import { Pool } from 'undici';
import {
  createSignatureHeader,
  generateSecret,
  parseSigningSecret,
} from '../../src/extensions/webhooks/endpoints/signing.ts';
import { reportReady } from '../processes/child.ts';

interface Run {
  url: string;
  count: number;
  concurrency: number;
  body: string;
}

const key = parseSigningSecret(generateSecret());

reportReady('', {
  /** Posts a body this many times. */
  async send({ url, count, concurrency, body }: Run) {
    const pool = new Pool(url, { connections: concurrency, pipelining: 1 });
    let sent = 0;
    const runConnection = async () => {
      while (sent < count) {
        const id = `msg_${sent++}`;
        const timestamp = Math.floor(Date.now() / 1000);
        const headers = {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': String(timestamp),
          'webhook-signature': createSignatureHeader([key], id, timestamp, body),
        };
        const response = await pool.request({ method: 'POST', path: '/', headers, body });
        await response.body.dump();
      }
    };
    await Promise.all(Array.from({ length: concurrency }, runConnection));
    await pool.close();
  },
});
