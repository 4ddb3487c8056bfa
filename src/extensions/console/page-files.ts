import type { RequestHandler } from 'express';
import { ApiError, type Route, sendContent } from '../../extension/index.ts';
import type { BuiltPage, ServedFile } from '../../platform/http/built-pages.ts';

/** Where the scripts and stylesheets of the application are. */
export const ASSETS = '/console/assets';

/**
 * Serves the application at the paths of its tabs, and its files. Each file is read on its first request.
 *
 * @param page the application
 * @param assets the files of tabs that features outside of Belfry add
 * @param tabs the paths of the application's tabs, such as `/console/data`. Every path below a tab is a page of the application, too
 */
export function pageFileRoutes({
  page: { getPage, getAsset },
  tabs,
  assets,
  middleware,
}: {
  page: BuiltPage;
  tabs: readonly string[];
  assets: readonly ServedFile[];
  middleware: readonly RequestHandler[];
}): Route[] {
  const createRoute = ({ path, getContent }: ServedFile): Route => ({
    method: 'GET',
    path,
    policy: 'public',
    middleware,
    async handler({ req, res }) {
      sendContent(req, res, await getContent());
    },
  });
  const ownAssets: Route = {
    method: 'GET',
    path: `${ASSETS}/:file`,
    policy: 'public',
    middleware,
    async handler({ req, res, params }) {
      const content = await getAsset(params.file!);
      if (content === undefined) throw new ApiError('NOT_FOUND');
      sendContent(req, res, content);
    },
  };
  /** The application says that there is no such tab. */
  const unknownTab: Route = {
    method: 'GET',
    path: '/console/:tab',
    policy: 'public',
    middleware,
    async handler({ req, res, params }) {
      if (!/^[a-z-]+$/.test(params.tab!)) throw new ApiError('NOT_FOUND');
      res.status(404);
      sendContent(req, res, await getPage());
    },
  };
  const tabPages = tabs.flatMap((path) => [path, `${path}/*page`]).map((path) => ({ path, getContent: getPage }));
  return [...[...tabPages, ...assets].map(createRoute), ownAssets, unknownTab];
}
