import type { IncomingMessage, ServerResponse } from 'node:http';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { getRequestId, getStatementStats, hasWaited } from '../../platform/http/request-context.ts';
import { redactTokens } from '../../platform/observability/log.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { ProcessRegistry } from '../../platform/work/processes/registry.ts';
import type { SlowLog } from '../../platform/work/processes/slow-log.ts';
import { isConsoleRequest, routePatternOf } from './request-log.ts';
import { createRequestWindow, type RequestTotals } from './request-window.ts';

/** Upper bounds of the histogram buckets in seconds. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const createBuckets = () => Array.from({ length: SECONDS.length + 1 }, () => 0);

/** The values of the label `status`, by the class of the status. */
const STATUS_CLASSES = ['aborted', '1xx', '2xx', '3xx', '4xx', '5xx', '6xx', '7xx', '8xx', '9xx'];

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** The requests of one method and route. */
interface Series {
  labels: { method: string; route: string };
  /** Number of requests by the class of their status; 0: aborted. */
  byStatus: number[];
  /** Number of requests in each bucket, and above the last one. */
  buckets: number[];
  sum: number;
  count: number;
}

/**
 * A histogram over series that the caller counts itself: adding to an array takes a fraction of the time of `Histogram.observe`, which
 * hashes the labels of each value.
 */
class SeriesHistogram extends Histogram<'method' | 'route'> {
  readonly #definition: { name: string; help: string };
  readonly #series: () => Iterable<Series>;

  constructor(registry: Registry, definition: { name: string; help: string }, series: () => Iterable<Series>) {
    super({ ...definition, labelNames: ['method', 'route'], buckets: SECONDS, registers: [registry] });
    this.#definition = definition;
    this.#series = series;
  }

  /** The registry calls this method for the text of a metric. */
  async getForPromString() {
    const { name } = this.#definition;
    const values = [...this.#series()].flatMap(({ labels, buckets, sum, count }) => {
      let below = 0;
      const bounds = SECONDS.map((le, i) => {
        below += buckets[i]!;
        return { metricName: `${name}_bucket`, labels: { ...labels, le }, sharedLabels: {}, value: below };
      });
      return [
        ...bounds,
        { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, sharedLabels: {}, value: count },
        { metricName: `${name}_sum`, labels, sharedLabels: {}, value: sum },
        { metricName: `${name}_count`, labels, sharedLabels: {}, value: count },
      ];
    });
    return { ...this.#definition, type: 'histogram', values, aggregator: 'sum' };
  }
}

const isEventStream = (res: ServerResponse) => String(res.getHeader('content-type')).startsWith('text/event-stream');

/** Adds a request that has ended to the slow log. */
function addSlowRequest(slowLog: SlowLog, req: IncomingMessage, res: ServerResponse, ms: number): void {
  const requestId = getRequestId(req);
  slowLog.addRequest({
    at: new Date().toISOString(),
    method: METHODS.has(req.method!) ? req.method! : 'other',
    route: routePatternOf(req) ?? null,
    status: res.writableFinished ? res.statusCode : null,
    ms: Math.round(ms),
    // Clients choose request ids, and some send a token by mistake.
    requestId: requestId === undefined ? null : redactTokens(requestId),
    ...getStatementStats(req),
  });
}

const createSeries = (method: string, route: string): Series => ({
  labels: { method, route },
  byStatus: Array.from({ length: STATUS_CLASSES.length }, () => 0),
  buckets: createBuckets(),
  sum: 0,
  count: 0,
});

/** The series of all methods and routes so far. */
interface SeriesTable {
  all: readonly Series[];
  /** Returns the series of a method and route. Its key is two strings, because a joined one would have to be hashed for each request. */
  seriesOf(method: string, route: string): Series;
}

function createSeriesTable(): SeriesTable {
  const all: Series[] = [];
  const byRoute = new Map<string, Map<string, Series>>();
  return {
    all,
    seriesOf(method, route) {
      const ofRoute = byRoute.get(route) ?? new Map<string, Series>();
      let series = ofRoute.get(method);
      if (series === undefined) {
        series = createSeries(method, route);
        all.push(series);
        byRoute.set(route, ofRoute.set(method, series));
      }
      return series;
    },
  };
}

function registerRequestMetrics(registry: Registry, allSeries: readonly Series[], readInFlight: () => number): void {
  const registers = [registry];
  new Counter({
    name: 'belfry_http_requests_total',
    help: 'Requests by method, route pattern and class of the status; "aborted" if the client left before the response was sent.',
    labelNames: ['method', 'route', 'status'],
    registers,
    collect() {
      this.reset();
      for (const { labels, byStatus } of allSeries)
        for (const [i, count] of byStatus.entries())
          if (count > 0) this.inc({ ...labels, status: STATUS_CLASSES[i]! }, count);
    },
  });
  new SeriesHistogram(
    registry,
    {
      name: 'belfry_http_request_seconds',
      help: 'Time from the start of a request until its response was sent, by method and route pattern; without event streams.',
    },
    () => allSeries,
  );
  new Gauge({
    name: 'belfry_http_requests_in_flight',
    help: 'Requests without a complete response, including open event streams.',
    registers,
    collect() {
      this.set(readInFlight());
    },
  });
}

/** The requests since the start, without those to the console. */
interface Totals extends RequestTotals {
  inFlight: number;
  buckets: number[];
}

/** Creates the totals, which the caller counts, and reports the counts of the last minutes. */
function reportTotals(processes: Pick<ProcessRegistry, 'report'>): Totals {
  const totals: Totals = { inFlight: 0, count: 0, failed: 0, seconds: 0, buckets: createBuckets() };
  const readTotals = (): RequestTotals => ({ ...totals, buckets: [...totals.buckets] });
  const readWindow = createRequestWindow(readTotals);
  processes.report('requests', () => ({ inFlight: totals.inFlight, bounds: SECONDS, ...readWindow() }));
  return totals;
}

/** Counts a request. Call it at the start of each; the returned function must be called once, when the request has ended. */
type RequestCounter = (req: IncomingMessage) => (res: ServerResponse, seconds: number) => void;

/**
 * Registers the metrics of HTTP requests, reports the requests of the last minutes, and adds slow ones to the slow log. The metrics include
 * requests to the console, the reports and the slow log do not.
 */
export function createRequestCounter({
  metrics: { registry },
  processes,
  slowLog,
}: {
  metrics: Metrics;
  processes: Pick<ProcessRegistry, 'report'>;
  slowLog: SlowLog;
}): RequestCounter {
  const table = createSeriesTable();
  const totals = reportTotals(processes);
  let inFlight = 0;
  registerRequestMetrics(registry, table.all, () => inFlight);

  return (req) => {
    const isCounted = !isConsoleRequest(req);
    inFlight += 1;
    if (isCounted) totals.inFlight += 1;
    return (res, seconds) => {
      inFlight -= 1;
      // Only patterns and known methods: clients must not be able to create series.
      const method = METHODS.has(req.method!) ? req.method! : 'other';
      const series = table.seriesOf(method, routePatternOf(req) ?? 'none');
      const statusClass = res.writableFinished ? Math.floor(res.statusCode / 100) : 0;
      series.byStatus[statusClass]! += 1;
      if (isCounted) {
        totals.inFlight -= 1;
        totals.count += 1;
        if (statusClass === 5) totals.failed += 1;
      }
      if (isEventStream(res) || hasWaited(req)) return;
      let bucket = 0;
      while (bucket < SECONDS.length && seconds > SECONDS[bucket]!) bucket += 1;
      series.buckets[bucket]! += 1;
      series.sum += seconds;
      series.count += 1;
      if (!isCounted) return;
      totals.buckets[bucket]! += 1;
      totals.seconds += seconds;
      if (seconds * 1000 >= slowLog.requestMs) addSlowRequest(slowLog, req, res, seconds * 1000);
    };
  };
}
