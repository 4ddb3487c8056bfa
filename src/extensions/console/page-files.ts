import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { RequestHandler } from 'express';
import type { Route } from '../../declare/route.ts';
import { memoizeAsync, prepareContent, sendContent } from '../../platform/http/served-bytes.ts';

const FOLDER = new URL('./page/', import.meta.url);

// No inline scripts or styles. Notifications may show images of any origin.
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' https:",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'Cache-Control': 'no-cache',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

const CONTENT_TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.js': 'text/javascript; charset=utf-8',
};

/**
 * Serves the pages and their assets: the files of `page/` and its folders, each read on its first request.
 *
 * @param pages the paths of the pages, by file name: `mails.html`, `jobs/index.html`
 * @param assets the path below which all other files are served
 */
export function pageFileRoutes(
  pages: Readonly<Record<string, string>>,
  assets: string,
  middleware: readonly RequestHandler[],
): Route[] {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) => extname(name) !== '');
  return files.map((name) => {
    const getPreparedFile = memoizeAsync(async () =>
      prepareContent(CONTENT_TYPES[extname(name)]!, await readFile(new URL(name, FOLDER)), HEADERS),
    );
    return {
      method: 'GET',
      path: pages[name] ?? `${assets}/${name}`,
      policy: 'public',
      middleware,
      async handler({ req, res }) {
        sendContent(req, res, await getPreparedFile());
      },
    };
  });
}
