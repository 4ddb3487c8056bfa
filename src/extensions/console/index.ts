import {
  type ConfigErrors,
  createThemeCss,
  defineExtension,
  type Extension,
  type ExtensionHost,
  escapeHtml,
  type FeatureParts,
  type ResourceGateway,
  type Route,
  StartupError,
  warnOfFormerName,
} from '../../extension/index.ts';
import { createBuiltPage, type PageSources } from '../../platform/http/built-pages.ts';
import { declaredUserRoles, unknownRoleErrors } from '../../records/configuration/roles.ts';
import {
  type ConsoleAccess,
  createDevelopmentAccess,
  createProductionAccess,
  requireSameOrigin,
  requireThisMachine,
} from './access/access.ts';
import { checkTabs, serveTab, type TabLink } from './access/tabs.ts';
import { createAccountsTab } from './accounts/tab.ts';
import { type ChangeFeed, createChangeFeed } from './data/changes.ts';
import { createDataContext, type DataContext } from './data/context.ts';
import { dataRoutes } from './data/routes.ts';
import { createJobsTab } from './jobs/tab.ts';
import { createMailsTab } from './mails/tab.ts';
import { createOperationsTab } from './operations/tab.ts';
import { overviewRoute } from './overview/overview.ts';
import { ASSETS, pageFileRoutes } from './page-files.ts';
import { createPushTab } from './push/tab.ts';
import { createReferenceTab } from './reference/tab.ts';
import { type ConsoleOptions, type ConsoleSettings, consoleSettings, productionPolicyOf } from './settings.ts';

export type { ConsoleOptions } from './settings.ts';

const HOME = '/console';
const API_PATH = `${HOME}/api`;

const OVERVIEW_TAB: TabLink = { id: 'overview', label: 'Overview', path: `${HOME}/overview` };
const DATA_TAB: TabLink = { id: 'data', label: 'Data', path: `${HOME}/data` };
/** What the page shows besides its own files: e-mails in frames. */
const SOURCES: PageSources = { frames: ["'self'"] };
/** In development, it also shows images of notifications. */
const DEVELOPMENT_SOURCES: PageSources = { ...SOURCES, images: ['https:'] };

const HOME_ROUTE: Route = {
  method: 'GET',
  path: HOME,
  policy: 'public',
  handler: ({ res }) => res.redirect(OVERVIEW_TAB.path),
};

/** The application: its files, the data browser and the tabs that features add. */
interface Application {
  host: ExtensionHost;
  data: DataContext;
  access: ConsoleAccess;
  feed: ChangeFeed;
  brand: Brand;
}

/** The look of the page. */
type Brand = Pick<ConsoleSettings, 'title' | 'logo' | 'colors'>;

/** Fills the document. The name and the logo are attributes, so that they are known before the sign-in. */
function fillPage({ title, logo }: Brand): Record<string, string> {
  const attributes = Object.entries({ title, logo }).map(([name, value]) =>
    value === undefined ? '' : ` data-${name}="${escapeHtml(value)}"`,
  );
  return { $title$: escapeHtml(title ?? 'Console'), $brand$: attributes.join('') };
}

/** Returns the routes of the application. `errors` receives tabs that cannot be served. */
function applicationRoutes({ host, data, access, feed, brand }: Application, errors: ConfigErrors): Route[] {
  const isDevelopment = data.mode === 'development';
  const mails = createMailsTab(host, data.mode, access.fileGuards);
  const offered = [
    createAccountsTab(host, data.users, errors),
    ...host.consoleTabs(),
    createPushTab(host, data.users, isDevelopment ? host.simulated : undefined),
    mails.tab,
    createJobsTab(host),
    createOperationsTab(host),
    createReferenceTab(host, data.mode),
  ];
  const existing = offered.filter(({ onlyInDevelopment }) => isDevelopment || onlyInDevelopment !== true);
  const page = createBuiltPage({
    page: 'console',
    assets: ASSETS,
    sources: isDevelopment ? DEVELOPMENT_SOURCES : SOURCES,
    sharesModules: true,
    fill: () => fillPage(brand),
    ...(brand.colors && { css: createThemeCss(brand.colors) }),
  });
  const served = { host, mode: data.mode, findBuiltTab: page.findTab };
  const tabs = checkTabs(existing, errors).map((tab) => serveTab(tab, access, served));
  const links = [OVERVIEW_TAB, DATA_TAB, ...tabs.map(({ link }) => link)];
  return [
    { ...HOME_ROUTE, middleware: access.fileGuards },
    ...pageFileRoutes({
      page,
      tabs: links.map(({ path }) => path),
      assets: tabs.flatMap(({ assets }) => assets),
      middleware: access.fileGuards,
    }),
    ...mails.frameRoutes,
    ...dataRoutes(API_PATH, data, { access, tabs: links, findScript: page.findScript, feed }),
    overviewRoute(API_PATH, access, { data, tabs: offered, served: new Set(existing.map(({ id }) => id)) }),
    ...tabs.flatMap(({ routes }) => routes),
  ];
}

/** The console with all of its tabs, for callers with the given access. */
function createParts(
  host: ExtensionHost,
  users: ResourceGateway,
  mode: 'development' | 'production',
  access: ConsoleAccess,
  brand: Brand,
): FeatureParts {
  const data = createDataContext(host, users, mode);
  const feed = createChangeFeed(host, access);
  return {
    dependentPages: (errors) => applicationRoutes({ host, data, access, feed, brand }, errors),
    listeners: feed.listeners,
    workers: { web: () => feed },
  };
}

/**
 * The console of an app at `/console`: a browser for its records, tabs for accounts, push messages with simulated phones, e-mails, background
 * jobs, operations and the API, and tabs of other extensions. In production the extension adds nothing, unless the setting `production` opens it for
 * administrators.
 *
 * @example createApp({ resources, extensions: [audit(), adminConsole({ production: true })] }, process.env)
 */
export function adminConsole(options: ConsoleOptions = {}): Extension<'console'> {
  return defineExtension({
    name: 'console',
    settings: consoleSettings,
    options,
    // The audit trail records changes that administrators make in the console, whatever the resource.
    recordsOrigins: options.production !== undefined && options.production !== false,
    setup(host, settings) {
      const { users, simulated, env } = host;
      if (users === undefined) {
        throw new StartupError('adminConsole() cannot work:', [
          'devices belong to users; declare a user resource with defineUser()',
        ]);
      }
      const policy = productionPolicyOf(settings);
      const administratorPolicies = policy === undefined ? [] : [policy];
      const checkConfig: FeatureParts['checkConfig'] = (errors) => {
        if (policy === undefined) return;
        const at = errors.at('adminConsole({ production })');
        if (host.auditTrail() === undefined)
          at.report('needs the extension audit(), which records what administrators do; add it to the extensions');
        const roles = declaredUserRoles(host.resources.map(({ declaration }) => declaration));
        for (const text of unknownRoleErrors(policy, roles)) at.at('policy').report(text);
      };
      // Simulated devices do not exist in production.
      if (env.nodeEnv !== 'production' && simulated !== undefined) {
        const access = createDevelopmentAccess([requireThisMachine, requireSameOrigin(env.appUrl)]);
        return { ...createParts(host, users, 'development', access, settings), administratorPolicies, checkConfig };
      }
      if (policy === undefined) return {};
      const access = createProductionAccess(host, users, policy);
      return { ...createParts(host, users, 'production', access, settings), administratorPolicies, checkConfig };
    },
  });
}

/** @deprecated Use `adminConsole`. */
export function developerConsole(options: ConsoleOptions = {}): Extension<'console'> {
  warnOfFormerName('BELFRY_DEP0021', 'developerConsole()', 'adminConsole()');
  return adminConsole(options);
}
