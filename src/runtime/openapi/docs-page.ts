import type { Route } from '../../declare/route.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { escapeHtml } from '../../platform/helpers/escape-html.ts';
import { createBuiltPage } from '../../platform/http/built-pages.ts';
import { type ServedContent, sendContent } from '../../platform/http/served-bytes.ts';

/** The reference at `GET /api/docs`. Every path below is the same page, which shows the operation that the path names. */
export function docsPageRoutes(title: string): Route[] {
  const { getPage, getAsset } = createBuiltPage({
    page: 'reference',
    assets: '/api/docs/assets',
    fill: () => ({ $title$: escapeHtml(title) }),
  });
  const createRoute = (path: string, find: (file: string) => Promise<ServedContent | undefined>): Route => ({
    method: 'GET',
    path,
    policy: 'public',
    hidden: true,
    async handler({ req, res, params }) {
      const content = await find(params.file ?? '');
      if (content === undefined) throw new ApiError('NOT_FOUND');
      sendContent(req, res, content);
    },
  });
  return [
    createRoute('/docs/assets/:file', getAsset),
    createRoute('/docs', getPage),
    createRoute('/docs/*page', getPage),
  ];
}
