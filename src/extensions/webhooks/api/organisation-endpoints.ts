import {
  ApiError,
  type Auth,
  type AuthorizationRequest,
  type ExtensionHost,
  findOrganisationField,
  getOrganisationRole,
  ORGANISATION_CHOICE,
  type OrganisationAccess,
  type Route,
  type RouteContext,
  type Transaction,
  type Viewer,
  validationError,
} from '../../../extension/index.ts';
import { createOrganisationContext, getAdministrator, getSender } from '../endpoints/administrators.ts';
import { type EndpointRow, getOwnerKey, serializeEndpoint } from '../endpoints/endpoint.ts';
import type { EndpointOwners } from '../endpoints/owners.ts';
import { listSentResources } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { getPortalGrant, reachesEndpoint } from './portal-grants.ts';

type Asking = Pick<AuthorizationRequest, 'user' | 'service'>;

/** @throws ApiError NOT_FOUND for a link to the endpoints of a user, which reaches no others, whatever the user manages */
function assertLinkReaches(auth: Auth | undefined, isOfOrganisation: boolean): void {
  const grant = getPortalGrant(auth);
  if (grant !== undefined && grant.organisation === undefined && isOfOrganisation) throw new ApiError('NOT_FOUND');
}

/** Whose endpoints a request lists and creates. */
export interface RequestOwner {
  /** The id of the caller, or of the organisation in which the request works. */
  id: string;
  /** The caller's role in that organisation; undefined if the request works in none. */
  callerRole: string | undefined;
}

/** The roles as which endpoints of organisations can read. */
export interface EndpointRoles {
  /** `org:owner`, …, from the most to the least powerful. */
  all: string[];
  /** That of an endpoint that was created without one. */
  default: string;
}

/** Which endpoints callers reach: their own, and those of the organisations that they manage. */
export interface EndpointAccess {
  /**
   * Finds whose endpoints a request lists and creates.
   *
   * @throws ApiError UNAUTHORIZED; NOT_FOUND for an organisation of which the caller is not a member; FORBIDDEN without the role that manages
   *   its endpoints
   */
  findOwner(asking: Asking & Pick<AuthorizationRequest, 'auth'>): Promise<RequestOwner>;
  /**
   * Checks that the caller reaches an endpoint.
   *
   * @throws ApiError NOT_FOUND; FORBIDDEN for a member without the role that manages endpoints, or with less power than the endpoint's role
   */
  assertReaches(asking: AuthorizationRequest, row: EndpointRow): Promise<void>;
  /** Whether a role may manage endpoints that read with another role. */
  manages(callerRole: string, endpointRole: string): boolean;
  /**
   * Returns the role as which a new endpoint reads, or the new role of an existing one; undefined for the endpoint of a user.
   *
   * @param given `org:<role>`, from the body
   * @throws ApiError VALIDATION_ERROR naming `as`
   */
  decideRole(owner: RequestOwner, given: string | undefined): string | undefined;
  /**
   * Checks that events are sent to organisations.
   *
   * @throws ApiError VALIDATION_ERROR naming `events`
   */
  assertSentToOrganisations(events: readonly string[]): void;
  /**
   * Checks, in the transaction of a change, that the caller still manages the endpoint, and keeps it so until the transaction ends.
   *
   * @param roles the role as which the endpoint reads, and its new one
   * @throws ApiError NOT_FOUND or FORBIDDEN
   */
  hold(ctx: RouteContext, organisation: string, roles: readonly string[], tx: Transaction): Promise<void>;
  /** Returns the owner of the endpoint that a route has loaded. */
  findLoadedOwner(ctx: RouteContext): Promise<RequestOwner>;
  /** Returns the request as one of the organisation, with a role. */
  actFor(ctx: RouteContext, organisation: string, role: string): RouteContext;
  /** The owner of an endpoint that the caller reaches. */
  viewerOf(caller: Viewer | undefined, row: EndpointRow): Viewer;
  /** Returns the request as one of the owner of the loaded endpoint, if that is an organisation. */
  actForOwner(ctx: RouteContext): RouteContext;
  /** Returns the routes with handlers that run for the owner of the loaded endpoint if that is an organisation. */
  runForOwners(routes: readonly Route[]): Route[];
  /** Whether endpoints of an organisation can subscribe to an event or pattern. */
  isSentToOrganisations(event: string): boolean;
  /** Returns the roles as which endpoints of organisations can read; undefined if the app has no organisations. */
  findRoles(): EndpointRoles | undefined;
  /** Whether a request works in an organisation, as that itself or as a member. */
  worksInOrganisation(user: Viewer | undefined): boolean;
  /** Returns what is wrong with the setting; undefined if nothing is. */
  findConfigError(): string | undefined;
}

const toWord = (role: string) => `org:${role}`;

type AccessHost = Pick<ExtensionHost, 'organisationAccess' | 'resources'>;

function neededRoleError(role: string): ApiError {
  return new ApiError('FORBIDDEN', `This needs the role "${role}" in the organisation`);
}

/** Creates the functions that compare roles with the setting. */
function createRoleRules({ organisationPolicy }: Pick<WebhookSettings, 'organisationPolicy'>) {
  const manageRole = ({ manageRole: least }: OrganisationAccess) => organisationPolicy?.slice('org:'.length) ?? least;
  /** The roles that a caller needs. A deploy may have removed that of the endpoint, which then receives nothing. */
  const neededRoles = (access: OrganisationAccess, endpointRole: string) =>
    [manageRole(access), endpointRole].filter((role) => access.roles.includes(role));
  return {
    manageRole,
    neededRoles,
    assertManages(access: OrganisationAccess, callerRole: string, endpointRole: string): void {
      for (const needed of neededRoles(access, endpointRole))
        if (!access.includes(callerRole, needed)) throw neededRoleError(needed);
    },
  };
}

type RoleRules = ReturnType<typeof createRoleRules>;

/** Creates the checks of the input of endpoints that only organisations have. */
function createInputChecks(
  host: AccessHost,
  { organisations }: Pick<EndpointOwners, 'organisations'>,
  published: readonly string[],
  { manageRole }: RoleRules,
): Pick<EndpointAccess, 'decideRole' | 'assertSentToOrganisations' | 'isSentToOrganisations'> {
  const groupOf = (name: string) => name.slice(0, name.indexOf('.'));
  const groups = new Set([
    ...listSentResources(host.resources)
      .filter((gateway) => gateway === organisations || findOrganisationField(gateway) !== undefined)
      .map(({ name }) => name),
    ...published.map(groupOf),
  ]);
  const isSentToOrganisations = (name: string) => name === '*' || groups.has(groupOf(name));
  return {
    decideRole({ callerRole }, given) {
      const access = host.organisationAccess();
      if (callerRole === undefined || access === undefined) {
        if (given === undefined) return undefined;
        throw validationError({
          as: 'Must be left out for the webhook of a user; send the header X-Organisation for one of an organisation',
        });
      }
      const role = given === undefined ? manageRole(access) : given.slice('org:'.length);
      const allowed = access.roles.filter((one) => access.includes(callerRole, one));
      if (given !== undefined && !(given.startsWith('org:') && allowed.includes(role)))
        throw validationError({ as: `Must be one of: ${allowed.map(toWord).join(', ')}` });
      return role;
    },
    isSentToOrganisations,
    assertSentToOrganisations(events) {
      const others = events.filter((name) => !isSentToOrganisations(name));
      if (others.length === 0) return;
      throw validationError({
        events: `Must be events of records of organisations, which these are not: ${others.join(', ')}`,
      });
    },
  };
}

/** Creates the rules of who reaches which endpoints. */
export function createEndpointAccess(
  host: AccessHost,
  owners: Pick<EndpointOwners, 'organisations' | 'toOrganisationViewer'>,
  settings: Pick<WebhookSettings, 'organisationPolicy' | 'events'>,
): EndpointAccess {
  const rules = createRoleRules(settings);
  const { manageRole, neededRoles, assertManages } = rules;

  /** @throws ApiError NOT_FOUND if the request works in another organisation */
  async function assertWorksIn(access: OrganisationAccess, { user, service }: Asking, owner: string): Promise<void> {
    const { current, isNamed = false } = user?.[ORGANISATION_CHOICE] ?? {};
    if (!isNamed || current === undefined || current === owner) return;
    if ((await access.find({ user, service }, current)).organisation !== owner) throw new ApiError('NOT_FOUND');
  }

  const manages: EndpointAccess['manages'] = (callerRole, endpointRole) => {
    const access = host.organisationAccess();
    if (access === undefined) return false;
    return neededRoles(access, endpointRole).every((needed) => access.includes(callerRole, needed));
  };

  const actFor: EndpointAccess['actFor'] = (ctx, organisation, role) =>
    createOrganisationContext(ctx, owners.toOrganisationViewer(organisation, role));

  const actForOwner: EndpointAccess['actForOwner'] = (ctx) => {
    const { owner, organisationRole } = getOwnerKey(ctx.doc as EndpointRow);
    return typeof organisationRole === 'string' ? actFor(ctx, owner, organisationRole) : ctx;
  };

  return {
    async findOwner({ user, auth, service }) {
      if (user === undefined) throw new ApiError('UNAUTHORIZED');
      const access = host.organisationAccess();
      assertLinkReaches(auth, user[ORGANISATION_CHOICE]?.current !== undefined);
      const { bound, current = bound } = user[ORGANISATION_CHOICE] ?? {};
      // Without organisations, the header means nothing.
      if (access === undefined || current === undefined) return { id: user.id, callerRole: undefined };
      const { organisation, role } = await access.find({ user, service }, current);
      const needed = manageRole(access);
      if (!access.includes(role, needed)) throw neededRoleError(needed);
      return { id: organisation, callerRole: role };
    },
    async assertReaches({ user, auth, service }, row) {
      const { owner, organisationRole } = getOwnerKey(row);
      if (!reachesEndpoint(auth, serializeEndpoint(row))) throw new ApiError('NOT_FOUND');
      assertLinkReaches(auth, typeof organisationRole === 'string');
      const access = host.organisationAccess();
      if (typeof organisationRole !== 'string') {
        const { bound, isNamed = false } = user?.[ORGANISATION_CHOICE] ?? {};
        // A request that names an organisation reaches only its endpoints.
        const isElsewhere = bound !== undefined || (isNamed && access !== undefined);
        if (user?.id !== owner || getOrganisationRole(user) !== undefined || isElsewhere)
          throw new ApiError('NOT_FOUND');
        return;
      }
      if (access === undefined) throw new ApiError('NOT_FOUND');
      const { role } = await access.find({ user, service }, owner);
      await assertWorksIn(access, { user, service }, owner);
      assertManages(access, role, organisationRole);
    },
    manages,
    ...createInputChecks(host, owners, Object.keys(settings.events), rules),
    async hold(ctx, organisation, roles, tx) {
      const access = host.organisationAccess();
      if (access === undefined) throw new ApiError('NOT_FOUND');
      const { user } = getSender(ctx);
      const heldRole = await access.hold(user!, organisation, tx);
      const callerRole = getAdministrator(ctx) === undefined ? heldRole : access.roles[0]!;
      for (const role of roles) assertManages(access, callerRole, role);
    },
    async findLoadedOwner(ctx) {
      const { owner: id, organisationRole } = getOwnerKey(ctx.doc as EndpointRow);
      const access = host.organisationAccess();
      if (typeof organisationRole !== 'string' || access === undefined) return { id, callerRole: undefined };
      if (getAdministrator(ctx) !== undefined) return { id, callerRole: access.roles[0] };
      const { user, service } = getSender(ctx);
      return { id, callerRole: (await access.find({ user, service }, id)).role };
    },
    actFor,
    viewerOf(caller, row) {
      const { owner, organisationRole } = getOwnerKey(row);
      return typeof organisationRole === 'string' ? owners.toOrganisationViewer(owner, organisationRole) : caller!;
    },
    actForOwner,
    runForOwners: (routes) =>
      routes.map((route) =>
        route.load === undefined ? route : { ...route, handler: (ctx) => route.handler(actForOwner(ctx)) },
      ),
    findRoles() {
      const access = host.organisationAccess();
      return access && { all: access.roles.map(toWord), default: toWord(manageRole(access)) };
    },
    worksInOrganisation(user) {
      const { bound, current = bound } = user?.[ORGANISATION_CHOICE] ?? {};
      return current !== undefined && host.organisationAccess() !== undefined;
    },
    findConfigError() {
      const { organisationPolicy } = settings;
      const access = host.organisationAccess();
      if (organisationPolicy === undefined) return undefined;
      if (access === undefined) return 'it needs organisations(); without them, endpoints belong to users';
      const isRole = access.roles.includes(organisationPolicy.slice('org:'.length));
      return isRole ? undefined : `must be one of: ${access.roles.map(toWord).join(', ')}`;
    },
  };
}
