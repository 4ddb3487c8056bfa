import type { IncomingMessage, ServerResponse } from 'node:http';
import { identityOf } from '../../platform/http/identity.ts';
import type { Logger } from '../../platform/log.ts';

// Sessions' tokens, API keys and what else begins like them: whoever puts one into a path by mistake must not find it in the log.
const TOKEN = /svc_\w+/gi;
const LONGEST_PATH = 1000;

/** The path of a request without its query: values may be personal. Tokens in it are left out. */
export function pathOf(req: IncomingMessage): string {
  const path = ((req as { originalUrl?: string }).originalUrl ?? req.url ?? '').split('?', 1)[0]!;
  return path.slice(0, LONGEST_PATH).replace(TOKEN, 'svc_[redacted]');
}

/**
 * One line a request, when it is answered or broken off: method, path, status, duration, who.
 */
export function logRequest(log: Logger, req: IncomingMessage, res: ServerResponse, requestId: string): void {
  // The probes of a platform come every few seconds and say nothing.
  if (!log.isLevelEnabled('info') || req.url === '/healthz' || req.url === '/readyz') return;
  const started = performance.now();
  res.once('close', () => {
    const auth = identityOf(req);
    log.info(
      {
        requestId,
        method: req.method,
        path: pathOf(req),
        status: res.writableFinished ? res.statusCode : 'broken off',
        ms: Math.round((performance.now() - started) * 10) / 10,
        ...(auth === undefined ? {} : { via: auth.via, as: auth.id }),
      },
      'request',
    );
  });
}
