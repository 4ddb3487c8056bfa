import { isIP } from 'node:net';
import type { Request, RequestHandler } from 'express';
import { ApiError } from '../../platform/errors.ts';

/**
 * Whether a page may have been sent here by this name. A name of somebody else's may be made to point to this machine (DNS rebinding),
 * and then the browser takes their page for one of this origin; an address cannot.
 */
function isOwnName(host: string, own: string | undefined): boolean {
  if (host === own) return true;
  if (!URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  return (
    hostname === 'localhost' || hostname.endsWith('.localhost') || isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0
  );
}

/** Whether a person opens the page: by the address bar, or by a link that may stand anywhere. */
function isNavigation({ method, headers }: Request): boolean {
  return method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}

/**
 * Refuses what pages of other origins ask for, reads and scripts included: nobody signs in here, so the browser is all that keeps them
 * out.
 *
 * @param appUrl a URL under whose host the app is known, besides localhost and addresses
 */
export function sameOriginOnly(appUrl: string | undefined): RequestHandler {
  const own = appUrl === undefined ? undefined : new URL(appUrl).host;
  return (req, _res, next) => {
    const { host = '', origin, 'sec-fetch-site': site } = req.headers;
    if (!isOwnName(host, own)) {
      throw new ApiError('FORBIDDEN', 'The console is served at localhost, at an address, or at APP_URL');
    }
    const foreign = site !== undefined && site !== 'same-origin' && site !== 'none' && !isNavigation(req);
    const elsewhere = origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host);
    if (foreign || elsewhere) throw new ApiError('FORBIDDEN', 'The console is for its own page');
    next();
  };
}
