import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { isId } from '../../platform/helpers/ids.ts';
import { createPerRequestStore } from '../../platform/http/per-request.ts';
import { setTraceIds } from '../../platform/http/request-context.ts';
import type { Tracing } from '../../platform/observability/tracing.ts';
import { isMonitoringUrl, routePatternOf } from './request-log.ts';

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Ends the span of a request. `status`: of the response; undefined if the client left before the response was sent. */
type EndSpan = (status: number | undefined) => void;

const spanEnds = createPerRequestStore<EndSpan>('end of span');

/**
 * Ends the span of a request whose handler sends the response itself, such as an event stream: the stream may stay open for hours, and its
 * timers do not belong to the request.
 */
export function endRequestSpan(req: IncomingMessage, status: number): void {
  spanEnds.get(req)?.(status);
}

/**
 * Returns the part of a request's path that is safe to record: the pattern of its route, with the ids of records filled in. Other
 * parameters may be tokens or personal data. Undefined if no route matched.
 */
function safePathOf(pattern: string | undefined, path: string): string | undefined {
  const segments = path.split('/');
  return pattern
    ?.split('/')
    .map((part, i) => (part.startsWith(':') && isId(segments[i]) ? segments[i] : part))
    .join('/');
}

/** Creates the handler that records a span for each request. The span is active in everything that the request runs. */
export function createRequestTracer(tracing: Tracing): RequestHandler {
  return (req, res, next) => {
    if (isMonitoringUrl(req.url)) {
      next();
      return;
    }
    const method = METHODS.has(req.method) ? req.method : '_OTHER';
    const name = method === '_OTHER' ? 'HTTP' : method;
    const attributes = { 'http.request.method': method, 'url.scheme': req.protocol };
    const span = tracing.startRequestSpan(req.headers, { name, kind: 'server', attributes });
    if (span === undefined) {
      next();
      return;
    }
    let hasEnded = false;
    const end: EndSpan = (status) => {
      if (hasEnded) return;
      hasEnded = true;
      const route = routePatternOf(req);
      if (route !== undefined) span.rename(`${name} ${route}`);
      const failure = status === undefined ? 'aborted' : String(status);
      span.end({
        error: status === undefined || status >= 500 ? failure : undefined,
        attributes: {
          'http.route': route,
          'url.path': safePathOf(route, req.originalUrl.split('?', 1)[0]!),
          'http.response.status_code': status,
        },
      });
    };
    setTraceIds(req, span.logFields);
    spanEnds.set(req, end);
    res.once('close', () => end(res.writableFinished ? res.statusCode : undefined));
    span.run(next);
  };
}
