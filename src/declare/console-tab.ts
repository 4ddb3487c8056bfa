import type { Route, RouteContext } from './route.ts';

/**
 * A route of a console tab, below `/console/api/<id of the tab>`. The console decides about access: in development, only its own page on this
 * machine can call the route; in production, only administrators with a recent sign-in can. So the route has no policy of its own. Without
 * `query` or `input`, it refuses requests with parameters or fields.
 */
export interface ConsoleRoute extends Pick<Route, 'method' | 'input' | 'query' | 'status' | 'handler'> {
  /** Below the path of the tab, in express style: `/endpoints/:id/disable`. */
  path: string;
  /**
   * What the request changes or reveals: `endpointDisabled` is recorded in the audit trail as `console.endpointDisabled`, in production, before
   * the handler runs. Required unless the method is GET.
   */
  action?: string;
  /**
   * Refuses a request before anything is recorded, such as for a record that does not exist. For checks that the action itself need not make
   * again.
   *
   * @throws ApiError
   */
  check?: (ctx: RouteContext) => Promise<void>;
  /**
   * Returns the resource and record that the entry of the audit trail is about, and further facts without secret or personal values. Default:
   * the id of the tab, and the parameters of the path as facts.
   */
  recordedAs?: (ctx: RouteContext) => { resource: string; record: string | null; details?: Record<string, unknown> };
}

/** Something that does not work as it should, as one sentence of the console's overview. */
export interface ConsoleConcern {
  /** `error`: something fails now. `warning`: something has failed lately, or soon will. */
  level: 'error' | 'warning';
  /** Without a full stop, and without secrets: `2 webhook endpoints fail`. */
  message: string;
  /** The page of the console on which an administrator deals with it. */
  href: string;
}

/**
 * A tab that a feature adds to the console, if the app has one. Its page is a folder of ES modules and stylesheets, which the console
 * serves as they are: `tab.js` exports `tab`, with the component around all pages of the tab and its routes. It imports
 * what all tabs share from `belfry/console`, hooks from `preact/hooks`, and signals from `@preact/signals`. All stylesheets of the folder are
 * loaded with it.
 */
export interface ConsoleTab {
  /** Lowercase letters and hyphens. Its path is `/console/<id>`. */
  id: string;
  /** The name in the navigation. */
  label: string;
  /** The folder of the page: `new URL('./page/', import.meta.url)`. Left out by Belfry's own tabs, whose pages are part of the console. */
  page?: URL;
  routes: readonly ConsoleRoute[];
  /**
   * Returns what does not work now, for the overview of the console; nothing if all is well. The overview reads the concerns of all tabs at the
   * same time and ends after seconds, so read few and bounded statements.
   */
  concerns?: () => Promise<readonly ConsoleConcern[]>;
  /** The tab does not exist in production; its concerns are shown without a link then. Default: false. */
  onlyInDevelopment?: boolean;
}
