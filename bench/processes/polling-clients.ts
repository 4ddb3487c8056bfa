// Receivers that poll for webhooks: each waits for messages of its endpoint, acknowledges them and waits again.
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { currentTimeMs, reportReady } from './child.ts';

interface Polls {
  url: string;
  /** The token of each receiver, with its endpoint. */
  receivers: [token: string, endpoint: string][];
}

const RECORD_ID = /"data":\{[^{]*?"id":"([0-9a-f]{24})"/;
const OPEN_CONCURRENCY = 50;

let receipts: [record: string, at: number][] = [];
let polls = 0;

async function pollForever(pool: Pool, token: string, endpoint: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  for (;;) {
    const response = await pool.request({ method: 'GET', path: `/api/webhooks/${endpoint}/poll?wait=60`, headers });
    const { data, meta } = (await response.body.json()) as { data: { body: string }[]; meta: { next: string } };
    polls += 1;
    const at = currentTimeMs();
    for (const { body } of data) receipts.push([RECORD_ID.exec(body)![1]!, at]);
    if (data.length === 0) continue;
    const body = JSON.stringify({ cursor: meta.next });
    const acknowledged = await pool.request({ method: 'POST', path: `/api/webhooks/${endpoint}/ack`, headers, body });
    await acknowledged.body.dump();
  }
}

reportReady('', {
  /** Begins to poll for each receiver. */
  async open({ url, receivers }: Polls) {
    const pool = new Pool(url, {
      connections: receivers.length + OPEN_CONCURRENCY,
      pipelining: 1,
      headersTimeout: 90_000,
    });
    for (const [i, [token, endpoint]] of receivers.entries()) {
      void pollForever(pool, token, endpoint);
      if (i % OPEN_CONCURRENCY === 0) await sleep(50);
    }
  },
  /** Discards what was counted so far. */
  begin() {
    receipts = [];
    polls = 0;
  },
  receipts: () => receipts,
  polls: () => polls,
});
