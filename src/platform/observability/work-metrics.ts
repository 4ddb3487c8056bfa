import { Counter, Histogram, type Registry } from 'prom-client';

/** Histogram buckets in seconds of work in the background. */
const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

const toCount = (value: unknown) => (typeof value === 'number' ? value : 0);

/** Exports the series of a counter for these values of its label before the first event. */
function startAtZero<L extends string>(counter: Counter<L>, label: L, values: readonly string[]): void {
  for (const value of values) counter.labels({ [label]: value } as Record<L, string>).inc(0);
}

/** The log line of a finished unit of work. */
interface FinishedWork {
  outcome: string;
  durationMs: number;
  [field: string]: unknown;
}

/** Counts finished units of work from their log lines, whether or not the lines are logged. */
export type WorkCounter = (unit: string, line: FinishedWork) => void;

/** Registers the metrics of units of work: relay batches, sweeps, e-mails, pushes, exports. The worker of webhooks has its own. */
export function createWorkCounter(registry: Registry): WorkCounter {
  const registers = [registry];
  const createCounter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter<L>({ name: `belfry_${name}`, help, labelNames, registers });
  const createHistogram = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Histogram<L>({ name: `belfry_${name}`, help, labelNames, buckets: SECONDS, registers });

  const batches = createCounter('relay_batches_total', 'Batches of outbox rows, by outcome: done, failed.', 'outcome');
  const rows = createCounter('relay_rows_total', 'Outbox rows in these batches, by outcome of the batch.', 'outcome');
  const batchSeconds = createHistogram('relay_batch_seconds', 'Duration of a batch of outbox rows.');
  const sweeps = createCounter('sweeps_total', 'Sweeps that handled rows or failed, by outcome.', 'sweep', 'outcome');
  const sweptRows = createCounter('sweep_rows_total', 'Rows that sweeps handled.', 'sweep');
  const mails = createCounter('mail_attempts_total', 'Attempts to send an e-mail, by outcome.', 'outcome');
  const mailSeconds = createHistogram('mail_attempt_seconds', 'Duration of an attempt to send an e-mail.');
  const chunks = createCounter(
    'push_chunks_total',
    'Attempts to send a chunk of a push, by outcome.',
    'transport',
    'outcome',
  );
  const devices = createCounter(
    'push_devices_total',
    'Devices in these attempts, by result: ok, retry, unregistered, failed.',
    'transport',
    'result',
  );
  const chunkSeconds = createHistogram(
    'push_chunk_seconds',
    'Time until a transport returned its results.',
    'transport',
  );
  const exports = createCounter('exports_total', 'Attempts to create a personal data export, by outcome.', 'outcome');

  // Prometheus' `increase()` ignores the first sample of a counter, so a failure could be missed unless the counter starts at 0.
  for (const counter of [batches, rows]) startAtZero(counter, 'outcome', ['done', 'failed']);
  startAtZero(mails, 'outcome', ['sent', 'retry', 'failed', 'captured', 'nothing to send', 'lost']);
  startAtZero(exports, 'outcome', ['ready', 'retry', 'failed', 'lost']);

  const counters: Record<string, (line: FinishedWork) => void> = {
    'relay batch'({ outcome, durationMs, rows: count }) {
      batches.inc({ outcome });
      rows.inc({ outcome }, toCount(count));
      batchSeconds.observe(durationMs / 1000);
    },
    sweep({ outcome, sweep, rows: count }) {
      sweeps.inc({ sweep: String(sweep), outcome });
      sweptRows.inc({ sweep: String(sweep) }, toCount(count));
    },
    mail({ outcome, durationMs }) {
      mails.inc({ outcome });
      mailSeconds.observe(durationMs / 1000);
    },
    'push chunk'({ outcome, durationMs, transport: name, ...results }) {
      const transport = String(name ?? 'none');
      chunks.inc({ transport, outcome });
      for (const result of ['ok', 'retry', 'unregistered', 'failed'])
        devices.inc({ transport, result }, toCount(results[result]));
      chunkSeconds.observe({ transport }, durationMs / 1000);
    },
    export: ({ outcome }) => exports.inc({ outcome }),
  };
  return (unit, line) => counters[unit]?.(line);
}
