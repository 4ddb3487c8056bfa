import type { RequestHandler } from 'express';
import {
  ApiError,
  createModulePage,
  type PageSources,
  type Route,
  type ServedFile,
  sendContent,
} from '../../extension/index.ts';

const FOLDER = new URL('./page/', import.meta.url);
const ASSETS = '/console/assets';

/**
 * Serves the application at the paths of its tabs, and all assets: the files of `page/` and of the tabs, and the modules of packages that the
 * application imports. Each file is read on its first request.
 *
 * @param assets the files of tabs that features add
 * @param tabs the paths of the application's tabs, such as `/console/data`. Every path below a tab is a page of the application, too
 * @param sources what the pages may show besides their own files
 */
export function pageFileRoutes({
  tabs,
  assets: tabAssets,
  sources,
  middleware,
}: {
  tabs: readonly string[];
  assets: readonly ServedFile[];
  sources?: PageSources;
  middleware: readonly RequestHandler[];
}): Route[] {
  const { getPage, assets } = createModulePage({
    folder: FOLDER,
    assets: ASSETS,
    sources,
    names: { 'belfry/console': 'kit.js' },
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
  return [...[...tabPages, ...assets, ...tabAssets].map(createRoute), unknownTab];
}
