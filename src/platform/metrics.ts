import { Counter, collectDefaultMetrics, Registry } from 'prom-client';

/** What one app counts and measures, for Prometheus. Features register their own in `registry`; every name begins with `belfry_`. */
export interface Metrics {
  registry: Registry;
  /** Questions that Redis should have answered and this process answered alone, by `what` was counted. */
  redisFallbacks: Counter<'what'>;
}

/** Makes the metrics of an app. Nothing is served yet, and nothing costs more than adding a number. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const redisFallbacks = new Counter({
    name: 'belfry_redis_fallbacks_total',
    help: 'Questions that this process answered alone because Redis was away, by what is counted.',
    labelNames: ['what'],
    registers: [registry],
  });
  return { registry, redisFallbacks };
}

/** Adds what Node measures of the process: CPU, memory, event loop, garbage collection. Only where metrics are served: it watches all the time. */
export function addProcessMetrics({ registry }: Metrics): void {
  if (registry.getSingleMetric('process_cpu_seconds_total') === undefined)
    collectDefaultMetrics({ register: registry });
}
