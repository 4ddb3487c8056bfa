import { defineExtension, type Extension } from '../../declare/extension.ts';
import { StartupError } from '../../platform/config/environment.ts';
import { createDevelopmentAccess, requireSameOrigin, requireThisMachine } from './access.ts';
import type { ConsoleTab } from './data/app-info.ts';
import { createDataContext } from './data/context.ts';
import { dataRoutes } from './data/routes.ts';
import { jobRoutes } from './jobs.ts';
import { createLiveUpdates } from './live.ts';
import { mailPreviewRoutes } from './mails.ts';
import { pageFileRoutes } from './page-files.ts';
import { consoleRoutes } from './push/routes.ts';
import { createStateReader } from './push/state.ts';

const HOME = '/console';
const API_PATH = `${HOME}/api`;
const DATA_PATH = `${HOME}/data`;
const PATH = `${HOME}/push`;
const MAILS_PATH = `${HOME}/mails`;
const JOBS_PATH = `${HOME}/jobs`;

const TABS: readonly ConsoleTab[] = [
  { id: 'data', label: 'Data', path: `${HOME}/data` },
  { id: 'push', label: 'Push', path: PATH },
  { id: 'mails', label: 'Mails', path: MAILS_PATH },
  { id: 'jobs', label: 'Jobs', path: JOBS_PATH },
];

/** In-process events after which the console page's data is read again. */
const EVENTS = ['push.sent', 'push.failed', 'push.receipt', 'push.opened', 'push.simulated'];

/**
 * The developer's console: a browser for the records of the app, a page at `/console/push` with a phone for each simulated device, and the
 * newest pushes, a page at `/console/mails` with all e-mails of the app, and a page at `/console/jobs` with its background jobs and
 * schedules. `/console` redirects to the first page. In production the extension adds nothing.
 *
 * @example createApp({ resources, extensions: [developerConsole()] }, process.env)
 */
export function developerConsole(): Extension<'console'> {
  return defineExtension({
    name: 'console',
    setup(host) {
      const { users, simulated } = host;
      if (users === undefined) {
        throw new StartupError('developerConsole() cannot work:', [
          'devices belong to users; declare a user resource with defineUser()',
        ]);
      }
      // Simulated devices do not exist in production.
      if (simulated === undefined) return {};
      const live = createLiveUpdates(createStateReader(host, users, simulated), host.log);
      const liveJobs = createLiveUpdates(host.readJobOverview, host.log);
      const middleware = [requireThisMachine, requireSameOrigin(host.env.appUrl)];
      const access = createDevelopmentAccess(middleware);
      const data = createDataContext(host, users, 'development');
      return {
        pages: [
          { method: 'GET', path: HOME, policy: 'public', middleware, handler: ({ res }) => res.redirect(DATA_PATH) },
          ...pageFileRoutes({
            tabs: [DATA_PATH],
            standalone: {
              'pages/push.html': PATH,
              'pages/mails.html': MAILS_PATH,
              'pages/jobs/index.html': JOBS_PATH,
            },
            middleware,
          }),
          ...dataRoutes(API_PATH, data, { access, tabs: TABS }),
          ...consoleRoutes(PATH, { simulated, push: host.push, live, middleware }),
          ...mailPreviewRoutes(MAILS_PATH, { host, middleware }),
          ...jobRoutes(JOBS_PATH, { host, live: liveJobs, middleware }),
        ],
        listeners: Object.fromEntries(EVENTS.map((name) => [name, () => live.refreshStreams()])),
        // The server waits for open streams when it stops, so they must end here.
        workers: {
          web: () => ({
            async stop() {
              await Promise.all([live.stop(), liveJobs.stop()]);
            },
          }),
        },
      };
    },
  });
}
