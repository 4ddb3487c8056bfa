import { expect, onTestFinished, test, vi } from 'vitest';
import type { CompletedAttempt } from '../../../../src/extensions/webhooks/engine/delivery/record-results.ts';
import { createWebhookMetrics } from '../../../../src/extensions/webhooks/monitoring/metrics.ts';
import type { WebhookQueue } from '../../../../src/extensions/webhooks/monitoring/status.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { createMetrics } from '../../../../src/platform/observability/metrics.ts';

function metricsOf(queue: () => Promise<WebhookQueue>) {
  const metrics = createMetrics();
  const made = createWebhookMetrics({ metrics, log: createLogger('silent', 'test') }, { queue });
  return { ...made, text: () => metrics.registry.metrics() };
}

test('while the database cannot be queried, the values read from it are NaN and all other metrics are reported', async () => {
  const { text } = metricsOf(() => Promise.reject(new Error('away')));
  const metricsText = await text();
  for (const name of ['queued', 'in_flight', 'oldest_waiting_seconds', 'events_waiting'])
    expect(metricsText).toMatch(new RegExp(`^belfry_webhooks_${name} NaN$`, 'im'));
  expect(metricsText).toContain('belfry_webhooks_dispatch_seconds_count 0\n');
});

test('one database query serves all gauges and all concurrent scrapes', async () => {
  let queryCount = 0;
  const queue = { due: 3, retrying: 2, held: 1, inFlight: 4, oldestMs: 1500, events: 0, oldestEventMs: null };
  const { text } = metricsOf(async () => {
    queryCount += 1;
    return queue;
  });
  const [metricsText] = await Promise.all([text(), text(), text()]);
  expect(queryCount).toBe(1);
  for (const line of ['queued 3', 'retrying 2', 'in_flight 4', 'oldest_waiting_seconds 1.5', 'oldest_event_seconds 0'])
    expect(metricsText).toContain(`belfry_webhooks_${line}\n`);
});

test('receivers cannot create series of their own: statuses are reported by their first digit', async () => {
  const { wrapRecorderToCountResults: counted, text } = metricsOf(() => Promise.reject(new Error('away')));
  const written: string[] = [];
  const recordResult = counted(async ({ id }) => void written.push(id));
  // The time until a result is recorded counts as time before the request.
  const now = vi.spyOn(Date, 'now').mockReturnValue(Date.now());
  onTestFinished(() => now.mockRestore());
  const at = new Date(Date.now()).toISOString();
  const attempt = (id: string, error: string | null) =>
    recordResult({ id, dueAt: Date.parse(at) - 200, outcome: { at, error, durationMs: 40 } } as CompletedAttempt);
  for (let status = 400; status < 1000; status++) await attempt(String(status), `status ${status}`);
  await attempt('a', null);
  await attempt('b', 'timeout');
  expect(written).toHaveLength(602);
  const metricsText = await text();
  expect(metricsText.match(/^belfry_webhooks_attempts_total\{.*/gm)!.toSorted()).toEqual([
    ...[4, 5, 6, 7, 8, 9].map((digit) => `belfry_webhooks_attempts_total{result="status ${digit}xx"} 100`),
    'belfry_webhooks_attempts_total{result="succeeded"} 1',
    'belfry_webhooks_attempts_total{result="timeout"} 1',
  ]);
  expect(metricsText).toContain('belfry_webhooks_dispatch_seconds_bucket{le="0.1"} 0\n');
  expect(metricsText).toContain('belfry_webhooks_dispatch_seconds_bucket{le="0.25"} 602\n');
});
