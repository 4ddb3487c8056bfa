import { existsSync } from 'node:fs';
import { z } from 'zod';
import {
  type ConfigErrors,
  type ConsoleRoute,
  type ConsoleTab,
  type ExtensionHost,
  isId,
  type Route,
  type RouteContext,
} from '../../../extension/index.ts';
import { folderAssets, type ServedFile, type TabFiles } from '../../../platform/http/built-pages.ts';
import type { ConsoleAccess } from './access.ts';

const HOME = '/console';
/** The script of a tab's page that the application loads first. */
const ENTRY = 'tab.js';
const ID = /^[a-z]+(-[a-z]+)*$/;
const ACTION = /^[a-z][A-Za-z]*$/;
/** The tabs whose pages are part of the console. */
const BUILT = new Set(['accounts', 'audit', 'jobs', 'mails', 'operations', 'push', 'reference', 'webhooks']);
/** The query, and the body, of routes that declare none: what a request names there is refused, not ignored. */
export const NO_FIELDS = z.strictObject({});
/** Names below `/console` and `/console/api` that tabs cannot have. */
const RESERVED = new Set([
  'api',
  'assets',
  'mail-frames',
  'app',
  'overview',
  'data',
  'records',
  'references',
  'labels',
  'changes',
]);

/** A tab in the navigation of the console. */
export interface TabLink {
  id: string;
  label: string;
  path: string;
  /** Where the application finds the scripts and stylesheets of the tab; left out: they are part of the application. */
  findFiles?: () => Promise<TabFiles>;
}

/** A tab with its files and routes, as the server offers them. */
interface ServedTab {
  link: TabLink;
  assets: readonly ServedFile[];
  routes: readonly Route[];
}

/** The id of the record in the path of a request, for its entry in the audit trail. */
const readRecordId = ({ params: { id } }: RouteContext) => (id !== undefined && isId(id) ? id : null);

/**
 * Wraps the handler of a route that changes or reveals something, so that the audit trail has an entry before the action is carried out: an
 * action that cannot be recorded does not happen.
 */
function recordAction(
  { action, check, recordedAs, handler }: ConsoleRoute,
  tab: string,
  host: Pick<ExtensionHost, 'auditTrail' | 'database'>,
): Route['handler'] {
  if (action === undefined) return checkFirst({ check, handler });
  return async (ctx) => {
    await check?.(ctx);
    const { resource, record, details } = recordedAs?.(ctx) ?? {
      resource: tab,
      record: readRecordId(ctx),
      details: { ...ctx.params },
    };
    const entry = { action: `console.${action}`, resource, record, details: details ?? null };
    await host.auditTrail()!.add(entry, ctx.req, host.database);
    return handler(ctx);
  };
}

/** The handler of a route in development, where nothing is recorded. */
function checkFirst({ check, handler }: Pick<ConsoleRoute, 'check' | 'handler'>): Route['handler'] {
  if (check === undefined) return handler;
  return async (ctx) => {
    await check(ctx);
    return handler(ctx);
  };
}

/** Prepares a tab: its files below `/console/assets/tabs`, and its routes below `/console/api`, with the access rules of the console. */
export function serveTab(
  { id, label, page, routes }: ConsoleTab,
  { route: access }: ConsoleAccess,
  {
    host,
    mode,
    findBuiltTab,
  }: {
    host: Pick<ExtensionHost, 'auditTrail' | 'database'>;
    mode: 'development' | 'production';
    /** Finds the files of a tab that is part of the console. */
    findBuiltTab: (id: string) => Promise<TabFiles>;
  },
): ServedTab {
  const base = `${HOME}/assets/tabs/${id}`;
  const assets = page === undefined ? [] : folderAssets(page, base);
  const listPaths = (extension: string) => assets.map(({ path }) => path).filter((path) => path.endsWith(extension));
  const files = { entry: `${base}/${ENTRY}`, scripts: listPaths('.js'), styles: listPaths('.css') };
  return {
    link: {
      id,
      label,
      path: `${HOME}/${id}`,
      findFiles: async () => (page === undefined ? findBuiltTab(id) : files),
    },
    assets,
    routes: routes.map(({ method, path, input = NO_FIELDS, query = NO_FIELDS, status, ...route }) => ({
      ...access,
      method,
      path: `${HOME}/api/${id}${path}`,
      ...(method !== 'GET' && { input }),
      query,
      ...(status && { status }),
      handler: mode === 'production' ? recordAction({ method, path, ...route }, id, host) : checkFirst(route),
    })),
  };
}

function hasEntry(page: URL): boolean {
  return existsSync(new URL(ENTRY, page));
}

/** Returns the tabs that can be served, and reports the others. */
export function checkTabs(tabs: readonly ConsoleTab[], errors: ConfigErrors): readonly ConsoleTab[] {
  const before = errors.lines.length;
  const ids = new Set<string>();
  for (const { id, page, routes } of tabs) {
    const at = errors.at(`console tab "${id}"`);
    if (!ID.test(id)) at.report('the id must consist of lowercase letters and hyphens');
    if (RESERVED.has(id)) at.report('the console itself uses this id; choose another one');
    if (ids.has(id)) at.report('another feature adds a tab with this id; change one of them');
    ids.add(id);
    if (page === undefined && !BUILT.has(id)) at.report('needs page, the folder of its page');
    if (page !== undefined && !hasEntry(page)) at.report(`the folder of its page needs a file ${ENTRY}`);
    for (const { method, path, action } of routes) {
      const route = at.at(`${method} ${path}`);
      if (action === undefined && method !== 'GET') route.report('needs an action, which the audit trail records');
      if (action !== undefined && !ACTION.test(action)) route.report('the action must be a word in camelCase');
    }
  }
  return errors.lines.length === before ? tabs : [];
}
