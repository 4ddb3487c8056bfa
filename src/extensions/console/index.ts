import type { ConsoleTab } from '../../declare/console-tab.ts';
import { defineExtension, type Extension, type ExtensionHost, type FeatureParts } from '../../declare/extension.ts';
import type { ResourceGateway } from '../../declare/host.ts';
import type { Policy } from '../../declare/policy.ts';
import type { SimulatedDevices } from '../../declare/push.ts';
import type { Route } from '../../declare/route.ts';
import type { ConfigErrors } from '../../platform/config/config-errors.ts';
import { StartupError } from '../../platform/config/environment.ts';
import { declaredUserRoles, unknownRoleErrors } from '../../records/configuration/roles.ts';
import {
  type ConsoleAccess,
  createDevelopmentAccess,
  createProductionAccess,
  requireSameOrigin,
  requireThisMachine,
} from './access.ts';
import { createAccountsTab } from './accounts/tab.ts';
import { type ChangeFeed, createChangeFeed } from './data/changes.ts';
import { createDataContext, type DataContext } from './data/context.ts';
import { dataRoutes } from './data/routes.ts';
import { jobRoutes } from './jobs.ts';
import { createLiveUpdates } from './live.ts';
import { mailPreviewRoutes } from './mails.ts';
import { pageFileRoutes } from './page-files.ts';
import { consoleRoutes } from './push/routes.ts';
import { createStateReader } from './push/state.ts';
import { type ConsoleOptions, consoleSettings, productionPolicyOf } from './settings.ts';
import { checkTabs, serveTab, type TabLink } from './tabs.ts';

export type { ConsoleOptions } from './settings.ts';

const HOME = '/console';
const API_PATH = `${HOME}/api`;
const PATH = `${HOME}/push`;
const MAILS_PATH = `${HOME}/mails`;
const JOBS_PATH = `${HOME}/jobs`;

const DATA_TAB: TabLink = { id: 'data', label: 'Data', path: `${HOME}/data` };
/** Pages of the development console that are not part of the application. */
const STANDALONE_TABS: readonly TabLink[] = [
  { id: 'push', label: 'Push', path: PATH },
  { id: 'mails', label: 'E-mails', path: MAILS_PATH },
  { id: 'jobs', label: 'Jobs', path: JOBS_PATH },
];

const STANDALONE_PAGES = {
  'pages/push.html': PATH,
  'pages/mails.html': MAILS_PATH,
  'pages/jobs/index.html': JOBS_PATH,
};

const HOME_ROUTE: Route = {
  method: 'GET',
  path: HOME,
  policy: 'public',
  handler: ({ res }) => res.redirect(DATA_TAB.path),
};

/** In-process events after which the page of the push simulator is read again. */
const PUSH_EVENTS = ['push.sent', 'push.failed', 'push.receipt', 'push.opened', 'push.simulated'];

/** The application: its files, the data browser and the tabs that features add. Further links lead to pages that stand alone. */
interface Application {
  host: ExtensionHost;
  data: DataContext;
  access: ConsoleAccess;
  feed: ChangeFeed;
  standalone?: { links: readonly TabLink[]; files: Readonly<Record<string, string>> };
}

/** Returns the routes of the application. `errors` receives tabs that cannot be served. */
function applicationRoutes({ host, data, access, feed, standalone }: Application, errors: ConfigErrors): Route[] {
  const isOffered = ({ onlyInDevelopment }: ConsoleTab) => data.mode === 'development' || onlyInDevelopment !== true;
  const accounts = createAccountsTab(host, data.users, errors);
  const tabs = checkTabs([accounts, ...host.consoleTabs()].filter(isOffered), errors).map((tab) =>
    serveTab(tab, access, host, data.mode),
  );
  const links = [DATA_TAB, ...tabs.map(({ link }) => link)];
  return [
    { ...HOME_ROUTE, middleware: access.fileGuards },
    ...pageFileRoutes({
      tabs: links.map(({ path }) => path),
      assets: tabs.flatMap(({ assets }) => assets),
      standalone: standalone?.files ?? {},
      middleware: access.fileGuards,
    }),
    ...dataRoutes(API_PATH, data, { access, tabs: [...links, ...(standalone?.links ?? [])], feed }),
    ...tabs.flatMap(({ routes }) => routes),
  ];
}

/** The console of a development machine: all tabs, without a sign-in. */
function createDevelopmentParts(
  host: ExtensionHost,
  users: ResourceGateway,
  simulated: SimulatedDevices,
): FeatureParts {
  const live = createLiveUpdates(createStateReader(host, users, simulated), host.log);
  const liveJobs = createLiveUpdates(host.readJobOverview, host.log);
  const middleware = [requireThisMachine, requireSameOrigin(host.env.appUrl)];
  const access = createDevelopmentAccess(middleware);
  const data = createDataContext(host, users, 'development');
  const feed = createChangeFeed(host, access);
  return {
    pages: [
      ...consoleRoutes(PATH, { simulated, push: host.push, live, middleware }),
      ...mailPreviewRoutes(MAILS_PATH, { host, middleware }),
      ...jobRoutes(JOBS_PATH, { host, live: liveJobs, middleware }),
    ],
    dependentPages: (errors) =>
      applicationRoutes(
        { host, data, access, feed, standalone: { links: STANDALONE_TABS, files: STANDALONE_PAGES } },
        errors,
      ),
    listeners: { ...feed.listeners, ...Object.fromEntries(PUSH_EVENTS.map((name) => [name, live.refreshStreams])) },
    // The server waits for open streams when it stops, so they must end here.
    workers: {
      web: () => ({
        async stop() {
          await Promise.all([live.stop(), liveJobs.stop(), feed.stop()]);
        },
      }),
    },
  };
}

/** The console in production, for users who meet the policy. */
function createProductionParts(host: ExtensionHost, users: ResourceGateway, policy: Policy): FeatureParts {
  const access = createProductionAccess(host, users, policy);
  const feed = createChangeFeed(host, access);
  const data = createDataContext(host, users, 'production');
  return {
    dependentPages: (errors) => applicationRoutes({ host, data, access, feed }, errors),
    listeners: feed.listeners,
    workers: { web: () => feed },
  };
}

/**
 * The developer's console: a browser for the records of the app, a page at `/console/push` with a phone for each simulated device, and the
 * newest pushes, a page at `/console/mails` with all e-mails of the app, and a page at `/console/jobs` with its background jobs and
 * schedules. `/console` redirects to the first page. In production the extension adds nothing, unless the setting `production` opens the
 * data browser for administrators.
 *
 * @example createApp({ resources, extensions: [audit(), developerConsole({ production: true })] }, process.env)
 */
export function developerConsole(options: ConsoleOptions = {}): Extension<'console'> {
  return defineExtension({
    name: 'console',
    settings: consoleSettings,
    options,
    // The audit trail records changes that administrators make in the console, whatever the resource.
    recordsOrigins: options.production !== undefined && options.production !== false,
    setup(host, settings) {
      const { users, simulated, env } = host;
      if (users === undefined) {
        throw new StartupError('developerConsole() cannot work:', [
          'devices belong to users; declare a user resource with defineUser()',
        ]);
      }
      const policy = productionPolicyOf(settings);
      const checkConfig: FeatureParts['checkConfig'] = (errors) => {
        if (policy === undefined) return;
        const at = errors.at('developerConsole({ production })');
        if (host.auditTrail() === undefined)
          at.report('needs the extension audit(), which records what administrators do; add it to the extensions');
        const roles = declaredUserRoles(host.resources.map(({ declaration }) => declaration));
        for (const text of unknownRoleErrors(policy, roles)) at.at('policy').report(text);
      };
      // Simulated devices do not exist in production.
      if (env.nodeEnv !== 'production' && simulated !== undefined)
        return { ...createDevelopmentParts(host, users, simulated), checkConfig };
      return policy === undefined ? {} : { ...createProductionParts(host, users, policy), checkConfig };
    },
  });
}
