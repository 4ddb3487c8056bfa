import { z } from 'zod';
import {
  type Accounts,
  ApiError,
  type Auth,
  type Authenticator,
  currentActor,
  type Executor,
  type ExtensionHost,
  getAuth,
  getIdentity,
  HOUR_MS,
  invalidSessionError,
  isAccountActive,
  isId,
  newId,
  type Route,
  type StoredRecord,
} from '../../../extension/index.ts';
import { createPortalAuth, getPortalGrant, type PortalGrant } from '../api/portal-grants.ts';
import { type EndpointRow, serializeEndpoint } from '../endpoints/endpoint.ts';
import { READ_ENDPOINT } from '../endpoints/endpoints-sql.ts';
import { parseWaitMs } from '../settings/retry-schedule.ts';
import { createPortalToken, looksLikePortalToken, readPortalToken, toShortProof } from './token.ts';

/** The path of the portal's page. */
export const PORTAL_PATH = '/webhooks/portal';

const SHORTEST_MS = 1000;
const LONGEST_MS = 24 * HOUR_MS;

/** Options of a link to the portal. */
interface PortalLinkOptions {
  /** How long the link works: milliseconds, or text such as `'15m'`. From 1 second to 24 hours. Default 1 hour. */
  expiresIn?: number | string;
  /** The only endpoint that the link shows. Default: all endpoints of the user. */
  endpointId?: string;
  /** Whether the link reaches endpoints of scope `global`, which receive the records of all users. Default false. */
  includeGlobal?: boolean;
  /** A code of the user's second factor, from the body of their request: see `createLink`. */
  code?: string | undefined;
}

/** A link to the portal. */
interface PortalLink {
  /** The URL for a browser or an iframe. Its fragment contains the secret. */
  url: string;
  /** ISO 8601. */
  expiresAt: string;
}

/**
 * Creates a link with which a user manages their webhooks, without another sign-in.
 *
 * @param userId the owner of the endpoints
 * @throws Error if the portal is off, if there is no active user or endpoint with these ids, or if an option is invalid. In a request of this
 *   user: ApiError FORBIDDEN if it was sent with an API key; VALIDATION_ERROR naming `code`, RATE_LIMITED or RECENT_SIGN_IN_REQUIRED if the user
 *   has a second factor, did not confirm it on the session within the last 10 minutes, and `code` is missing or wrong
 * @example const { url } = await app.webhooks.portalLink(user.id, { expiresIn: '15m' });
 */
export type CreatePortalLink = (userId: string, options?: PortalLinkOptions) => Promise<PortalLink>;

const linkOptions = z.strictObject({
  expiresIn: z
    .unknown()
    .transform((value) => (value === undefined ? HOUR_MS : parseWaitMs(value)))
    .refine((ms): ms is number => ms !== null && ms >= SHORTEST_MS && ms <= LONGEST_MS, {
      error: `must be from 1 second to 24 hours: milliseconds, or text such as '15m'`,
    }),
  endpointId: z.string().refine(isId, { error: 'must be the id of an endpoint' }).optional(),
  includeGlobal: z.boolean({ error: 'must be true or false' }).default(false),
  code: z.string({ error: 'must be a string' }).optional(),
});

function readLinkOptions(options: PortalLinkOptions): z.output<typeof linkOptions> & { expiresIn: number } {
  const { data, error } = linkOptions.safeParse({ expiresIn: undefined, ...options });
  if (error === undefined) return data as z.output<typeof linkOptions> & { expiresIn: number };
  const lines = error.issues.map(({ path, message }) => `${path.join('.') || 'options'}: ${message}`);
  throw new Error(`portalLink: ${lines.join('; ')}`);
}

/** The links of an app to the portal. */
interface PortalLinks {
  createLink: CreatePortalLink;
  /** @param accepts whether a route belongs to the portal */
  createAuthenticator(accepts: NonNullable<Authenticator['accepts']>): Authenticator;
  /**
   * Checks that the link of a request, if it has one, has not ended meanwhile. The user must be locked.
   *
   * @throws ApiError UNAUTHORIZED
   */
  assertHolds(auth: Auth | undefined, tx: Executor): Promise<void>;
}

/** Creates the check whether links still work. */
function createLinkCheck(host: Pick<ExtensionHost, 'authenticators'>, accounts: Pick<Accounts, 'findUserWithProof'>) {
  async function hasSessionEnded(session: string, tx?: Executor): Promise<boolean> {
    const watch = host.authenticators().find((one) => one.watch?.via === 'session')?.watch;
    return watch === undefined || (await watch.ended([session], tx)).length > 0;
  }

  /** Returns the user of a grant if the link still works. */
  async function findUserOfLink(
    { userId, proof, session }: PortalGrant,
    tx?: Executor,
  ): Promise<StoredRecord | undefined> {
    const [found, hasEnded] = await Promise.all([
      accounts.findUserWithProof(userId, tx),
      session !== undefined && hasSessionEnded(session, tx),
    ]);
    if (found === undefined || hasEnded || !isAccountActive(found.user)) return undefined;
    return toShortProof(found.proof) === proof ? found.user : undefined;
  }

  return { hasSessionEnded, findUserOfLink };
}

/**
 * Creates the links to the portal. A link is stored nowhere. It expires, and ends early if the user's password
 * changes or the user is disabled. If the user requested it with a session, it also ends with that session.
 *
 * @param baseUrl the origin of this server, as browsers reach it
 */
export function createPortalLinks(
  host: Pick<ExtensionHost, 'database' | 'keyring' | 'authenticators'>,
  accounts: Pick<Accounts, 'findUserWithProof' | 'confirmNewCredential'>,
  baseUrl: string,
): PortalLinks {
  const { database, keyring } = host;
  const { hasSessionEnded, findUserOfLink } = createLinkCheck(host, accounts);

  /**
   * Returns the session with which the user sent the current request, so that the link ends with it; undefined outside of requests and in
   * requests of other users, such as admins.
   */
  async function findRequestingSession(userId: string, code: string | undefined): Promise<string | undefined> {
    const { req, user } = currentActor() ?? {};
    const identity = req && getIdentity(req);
    if (identity?.userId !== userId) return undefined;
    if (identity.via !== 'session')
      throw new ApiError(
        'FORBIDDEN',
        'A link to the webhook portal needs a session; an API key could exceed its scopes',
      );
    await accounts.confirmNewCredential({ req: req!, user, auth: getAuth(req!) }, code);
    // An extension may have sessions of its own, which nothing could watch.
    return (await hasSessionEnded(identity.id)) ? undefined : identity.id;
  }

  async function assertReachable(userId: string, endpointId: string, includeGlobal: boolean): Promise<void> {
    const statement = { name: 'webhook_read', text: READ_ENDPOINT, values: [endpointId, userId] };
    const [row] = await database.read<EndpointRow>(statement);
    if (row === undefined) throw new Error(`portalLink: the user has no endpoint ${endpointId}`);
    if (serializeEndpoint(row).scope === 'global' && !includeGlobal)
      throw new Error(`portalLink: the endpoint ${endpointId} has the scope "global"; set includeGlobal to include it`);
  }

  return {
    async createLink(userId, options = {}) {
      const { expiresIn, endpointId, includeGlobal, code } = readLinkOptions(options);
      const session = await findRequestingSession(userId, code);
      const found = isId(userId) ? await accounts.findUserWithProof(userId) : undefined;
      if (found === undefined || !isAccountActive(found.user))
        throw new Error(`portalLink: there is no active user ${String(userId)}`);
      if (endpointId !== undefined) await assertReachable(userId, endpointId, includeGlobal);
      const expiresAt = Date.now() + expiresIn;
      const { proof } = found;
      const grant = { id: newId(), userId, expiresAt, proof, session, endpointId, includeGlobal };
      const url = `${baseUrl}${PORTAL_PATH}#token=${createPortalToken(keyring, grant)}`;
      return { url, expiresAt: new Date(expiresAt).toISOString() };
    },
    createAuthenticator: (accepts) => ({
      recognizes: looksLikePortalToken,
      accepts,
      async authenticate(token) {
        const grant = readPortalToken(keyring, token);
        const user = grant && (await findUserOfLink(grant));
        if (grant === undefined || user === undefined) throw invalidSessionError();
        return { user, auth: createPortalAuth(grant) };
      },
    }),
    async assertHolds(auth, tx) {
      const grant = getPortalGrant(auth);
      if (grant !== undefined && (await findUserOfLink(grant, tx)) === undefined) throw invalidSessionError();
    },
  };
}

/** Returns whether a route is one of these, whatever object describes it. */
export function createRouteTest(routes: readonly Route[]): (route: Pick<Route, 'method' | 'path'>) => boolean {
  const known = new Set(routes.map(({ method, path }) => `${method} ${path}`));
  return ({ method, path }) => known.has(`${method} ${path}`);
}
