import { defineExtension, type Extension } from '../../declare/extension.ts';
import { StartupError } from '../../platform/config/environment.ts';
import { requireSameOrigin, requireThisMachine } from './guards.ts';
import { jobRoutes } from './jobs.ts';
import { createLiveUpdates } from './live.ts';
import { mailPreviewRoutes } from './mails.ts';
import { pageFileRoutes } from './page-files.ts';
import { consoleRoutes } from './routes.ts';
import { createStateReader } from './state.ts';

const HOME = '/console';
const DATA_PATH = `${HOME}/data`;
const PATH = `${HOME}/push`;
const MAILS_PATH = `${HOME}/mails`;
const JOBS_PATH = `${HOME}/jobs`;

/** In-process events after which the console page's data is read again. */
const EVENTS = ['push.sent', 'push.failed', 'push.receipt', 'push.opened', 'push.simulated'];

/**
 * The developer's console: a page at `/console/push` with a phone for each simulated device, and the newest pushes, a page at
 * `/console/mails` with all e-mails of the app, and a page at `/console/jobs` with its background jobs and schedules. `/console` redirects
 * to the first. In production the extension adds nothing.
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
