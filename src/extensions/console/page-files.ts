import { readFile } from 'node:fs/promises';
import type { RequestHandler } from 'express';
import type { Route } from '../../declare/route.ts';
import { createModulePage, type PageSources, type ServedFile } from '../../platform/http/module-pages.ts';
import { memoizeAsync, prepareContent, sendContent } from '../../platform/http/served-bytes.ts';

const FOLDER = new URL('./page/', import.meta.url);
const ASSETS = '/console/assets';
/** The folder in `page/` of the pages that are not part of the application. */
const STANDALONE = 'pages/';

const STANDALONE_HEADERS = {
  'Cache-Control': 'no-cache',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
  // No inline scripts or styles. Notifications may show images of any origin, and e-mails are shown in frames.
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' https:",
    "connect-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
};

/**
 * Serves the application at the paths of its tabs, the other pages, and all assets: the files of `page/` and the modules of packages that
 * the application imports. Each file is read on its first request.
 *
 * @param assets the files of tabs that features add
 * @param tabs the paths of the application's tabs, such as `/console/data`. Every path below a tab is a page of the application, too
 * @param sources what the pages may show besides their own files
 * @param standalone the paths of the pages that are not part of the application, by file name: `pages/mails.html`
 */
export function pageFileRoutes({
  tabs,
  assets: tabAssets,
  sources,
  standalone,
  middleware,
}: {
  tabs: readonly string[];
  assets: readonly ServedFile[];
  sources?: PageSources;
  standalone: Readonly<Record<string, string>>;
  middleware: readonly RequestHandler[];
}): Route[] {
  const hasStandalonePages = Object.keys(standalone).length > 0;
  const { getPage, assets } = createModulePage({
    folder: FOLDER,
    assets: ASSETS,
    sources,
    names: { 'belfry/console': 'kit.js' },
    includes: (name) => !name.endsWith('.html') && (hasStandalonePages || !name.startsWith(STANDALONE)),
    preloads: (name) => !name.startsWith(STANDALONE),
  });
  const createRoute = ({ path, getContent }: ServedFile): Route => ({
    method: 'GET',
    path,
    policy: 'public',
    middleware,
    async handler({ req, res }) {
      sendContent(req, res, await getContent());
    },
  });
  const tabPages = tabs.flatMap((path) => [path, `${path}/*page`]).map((path) => ({ path, getContent: getPage }));
  const standalonePages = Object.entries(standalone).map(([name, path]) => ({
    path,
    getContent: memoizeAsync(async () =>
      prepareContent('text/html; charset=utf-8', await readFile(new URL(name, FOLDER)), STANDALONE_HEADERS),
    ),
  }));
  return [...tabPages, ...standalonePages, ...assets, ...tabAssets].map(createRoute);
}
