// A receiver of webhooks that only responds, at once. It reports when requests arrived.
import { listening, now, ready } from './child.ts';

interface Waiting {
  count: number;
  first: number;
  done: (perSecond: number) => void;
}

let waiting: Waiting | undefined;
let received = 0;
let receipts: [id: string, at: number][] | undefined;

function count(): void {
  received += 1;
  if (waiting === undefined) return;
  if (received === 1) waiting.first = performance.now();
  if (received === waiting.count) waiting.done((received - 1) / ((performance.now() - waiting.first) / 1000));
}

const url = await listening((req, res) => {
  const at = now();
  const chunks: Buffer[] = [];
  req.on('data', (chunk) => chunks.push(chunk));
  req.on('end', () => {
    res.statusCode = 204;
    res.end();
    count();
    receipts?.push([JSON.parse(Buffer.concat(chunks).toString()).data.id, at]);
  });
});

ready(url, {
  /** Waits for this many requests. Returns the number per second, from the first to the last. */
  receive: (count: number) =>
    new Promise<number>((resolve) => {
      received = 0;
      waiting = { count, first: 0, done: resolve };
    }),
  /** From now on, records when the event of each record arrived. */
  watch() {
    receipts = [];
  },
  receipts: () => receipts,
});
