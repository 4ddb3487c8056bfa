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
  type Host,
  invalidSessionError,
  isAccountActive,
  isId,
  newId,
  type Route,
  type StoredRecord,
  type Viewer,
} from '../../../extension/index.ts';
import type { EndpointAccess } from '../api/organisation-endpoints.ts';
import { createPortalAuth, getPortalGrant, type PortalGrant } from '../api/portal-grants.ts';
import { type EndpointRow, serializeEndpoint } from '../endpoints/endpoint.ts';
import { READ_ENDPOINT } from '../endpoints/endpoints-sql.ts';
import type { EndpointOwners } from '../endpoints/owners.ts';
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
  /** The only endpoint that the link shows. Default: all endpoints of the owner. */
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

/** The organisation whose endpoints a link manages. */
interface OrganisationOfLink {
  /** Its id. */
  organisation: string;
  /** The role as which the link acts: `org:owner`. Default: the least powerful role that manages the organisation. */
  as?: string;
}

/**
 * Creates a link with which a user manages their webhooks, or the members of an organisation those of the organisation, without another sign-in.
 *
 * @param owner the owner of the endpoints: the id of a user, or an organisation
 * @throws Error if the portal is off, if there is no active user, organisation or endpoint with these ids, or if an option is invalid. In a request
 *   of this user, or in any request for an organisation: ApiError FORBIDDEN without the role, or if the request was sent with an API key; the
 *   key of an organisation may create links to its endpoints if it has the scope `*`. VALIDATION_ERROR naming `code`, RATE_LIMITED or
 *   RECENT_SIGN_IN_REQUIRED if the user has a second factor, did not confirm it on the session within the last 10 minutes, and `code` is missing
 *   or wrong
 * @example const { url } = await app.webhooks.portalLink(user.id, { expiresIn: '15m' });
 * @example const { url } = await app.webhooks.portalLink({ organisation: club.id });
 */
export type CreatePortalLink = (owner: string | OrganisationOfLink, options?: PortalLinkOptions) => Promise<PortalLink>;

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
export interface PortalLinks {
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

/** What links depend on. */
interface LinkDependencies {
  host: Pick<ExtensionHost, 'database' | 'keyring' | 'authenticators' | 'organisationAccess' | 'service'>;
  accounts: Pick<Accounts, 'findUserWithProof' | 'confirmNewCredential'>;
  owners: Pick<EndpointOwners, 'load'>;
  /** Whether a role manages the endpoints of an organisation. */
  manages: EndpointAccess['manages'];
}

/** Creates the check whether links still work. */
function createLinkCheck({ host, accounts, owners, manages }: LinkDependencies) {
  async function hasEnded(via: Auth['via'], id: string, tx?: Executor): Promise<boolean> {
    const watch = host.authenticators().find((one) => one.watch?.via === via)?.watch;
    return watch === undefined || (await watch.ended([id], tx)).length > 0;
  }

  /** Returns the user of a grant if they may still sign in with the link. */
  async function findUserOfLink(
    { userId, proof, session }: PortalGrant,
    tx?: Executor,
  ): Promise<StoredRecord | undefined> {
    const [found, isOver] = await Promise.all([
      accounts.findUserWithProof(userId!, tx),
      session !== undefined && hasEnded('session', session, tx),
    ]);
    if (found === undefined || isOver || !isAccountActive(found.user)) return undefined;
    return toShortProof(found.proof) === proof ? found.user : undefined;
  }

  /** Whether a user has at least a role in an organisation. */
  async function holdsRole(user: Viewer, { id, role }: NonNullable<PortalGrant['organisation']>): Promise<boolean> {
    const access = host.organisationAccess();
    if (access === undefined) return false;
    try {
      const { role: own } = await access.find({ user, service: host.service }, id);
      return access.includes(own, role) && manages(own, role);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'NOT_FOUND') return false;
      throw error;
    }
  }

  /** Returns the user, or the organisation, that a link signs in; undefined if the link has ended. */
  async function findViewerOfLink(grant: PortalGrant, tx?: Executor): Promise<Viewer | undefined> {
    const { userId, organisation, keyId, expiresAt } = grant;
    if (expiresAt <= Date.now()) return undefined;
    const user = userId === undefined ? undefined : await findUserOfLink(grant, tx);
    if (organisation === undefined) return user;
    if (userId !== undefined && (user === undefined || !(await holdsRole(user, organisation)))) return undefined;
    if (keyId !== undefined && (await hasEnded('api-key', keyId, tx))) return undefined;
    return owners.load({ owner: organisation.id, organisationRole: organisation.role });
  }

  return { hasEnded, findViewerOfLink, holdsRole };
}

/** Checks that a link to one endpoint can reach it. @throws Error */
async function assertReachable(
  { database }: Pick<Host, 'database'>,
  { owner, kind }: { owner: string; kind: 'user' | 'organisation' },
  endpointId: string,
  includeGlobal: boolean,
): Promise<void> {
  const statement = { name: 'webhook_read', text: READ_ENDPOINT, values: [endpointId, owner] };
  const [row] = await database.read<EndpointRow>(statement);
  if (row === undefined) throw new Error(`portalLink: the ${kind} has no endpoint ${endpointId}`);
  if (serializeEndpoint(row).scope === 'global' && !includeGlobal)
    throw new Error(`portalLink: the endpoint ${endpointId} has the scope "global"; set includeGlobal to include it`);
}

/** The credential with which the current request asks for a link. */
type Requester = Pick<PortalGrant, 'session' | 'keyId'> & { user?: Viewer };

const NEEDS_SESSION = 'A link to the webhook portal needs a session; an API key could exceed its scopes';

/**
 * Creates the links to the portal. A link is stored nowhere. It expires, and ends early if the user's password
 * changes or the user is disabled. If the user requested it with a session, it also ends with that session. The link of an organisation ends with the
 * organisation, and with the membership of the user, or with the key, that requested it.
 *
 * @param baseUrl the origin of this server, as browsers reach it
 */
export function createPortalLinks(dependencies: LinkDependencies, baseUrl: string): PortalLinks {
  const { host, accounts, owners, manages } = dependencies;
  const { keyring } = host;
  const { hasEnded, findViewerOfLink, holdsRole } = createLinkCheck(dependencies);

  /** Confirms a session that asks for a link. Returns it, so that the link ends with it. */
  async function confirmSession(code: string | undefined): Promise<Requester> {
    const { req, user } = currentActor()!;
    const { id } = getIdentity(req!)!;
    await accounts.confirmNewCredential({ req: req!, user, auth: getAuth(req!) }, code);
    // An extension may have sessions of its own, which nothing could watch.
    return { user: user!, session: (await hasEnded('session', id)) ? undefined : id };
  }

  /**
   * Returns the session with which the user sent the current request, so that the link ends with it; undefined outside of requests and in
   * requests of other users, such as admins.
   */
  async function findRequestingSession(userId: string, code: string | undefined): Promise<string | undefined> {
    const { req } = currentActor() ?? {};
    const identity = req && getIdentity(req);
    if (identity?.userId !== userId) return undefined;
    if (identity.via !== 'session') throw new ApiError('FORBIDDEN', NEEDS_SESSION);
    return (await confirmSession(code)).session;
  }

  /** Returns the member, or the key of the organisation, that sent the current request; undefined outside of requests. */
  async function findRequester(
    organisation: NonNullable<PortalGrant['organisation']>,
    code: string | undefined,
  ): Promise<Requester | undefined> {
    const { req, user } = currentActor() ?? {};
    const auth = req && getAuth(req);
    if (auth === undefined || user === undefined) return undefined;
    if (!(await holdsRole(user, organisation)))
      throw new ApiError('FORBIDDEN', `This needs the role "${organisation.role}" in the organisation`);
    if (auth.via === 'session') return confirmSession(code);
    // The portal shows all deliveries, so a key needs all scopes.
    if (auth.via === 'api-key' && auth.organisationRole !== undefined && auth.scopes.includes('*'))
      return { session: undefined, keyId: auth.id };
    throw new ApiError('FORBIDDEN', `${NEEDS_SESSION}. The key of an organisation needs the scope "*"`);
  }

  /** Returns who a link to the endpoints of a user signs in. */
  async function createUserGrant(userId: string, code: string | undefined) {
    const session = await findRequestingSession(userId, code);
    const found = isId(userId) ? await accounts.findUserWithProof(userId) : undefined;
    if (found === undefined || !isAccountActive(found.user))
      throw new Error(`portalLink: there is no active user ${String(userId)}`);
    return { userId, proof: found.proof, session };
  }

  /** Returns who a link to the endpoints of an organisation signs in. */
  async function createOrganisationGrant({ organisation: id, as }: OrganisationOfLink, code: string | undefined) {
    const access = host.organisationAccess();
    if (access === undefined) throw new Error('portalLink: the app has no organisations; see organisations()');
    const role = as === undefined ? access.manageRole : as.replace(/^org:/, '');
    if (!access.roles.includes(role) || !manages(role, role))
      throw new Error(`portalLink: as must be a role that manages endpoints, such as 'org:${access.manageRole}'`);
    if (!isId(id) || (await owners.load({ owner: id, organisationRole: role })) === undefined)
      throw new Error(`portalLink: there is no organisation ${String(id)}`);
    const organisation = { id, role };
    const requester = await findRequester(organisation, code);
    const found = requester?.user && (await accounts.findUserWithProof(requester.user.id));
    return {
      organisation,
      keyId: requester?.keyId,
      session: requester?.session,
      userId: found?.user.id,
      proof: found?.proof ?? '',
    };
  }

  return {
    async createLink(owner, options = {}) {
      const { expiresIn, endpointId, includeGlobal, code } = readLinkOptions(options);
      const signedIn =
        typeof owner === 'object' && owner !== null
          ? await createOrganisationGrant(owner, code)
          : await createUserGrant(owner, code);
      const of =
        typeof owner === 'object'
          ? ({ owner: owner.organisation, kind: 'organisation' } as const)
          : ({ owner, kind: 'user' } as const);
      if (endpointId !== undefined) await assertReachable(host, of, endpointId, includeGlobal);
      const expiresAt = Date.now() + expiresIn;
      const grant = { ...signedIn, id: newId(), expiresAt, endpointId, includeGlobal };
      const url = `${baseUrl}${PORTAL_PATH}#token=${createPortalToken(keyring, grant)}`;
      return { url, expiresAt: new Date(expiresAt).toISOString() };
    },
    createAuthenticator: (accepts) => ({
      recognizes: looksLikePortalToken,
      accepts,
      async authenticate(token) {
        const grant = readPortalToken(keyring, token);
        const user = grant && (await findViewerOfLink(grant));
        if (grant === undefined || user === undefined) throw invalidSessionError();
        return { user, auth: createPortalAuth(grant) };
      },
    }),
    async assertHolds(auth, tx) {
      const grant = getPortalGrant(auth);
      if (grant !== undefined && (await findViewerOfLink(grant, tx)) === undefined) throw invalidSessionError();
    },
  };
}

/** Returns whether a route is one of these, whatever object describes it. */
export function createRouteTest(routes: readonly Route[]): (route: Pick<Route, 'method' | 'path'>) => boolean {
  const known = new Set(routes.map(({ method, path }) => `${method} ${path}`));
  return ({ method, path }) => known.has(`${method} ${path}`);
}
