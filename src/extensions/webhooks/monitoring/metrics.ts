import { Counter, Gauge, Histogram } from 'prom-client';
import type { Host } from '../../../extension/index.ts';
import type { Outcome } from '../engine/delivery/attempt.ts';
import type { WebhookMetrics } from '../engine/delivery/worker.ts';
import type { StatusReader, WebhookQueue } from './status.ts';

/** Histogram buckets in seconds: from unnoticeable to practically stopped. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** ms for which values read from the database are reused. Frequent scrapes then cost one query. */
const FRESH_MS = 1000;

/** Returns the label `result` of an outcome. HTTP statuses are reduced to their first digit; otherwise receivers could create series. */
function resultLabelOf({ error, refused }: Outcome): string {
  if (error === null) return 'succeeded';
  if (refused) return 'not readable';
  return error.replace(/^status (\d)\d+$/, 'status $1xx');
}

type GaugeDefinition = [name: string, help: string, value: (queue: WebhookQueue) => number];

const toSeconds = (ms: number | null) => (ms ?? 0) / 1000;

/** Gauges that are read from the database on each scrape: every process reports the same values. */
const GAUGES: readonly GaugeDefinition[] = [
  ['queued', 'Deliveries that could be sent now.', ({ due }) => due],
  ['retrying', 'Deliveries that wait for the time of their next attempt.', ({ retrying }) => retrying],
  ['in_flight', 'Deliveries that workers have claimed and are sending or will send next.', ({ inFlight }) => inFlight],
  ['oldest_waiting_seconds', 'Seconds by which the next delivery is overdue.', ({ oldestMs }) => toSeconds(oldestMs)],
  ['events_waiting', 'Events that the relay has not turned into deliveries yet.', ({ events }) => events],
  ['oldest_event_seconds', 'Seconds since the first of these events.', (queue) => toSeconds(queue.oldestEventMs)],
];

/** Registers the metrics of webhooks. While the database is unavailable, the gauges are NaN; the other metrics are still reported. */
export function createWebhookMetrics(
  { metrics: { registry }, log }: Pick<Host, 'metrics' | 'log'>,
  { queue }: Pick<StatusReader, 'queue'>,
): WebhookMetrics {
  const registers = [registry];
  let last: { at: number; queue: Promise<WebhookQueue | undefined> } | undefined;

  function readCachedQueue(): Promise<WebhookQueue | undefined> {
    if (last === undefined || performance.now() - last.at > FRESH_MS) {
      const queueRead = queue().catch((error) => {
        log.warn({ err: error }, 'the state of the webhook queue could not be read; its gauges are NaN');
        return undefined;
      });
      last = { at: performance.now(), queue: queueRead };
    }
    return last.queue;
  }

  for (const [name, help, value] of GAUGES) {
    new Gauge({
      name: `belfry_webhooks_${name}`,
      help: `${help} Across all processes.`,
      registers,
      async collect() {
        const found = await readCachedQueue();
        this.set(found === undefined ? Number.NaN : value(found));
      },
    });
  }
  const attempts = new Counter({
    name: 'belfry_webhooks_attempts_total',
    help: 'Attempts that this process made, by result.',
    labelNames: ['result'],
    registers,
  });
  const dispatch = new Histogram({
    name: 'belfry_webhooks_dispatch_seconds',
    help: 'Time from when an attempt was due until its request began.',
    buckets: SECONDS,
    registers,
  });
  const answer = new Histogram({
    name: 'belfry_webhooks_answer_seconds',
    help: 'Time until a receiver responded or the request failed.',
    buckets: SECONDS,
    registers,
  });
  const counters = new Map<string, Counter.Internal>();

  /** Returns the counter for a result. Counters are cached, because looking up a counter by label takes longer than counting. */
  function getOrCreateCounter(result: string): Counter.Internal {
    const counter = counters.get(result) ?? attempts.labels({ result });
    counters.set(result, counter);
    return counter;
  }

  return {
    wrapRecorderToCountResults: (recordResult) => (result) => {
      const { outcome, dueAt } = result;
      getOrCreateCounter(resultLabelOf(outcome)).inc();
      dispatch.observe(Math.max(Date.now() - outcome.durationMs - dueAt, 0) / 1000);
      if (!outcome.refused) answer.observe(outcome.durationMs / 1000);
      return recordResult(result);
    },
  };
}
