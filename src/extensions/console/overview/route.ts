import type { Route } from '../../../extension/index.ts';
import type { ConsoleAccess } from '../access/access.ts';
import { createSharedRead } from '../operations/shared-read.ts';
import { type OverviewSources, readOverview } from './overview.ts';

/** ms for which pages share the result of a read. */
const FRESH_MS = 1000;

/** The route of the overview, below `path`. */
export function overviewRoute(path: string, { route: access }: ConsoleAccess, sources: OverviewSources): Route {
  const read = createSharedRead(() => readOverview(sources), FRESH_MS);
  return {
    ...access,
    method: 'GET',
    path: `${path}/overview`,
    async handler({ req }) {
      const { text, members } = sources.data.host.languages.for(req);
      const overview = await read();
      return {
        ...overview,
        concerns: overview.concerns.map((concern) => members(concern, ['message'])),
        unread: overview.unread.map(text),
      };
    },
  };
}
