import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { createPerRequestStore } from '../../platform/http/per-request.ts';
import { identityOf } from '../../platform/http/request-context.ts';
import { type Logger, redactTokens } from '../../platform/observability/log.ts';
import { startTimer, type WorkLine } from '../../platform/observability/log-work.ts';

const MAX_PATH_LENGTH = 1000;

/** Returns a request's path with tokens redacted, without its query. It may contain personal data: for audit events, not for the log. */
export function redactedPathOf(req: IncomingMessage): string {
  const path = ((req as { originalUrl?: string }).originalUrl ?? req.url ?? '').split('?', 1)[0]!;
  // Cut twice: redacting first keeps a token at the cut from being recorded in part, and a very long path must stay cheap.
  return redactTokens(path.slice(0, 2 * MAX_PATH_LENGTH)).slice(0, MAX_PATH_LENGTH);
}

const routePatterns = createPerRequestStore<string>('route pattern');

/** Creates the handler that records which route a request matched, for its log line. */
export function createRouteRecorder(path: string): RequestHandler {
  return (req, _res, next) => {
    routePatterns.set(req, req.baseUrl + path);
    next();
  };
}

/**
 * Logs one line per request when its response is sent or its connection is lost. `route` is the pattern (`/api/posts/:id`), never the
 * path, and is omitted if no route matched. Lines of signed-in requests also have `userId`, `via` and `credential` (the id of the session
 * or API key).
 */
export function logRequestWhenDone(log: Logger, req: IncomingMessage, res: ServerResponse, requestId: string): void {
  // Health checks arrive every few seconds and are not worth logging.
  if (!log.isLevelEnabled('info') || req.url === '/healthz' || req.url === '/readyz') return;
  const duration = startTimer();
  res.once('close', () => {
    const { userId, via, id: credential } = identityOf(req) ?? {};
    const line: WorkLine = {
      outcome: res.writableFinished ? 'sent' : 'aborted',
      requestId,
      method: req.method,
      route: routePatterns.get(req),
      status: res.writableFinished ? res.statusCode : undefined,
      durationMs: duration(),
      userId,
      via,
      credential,
    };
    log.info(line, 'request');
  });
}
