import { runInSpan, type Tracing } from '../../observability/tracing.ts';
import type { JobData, Queues } from '../../work/queues/queues.ts';

/**
 * Adds the `traceparent` of the active span to new jobs, so that their work continues the trace. A job that a sweep adds later, because
 * Redis lost the first one, belongs to no trace. Returns the queues unchanged if the process does not trace.
 */
export function withJobTracing(queues: Queues, tracing: Tracing): Queues {
  if (!tracing.isEnabled) return queues;
  return {
    ...queues,
    add(queue, jobs, isAnnounced) {
      const trace = tracing.current();
      if (trace === undefined) return queues.add(queue, jobs, isAnnounced);
      return queues.add(
        queue,
        jobs.map((job) => ({ ...job, data: { trace, ...job.data } })),
        isAnnounced,
      );
    },
  };
}

/** Runs a job in a span that continues the trace in which the job was added. A job without a trace only runs. */
export function runJobInSpan<T>(
  tracing: Tracing,
  queue: string,
  { trace }: Pick<JobData, 'trace'>,
  run: () => Promise<T>,
): Promise<T> {
  if (trace === undefined) return run();
  const attributes = {
    'messaging.system': 'bullmq',
    'messaging.destination.name': queue,
    'messaging.operation.type': 'process',
  };
  return runInSpan(tracing.startSpan({ name: `process ${queue}`, kind: 'consumer', parent: trace, attributes }), run);
}
