import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { createWorkCounter, type WorkCounter } from './work-metrics.ts';

/** The Prometheus metrics of one app. Features register their own in `registry`; every name begins with `belfry_`. */
export interface Metrics {
  registry: Registry;
  /** Operations that this process served itself because Redis was down; the `what` label names the operation. */
  redisFallbacks: Counter<'what'>;
  /** Counts finished units of work. `createWorkLogger` calls it. */
  countWork: WorkCounter;
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
  return { registry, redisFallbacks, countWork: createWorkCounter(registry) };
}

/** Adds the metric with the versions that run. @param version the version of Belfry */
export function addBuildInfo({ registry }: Metrics, version: string): void {
  new Gauge({
    name: 'belfry_build_info',
    help: 'Always 1; the labels are the versions of Belfry and Node.js.',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version, node: process.versions.node }, 1);
}

/**
 * Adds Node's process metrics: CPU, memory, event loop, garbage collection. Call this only if metrics are served, because it keeps
 * measuring.
 */
export function addProcessMetrics({ registry }: Metrics): void {
  if (registry.getSingleMetric('process_cpu_seconds_total') === undefined)
    collectDefaultMetrics({ register: registry });
}
