import { Counter, collectDefaultMetrics, Registry } from 'prom-client';

/** The Prometheus metrics of one app. Features register their own in `registry`; every name begins with `belfry_`. */
export interface Metrics {
  registry: Registry;
  /** Operations that this process served itself because Redis was down; the `what` label names the operation. */
  redisFallbacks: Counter<'what'>;
}

/** Creates the metrics of an app. Nothing is served yet, and a metric costs no more than adding a number. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const redisFallbacks = new Counter({
    name: 'belfry_redis_fallbacks_total',
    help: 'Operations that this process served by itself because Redis was down, by operation.',
    labelNames: ['what'],
    registers: [registry],
  });
  return { registry, redisFallbacks };
}

/**
 * Adds Node's process metrics: CPU, memory, event loop, garbage collection. Call this only if metrics are served, because it keeps
 * measuring.
 */
export function addProcessMetrics({ registry }: Metrics): void {
  if (registry.getSingleMetric('process_cpu_seconds_total') === undefined)
    collectDefaultMetrics({ register: registry });
}
