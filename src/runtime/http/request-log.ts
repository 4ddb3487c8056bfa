import type { IncomingMessage, ServerResponse } from 'node:http';
import { isId } from '../../platform/helpers/ids.ts';
import { createPerRequestStore } from '../../platform/http/per-request.ts';
import { describeIdentity, getRequestId, getTraceIds } from '../../platform/http/request-context.ts';
import { type Logger, redactTokens } from '../../platform/observability/log.ts';
import type { WorkLine } from '../../platform/observability/log-work.ts';
import { getDeprecatedNames } from './deprecation/uses.ts';

const MAX_PATH_LENGTH = 1000;

/** The path of a request, without its query. */
const pathOf = (req: IncomingMessage) =>
  ((req as { originalUrl?: string }).originalUrl ?? req.url ?? '').split('?', 1)[0]!;

/** Returns a request's path with tokens redacted, without its query. It may contain personal data: for audit events, not for the log. */
export function redactPath(req: IncomingMessage): string {
  const path = pathOf(req);
  // Cut twice: redacting first keeps a token at the cut from being recorded in part, and a very long path must stay cheap.
  return redactTokens(path.slice(0, 2 * MAX_PATH_LENGTH)).slice(0, MAX_PATH_LENGTH);
}

const routePatterns = createPerRequestStore<string>('route pattern');

/** The pattern of the route that a request matched; undefined if it matched none. */
export function routePatternOf(req: IncomingMessage): string | undefined {
  return routePatterns.get(req);
}

const MONITORING_URL = /^\/(?:healthz|readyz|metrics)(?:\?|$)/;

/** Whether a request is one for health or metrics. Such requests arrive every few seconds and are not worth logging or counting. */
export function isMonitoringUrl(url: string): boolean {
  return MONITORING_URL.test(url);
}

const CONSOLE_PATH = /^\/console(?:[/?]|$)/i;

/**
 * Whether a request is one to the console or its webhook receiver. The load of the app and its slow work are shown without such requests, because
 * an open page of the console sends several every few seconds.
 */
export function isConsoleRequest(req: IncomingMessage): boolean {
  return CONSOLE_PATH.test((req as { originalUrl?: string }).originalUrl ?? req.url ?? '');
}

/** Records which route a request matched, for its log line and the metrics. @param pattern with the prefix of the API */
export function setRoutePattern(req: IncomingMessage, pattern: string): void {
  routePatterns.set(req, pattern);
}

/** The parameter of a path that names a record: `/api/posts/:id`. */
const RECORD = ':id';

/** Returns the id of the record in the path of a request. Other parts of a path may be secret or personal, so they are not logged. */
function recordIdOf(req: IncomingMessage, pattern: string | undefined): string | undefined {
  if (!pattern?.includes(RECORD)) return undefined;
  const id = pathOf(req).split('/')[pattern.split('/').indexOf(RECORD)];
  return isId(id) ? id : undefined;
}

/**
 * Logs the line of a request whose response is sent or whose connection is lost. `route` is the pattern (`/api/posts/:id`), never the
 * path, and is omitted if no route matched. `record` is the id of the record in the path. Lines of signed-in requests also have `userId` (or `organisation`, if it acts itself),
 * `via` and `credential` (the id of the session or API key). Lines of requests that use something deprecated have its names as `deprecated`.
 */
export function logRequest(log: Logger, req: IncomingMessage, res: ServerResponse, ms: number): void {
  const { userId, organisation, via, credential } = describeIdentity(req);
  const route = routePatternOf(req);
  const line: WorkLine = {
    outcome: res.writableFinished ? 'sent' : 'aborted',
    requestId: getRequestId(req),
    ...getTraceIds(req),
    method: req.method,
    route,
    record: recordIdOf(req, route),
    status: res.writableFinished ? res.statusCode : undefined,
    durationMs: Math.round(ms),
    userId,
    organisation,
    via,
    credential,
    deprecated: getDeprecatedNames(req),
  };
  log.info(line, 'request');
}
