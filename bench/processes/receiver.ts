// A receiver of webhooks that only responds: at once, or after RESPONSE_MS. It reports when requests arrived.
import { currentTimeMs, reportReady, startHttpServer } from './child.ts';

interface ExpectedRequests {
  count: number;
  first: number;
  done: (perSecond: number) => void;
}

const responseMs = Number(process.env.RESPONSE_MS ?? 0);
let expected: ExpectedRequests | undefined;
let received = 0;
let receipts: [id: string, at: number, messageId: string][] | undefined;

function count(): void {
  received += 1;
  if (expected === undefined) return;
  if (received === 1) expected.first = performance.now();
  if (received === expected.count) expected.done((received - 1) / ((performance.now() - expected.first) / 1000));
}

const url = await startHttpServer((req, res) => {
  const at = currentTimeMs();
  const chunks: Buffer[] = [];
  req.on('data', (chunk) => chunks.push(chunk));
  req.on('end', () => {
    res.statusCode = 204;
    if (responseMs === 0) res.end();
    else setTimeout(() => res.end(), responseMs);
    count();
    receipts?.push([JSON.parse(Buffer.concat(chunks).toString()).data.id, at, String(req.headers['webhook-id'])]);
  });
});

reportReady(url, {
  /** Waits for this many requests. Returns the number per second, from the first to the last. */
  receive: (count: number) =>
    new Promise<number>((resolve) => {
      received = 0;
      expected = { count, first: 0, done: resolve };
    }),
  /** From now on, records when the event of each record arrived. */
  watch() {
    receipts = [];
  },
  receipts: () => receipts,
});
