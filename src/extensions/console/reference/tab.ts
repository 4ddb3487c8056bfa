import { z } from 'zod';
import {
  ApiError,
  type ConsoleRoute,
  type ConsoleTab,
  type ExtensionHost,
  isId,
  type RouteContext,
} from '../../../extension/index.ts';
import { assertSentByOwnPage } from '../access/access.ts';
import { describeMap, type ResourceMap } from './resource-map.ts';

const sessionBody = z.strictObject({
  user: z.string({ error: 'Must be the id of a user' }).refine(isId, { error: 'Must be the id of a user' }),
});

/** The limits of requests that the OpenAPI document does not contain. */
interface RequestLimits {
  /** Requests of each client over all routes; null: no limit. */
  all: { limit: number; windowMs: number } | null;
}

/**
 * The tab of the console with the map of the app's resources and the reference of its API.
 *
 * @param mode in development, the tab can start sessions of users. Its routes then accept only the console's own page on this machine, which
 *   may read and change all records anyway
 */
export function createReferenceTab(host: ExtensionHost, mode: 'development' | 'production'): ConsoleTab {
  const { accounts, settings } = host;
  let map: ResourceMap | undefined;

  function readMap(): ResourceMap {
    map ??= describeMap(host);
    return map;
  }

  function readDocument() {
    const { enabled, global: all } = settings.rateLimit;
    const limits: RequestLimits = { all: enabled === false || all === false ? null : all };
    return { document: host.openApiDocument(), limits, canStartSession: mode === 'development' };
  }

  /** Starts a session as a login would, without asking for credentials or a second factor. */
  async function startSession({ input, req }: RouteContext<z.output<typeof sessionBody>>) {
    if (accounts === undefined) throw new ApiError('NOT_FOUND', 'This app has no accounts');
    return accounts.startSession(input.user, { method: 'console', request: req, multiFactor: true });
  }

  const developmentRoutes: ConsoleRoute[] = [
    {
      method: 'POST',
      path: '/session',
      action: 'sessionStarted',
      input: sessionBody,
      check: assertSentByOwnPage,
      handler: startSession,
    },
  ];
  return {
    id: 'reference',
    label: 'API',
    routes: [
      { method: 'GET', path: '/map', handler: readMap },
      { method: 'GET', path: '/document', handler: readDocument },
      ...(mode === 'development' ? developmentRoutes : []),
    ],
  };
}
