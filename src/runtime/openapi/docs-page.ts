import { readFile } from 'node:fs/promises';
import { escapeHtml } from '../../platform/helpers/escape-html.ts';
import { memoizeAsync, prepareContent, type ServedContent } from '../../platform/http/served-bytes.ts';

// The page loads everything from this server, and nothing is inline. swagger-ui draws its icons from data: URLs.
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const PAGE_HEADERS = {
  'Content-Security-Policy': POLICY,
  'Cache-Control': 'no-cache',
  'Referrer-Policy': 'no-referrer',
};
const ASSET_HEADERS = { 'Cache-Control': 'public, max-age=3600' };

const JAVASCRIPT = 'text/javascript; charset=utf-8';
const FROM_PACKAGE: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': JAVASCRIPT,
  'favicon-32x32.png': 'image/png',
};

// The OpenAPI document is next to the page. A token that a user pastes is forgotten when the page is closed.
const START_SCRIPT = `SwaggerUIBundle({
  url: new URL('openapi.json', location.href).href,
  dom_id: '#reference',
  deepLinking: true,
  validatorUrl: 'none',
  persistAuthorization: false,
  displayRequestDuration: true,
  tagsSorter: 'alpha',
});
`;

function renderDocsPage(title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" type="image/png" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<noscript>This page requires JavaScript. The OpenAPI document: <a href="openapi.json">openapi.json</a></noscript>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;
}

/** Creates the reference page and the files that it loads, by path below `/api`. Each file is prepared at its first request. */
export function createDocsFiles(title: string): Map<string, () => Promise<ServedContent>> {
  const createTextFile = (type: string, content: string, headers: Record<string, string>) =>
    memoizeAsync(() => prepareContent(type, Buffer.from(content), headers));
  const packaged = Object.entries(FROM_PACKAGE).map(([name, type]) => {
    const readPackagedFile = async () => {
      const file = new URL(name, import.meta.resolve('swagger-ui-dist/package.json'));
      return prepareContent(type, await readFile(file), ASSET_HEADERS);
    };
    return [`/docs/${name}`, memoizeAsync(readPackagedFile)] as const;
  });
  return new Map([
    ['/docs', createTextFile('text/html; charset=utf-8', renderDocsPage(title), PAGE_HEADERS)],
    ['/docs/start.js', createTextFile(JAVASCRIPT, START_SCRIPT, ASSET_HEADERS)],
    ...packaged,
  ]);
}
