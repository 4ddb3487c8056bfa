import { createHash } from 'node:crypto';
import type { Route } from '../../declare/route.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { memoizeAsync, prepareContent, sendContent } from '../../platform/http/served-bytes.ts';

/** The links of the page. Links to pages that the app does not have are left out. */
const LINKS = [
  { path: '/api/docs', name: 'API reference', text: 'Every route of this app. Try calls in the browser.' },
  {
    path: '/console',
    name: 'Console',
    text: 'The records of this app, push notifications on simulated devices, all e-mails, and background jobs.',
  },
  {
    path: '/api/openapi.json',
    name: 'OpenAPI document',
    text: 'The description of the API for tools and typed clients.',
  },
];

const STYLE = `:root{color-scheme:light dark;--ink:#1d2129;--soft:#5b6472;--line:#d5dae3;--paper:#f5f6f9;--card:#fff;--accent:#2a4bc4}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaf0;--soft:#a4adbd;--line:#3a4150;--paper:#14171d;--card:#1d2129;--accent:#9db4ff}}
*{box-sizing:border-box}
body{max-width:640px;margin:0 auto;padding:48px 20px;font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
h1{margin:0;font-size:26px}
p{margin:4px 0 0;color:var(--soft)}
ul{display:grid;gap:12px;margin:28px 0;padding:0;list-style:none}
a{display:block;padding:14px 18px;border:1px solid var(--line);border-radius:12px;color:var(--ink);text-decoration:none;background:var(--card)}
a b{color:var(--accent)}
a:hover{border-color:var(--accent)}
a:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
code{font-size:14px;color:var(--soft);overflow-wrap:anywhere}`;

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = { 'Content-Security-Policy': POLICY, 'Cache-Control': 'no-cache', 'Referrer-Policy': 'no-referrer' };

function renderHomePage(links: typeof LINKS): string {
  const items = links.map(
    ({ path, name, text }) => `<li><a href="${path}"><b>${name}</b> <code>${path}</code><p>${text}</p></a></li>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Belfry in development</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Belfry is running</h1>
<p>This page exists in development only.</p>
<ul>
${items.join('\n')}
</ul>
<p>README.md has a quick start.</p>
</main>
</body>
</html>
`;
}

/**
 * Adds a page at `/` in development, with links to the API reference and the console. A client that does not accept HTML gets a 404, as
 * in production. An app with its own page at `/` keeps it.
 *
 * @param routes the routes whose paths get the prefix `/api`
 */
export function addHomePage(pages: readonly Route[], routes: readonly Route[]): readonly Route[] {
  if (pages.some(({ path }) => path === '/')) return pages;
  const paths = new Set([...routes.map(({ path }) => `/api${path}`), ...pages.map(({ path }) => path)]);
  const links = LINKS.filter(({ path }) => paths.has(path));
  const ready = memoizeAsync(() =>
    prepareContent('text/html; charset=utf-8', Buffer.from(renderHomePage(links)), HEADERS),
  );
  const home: Route = {
    method: 'GET',
    path: '/',
    policy: 'public',
    async handler({ req, res }) {
      res.vary('Accept');
      if (req.accepts('html') === false) throw new ApiError('NOT_FOUND');
      sendContent(req, res, await ready());
    },
  };
  return [...pages, home];
}
