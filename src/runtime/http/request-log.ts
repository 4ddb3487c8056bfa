import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Auth } from '../../declare/route.ts';
import type { Logger } from '../../platform/log.ts';

const identities = new WeakMap<IncomingMessage, Auth>();

/** Notes who a request was signed in as, for its line in the log. */
export function setIdentity(req: IncomingMessage, auth: Auth | undefined): void {
  if (auth !== undefined) identities.set(req, auth);
}

/**
 * One line a request, when it is answered or broken off: method, path without its query (values may be personal), status,
 * duration, who.
 */
export function logRequest(log: Logger, req: IncomingMessage, res: ServerResponse, requestId: string): void {
  // The probes of a platform come every few seconds and tell nothing.
  if (!log.isLevelEnabled('info') || req.url === '/healthz' || req.url === '/readyz') return;
  const started = performance.now();
  res.once('close', () => {
    const auth = identities.get(req);
    log.info(
      {
        requestId,
        method: req.method,
        path: (req as { originalUrl?: string }).originalUrl?.split('?', 1)[0] ?? req.url,
        status: res.writableFinished ? res.statusCode : 'broken off',
        ms: Math.round((performance.now() - started) * 10) / 10,
        ...(auth === undefined ? {} : { via: auth.via, as: auth.id }),
      },
      'request',
    );
  });
}
