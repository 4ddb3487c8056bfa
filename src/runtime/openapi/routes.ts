import type { Route } from '../../declare/route.ts';
import { onDemand, type ServedBytes, sendBytes, servedBytes } from '../../platform/http/served-bytes.ts';
import type { Settings } from '../../platform/settings.ts';
import { docsFiles } from './docs-page.ts';
import { createDocument, type DocumentParts } from './document.ts';

const DOCUMENT_HEADERS = { 'Cache-Control': 'no-cache' };

function route(path: string, ready: () => Promise<ServedBytes>): Route {
  return {
    method: 'GET',
    path,
    policy: 'public',
    hidden: true,
    async handler({ req, res }) {
      sendBytes(req, res, await ready());
    },
  };
}

/**
 * `GET /api/openapi.json`, and the reference at `GET /api/docs`.
 *
 * @param parts asked once, when the document is first wanted: by then all routes of the app are known
 */
export function openApiRoutes({ openapi }: Settings, parts: () => DocumentParts): Route[] {
  if (!openapi.enabled) return [];
  const document = onDemand(() =>
    servedBytes(
      'application/json; charset=utf-8',
      Buffer.from(JSON.stringify(createDocument(parts()))),
      DOCUMENT_HEADERS,
    ),
  );
  const docs = openapi.docs ? [...docsFiles(openapi.title)].map(([path, ready]) => route(path, ready)) : [];
  return [route('/openapi.json', document), ...docs];
}
