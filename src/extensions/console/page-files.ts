import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { RequestHandler } from 'express';
import type { Route } from '../../declare/route.ts';
import { memoizeAsync, prepareContent, type ServedContent, sendContent } from '../../platform/http/served-bytes.ts';

const FOLDER = new URL('./page/', import.meta.url);
const SHELL = 'index.html';
const ASSETS = '/console/assets';
/** The folder in `page/` of the pages that are not part of the application. */
const STANDALONE = 'pages/';

/** A dependency of `@preact/signals`, which Belfry does not depend on itself. */
const SIGNALS_CORE = '@preact/signals-core';

/** The modules of packages that the application imports: returns the URL of the file, by the name in the imports. */
const VENDOR_MODULES: Readonly<Record<string, () => URL>> = {
  preact: () => new URL(import.meta.resolve('preact')),
  'preact/hooks': () => new URL(import.meta.resolve('preact/hooks')),
  htm: () => new URL(import.meta.resolve('htm')),
  'htm/preact': () => new URL(import.meta.resolve('htm/preact')),
  '@preact/signals': () => new URL(import.meta.resolve('@preact/signals')),
  [SIGNALS_CORE]: () => {
    const packageFile = findPackageJSON(SIGNALS_CORE, import.meta.resolve('@preact/signals'))!;
    return new URL('dist/signals-core.mjs', pathToFileURL(packageFile));
  },
};

const vendorPath = (name: string) => `${ASSETS}/vendor/${name}.js`;

const SHARED_HEADERS = {
  // Browsers ask whether a file has changed, so that a deployment never mixes old and new modules for long.
  'Cache-Control': 'no-cache',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

const CONTENT_TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.js': 'text/javascript; charset=utf-8',
};

/** The headers of a page. No page runs inline scripts or inline styles, except for the script with the given hash. */
function pageHeaders({ images, frames, scriptHash }: { images: string; frames: string; scriptHash?: string }) {
  const policy = [
    "default-src 'none'",
    `script-src 'self'${scriptHash === undefined ? '' : ` 'sha256-${scriptHash}'`}`,
    "style-src 'self'",
    `img-src ${images}`,
    "connect-src 'self'",
    `frame-src ${frames}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    // Scripts cannot assign texts where the browser would parse HTML or run code.
    ...(scriptHash === undefined ? [] : ["require-trusted-types-for 'script'", "trusted-types 'none'"]),
  ];
  return { ...SHARED_HEADERS, 'Content-Security-Policy': policy.join('; ') };
}

const STANDALONE_HEADERS = pageHeaders({ images: "'self' https:", frames: "'self'" });

/** Fills the shell with the import map, and lets the browser load all modules at once instead of import by import. */
async function prepareShell(modules: readonly string[]): Promise<ServedContent> {
  const shell = await readFile(new URL(SHELL, FOLDER), 'utf8');
  const names = Object.keys(VENDOR_MODULES);
  const importMap = JSON.stringify({ imports: Object.fromEntries(names.map((name) => [name, vendorPath(name)])) });
  const paths = [...names.map(vendorPath), ...modules.map((name) => `${ASSETS}/${name}`)];
  const html = shell
    .replace('"$importMap$"', () => importMap)
    .replace('$preloads$', () => paths.map((path) => `<link rel="modulepreload" href="${path}">`).join('\n'));
  const scriptHash = createHash('sha256').update(importMap).digest('base64');
  const headers = {
    ...pageHeaders({ images: "'self' data:", frames: "'none'", scriptHash }),
    'Cross-Origin-Opener-Policy': 'same-origin',
  };
  return prepareContent(CONTENT_TYPES['.html']!, Buffer.from(html), headers);
}

/**
 * Serves the application at the paths of its tabs, the other pages, and all assets: the files of `page/` and the modules of packages that
 * the application imports. Each file is read on its first request.
 *
 * @param tabs the paths of the application's tabs, such as `/console/data`. Every path below a tab is a page of the application, too
 * @param standalone the paths of the pages that are not part of the application, by file name: `pages/mails.html`
 */
export function pageFileRoutes({
  tabs,
  standalone,
  middleware,
}: {
  tabs: readonly string[];
  standalone: Readonly<Record<string, string>>;
  middleware: readonly RequestHandler[];
}): Route[] {
  const createRoute = (path: string, read: () => Promise<ServedContent>): Route => {
    const getContent = memoizeAsync(read);
    return {
      method: 'GET',
      path,
      policy: 'public',
      middleware,
      async handler({ req, res }) {
        sendContent(req, res, await getContent());
      },
    };
  };
  const hasStandalonePages = Object.keys(standalone).length > 0;
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((name) => extname(name) !== '' && name !== SHELL)
    .filter((name) => hasStandalonePages || !name.startsWith(STANDALONE));
  const modules = files.filter((name) => name.endsWith('.js') && !name.startsWith(STANDALONE));
  const getShell = memoizeAsync(() => prepareShell(modules));
  return [
    ...tabs.flatMap((path) => [createRoute(path, getShell), createRoute(`${path}/*page`, getShell)]),
    ...files.map((name) =>
      createRoute(standalone[name] ?? `${ASSETS}/${name}`, async () =>
        prepareContent(
          CONTENT_TYPES[extname(name)]!,
          await readFile(new URL(name, FOLDER)),
          name.endsWith('.html') ? STANDALONE_HEADERS : SHARED_HEADERS,
        ),
      ),
    ),
    ...Object.entries(VENDOR_MODULES).map(([name, locate]) =>
      createRoute(vendorPath(name), async () =>
        prepareContent(CONTENT_TYPES['.js']!, await readFile(locate()), SHARED_HEADERS),
      ),
    ),
  ];
}
