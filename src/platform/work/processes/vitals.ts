import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Vitals } from './facts.ts';

/**
 * ms between two measurements of the event loop. Each measured delay contains it. Ten measurements a second took more than half of the CPU time of
 * an idle process; these still find every delay of half a second, and shorter ones if they repeat.
 */
const RESOLUTION_MS = 500;
const NANOS_PER_MS = 1e6;
const MIN_PERIOD_MS = 1000;

/** Measures a process. */
export interface VitalsMeter {
  /** Returns what was measured since the last call. */
  read(): Vitals;
  stop(): void;
}

const round = (value: number, digits: number) => (Number.isFinite(value) ? Number(value.toFixed(digits)) : 0);

/** Starts to measure this process. Two samples a second, outside of JavaScript, which do not keep the process running. */
export function startVitalsMeter(heapLimit: number): VitalsMeter {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  let usage = process.cpuUsage();
  let measuredAt = performance.now();
  let utilization = performance.eventLoopUtilization();
  const toDelayMs = (nanos: number) => Math.max(0, nanos / NANOS_PER_MS - RESOLUTION_MS);
  return {
    read() {
      const { rss, heapUsed } = process.memoryUsage();
      const elapsedMs = Math.max(1, performance.now() - measuredAt);
      const { user, system } = process.cpuUsage(usage);
      const { utilization: busy } = performance.eventLoopUtilization(utilization);
      const eventLoop = {
        meanMs: round(toDelayMs(delays.mean), 1),
        maxMs: round(delays.count === 0 ? 0 : toDelayMs(delays.max), 1),
        // The first moments of a process say nothing about the load.
        busy: elapsedMs < MIN_PERIOD_MS ? 0 : round(busy, 3),
      };
      delays.reset();
      usage = process.cpuUsage();
      measuredAt = performance.now();
      utilization = performance.eventLoopUtilization();
      return {
        memory: { rss, heapUsed, heapLimit },
        cpu: elapsedMs < MIN_PERIOD_MS ? 0 : round((user + system) / 1000 / elapsedMs, 3),
        eventLoop,
      };
    },
    stop: () => void delays.disable(),
  };
}
