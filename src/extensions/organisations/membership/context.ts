import {
  type Accounts,
  ApiError,
  type Executor,
  type ExtensionHost,
  getOrganisationRole,
  isId,
  type OrganisationAccess,
  quoteIdentifier,
  type ResourceGateway,
  type RouteContext,
  type Services,
  type StoredRecord,
  type Transaction,
  type Viewer,
} from '../../../extension/index.ts';
import { getOrganisationChoice, noOrganisationError, organisationFilter } from './access.ts';
import { MEMBERSHIP, ORGANISATION } from './resources.ts';
import { hasGlobalAccess, type OrganisationRoles, type OrganisationSettings } from './settings.ts';

/** A stored membership. */
export interface Membership extends StoredRecord {
  organisation: string;
  user: string;
  role: string;
}

/** The transaction in which members change. */
export type MemberTransaction = Pick<Transaction, 'service' | 'database' | 'afterCommit'>;

/** The dependencies of the extension's operations. */
export interface OrganisationContext {
  host: ExtensionHost;
  accounts: Accounts;
  users: ResourceGateway;
  organisations: ResourceGateway;
  memberships: ResourceGateway;
  settings: OrganisationSettings;
  roles: OrganisationRoles;
}

/** The organisation that a route names, and the role that the caller has in it. With global access, callers act as owners. */
export interface Access {
  organisation: string;
  role: string;
}

/** Returns the role of a viewer in an organisation; undefined if it is neither a member nor the organisation itself. */
export async function findRole(
  { roles, settings }: Pick<OrganisationContext, 'roles' | 'settings'>,
  user: Viewer,
  organisation: string,
  service: Services,
): Promise<string | undefined> {
  const own = getOrganisationRole(user);
  if (own !== undefined) return user.id === organisation && roles.all.includes(own) ? own : undefined;
  if (hasGlobalAccess(settings, user)) return roles.owner;
  const query = { organisation, user: user.id };
  return ((await service(MEMBERSHIP).first(query, { as: 'system' })) as Membership | undefined)?.role;
}

/**
 * Loads the organisation that the path of a route names by id or slug. It need not be the current organisation of the request.
 *
 * @throws ApiError NOT_FOUND, the same for an unknown organisation and for one of which the caller is not a member
 */
export async function loadAccess(
  context: Pick<OrganisationContext, 'roles' | 'settings'>,
  { user, params, service }: Pick<RouteContext, 'user' | 'params' | 'service'>,
): Promise<Access> {
  if (user === undefined) throw new ApiError('UNAUTHORIZED');
  const filter = organisationFilter([params.id, getOrganisationChoice(user)?.bound], undefined);
  const found = filter && (await service(ORGANISATION).first(filter, { as: 'system' }));
  const role = found && (await findRole(context, user, found.id, service));
  if (found === undefined || role === undefined) throw noOrganisationError();
  return { organisation: found.id, role };
}

/** Creates the function that locks an organisation until the transaction ends: changes of its members run one after the other. */
export function createOrganisationLock({ organisations }: Pick<OrganisationContext, 'organisations'>) {
  const text = `select 1 from ${quoteIdentifier(organisations.table)} where id = $1 for update`;
  /** @throws ApiError NOT_FOUND if the organisation has been deleted */
  return async (organisation: string, tx: Executor): Promise<void> => {
    if (!isId(organisation)) throw noOrganisationError();
    if ((await tx.write({ text, values: [organisation] })).length === 0) throw noOrganisationError();
  };
}

/** Creates what other features need to know of organisations. */
export function createOrganisationAccess(context: OrganisationContext): OrganisationAccess {
  const { host, roles, memberships } = context;
  const lock = createOrganisationLock(context);
  // Uses the index of memberships by organisation.
  const findMembers = `
    select m."user" from ${quoteIdentifier(memberships.table)} m
    where m.organisation = $1 and m.role = any($2) and ${remainingMemberSql(context)} order by m.id limit $3`;
  return {
    roles: roles.all,
    manageRole: roles.managing.at(-1)!,
    includes: (role, other) => roles.includes(role, other),
    find: (caller, organisation) => loadAccess(context, { ...caller, params: { id: organisation } }),
    async hold(user, organisation, tx) {
      await lock(organisation, tx.database);
      const role = await findRole(context, user, organisation, tx.service);
      if (role === undefined) throw noOrganisationError();
      return role;
    },
    async membersWith(role, organisation, limit) {
      const values = [organisation, roles.including(role), limit];
      return (await host.database.read<[user: string]>({ text: findMembers, values })).flat();
    },
  };
}

/** The SQL condition that the user of a membership `m` is not about to be erased; then, they no longer count as an owner. */
export function remainingMemberSql({ users }: Pick<OrganisationContext, 'users'>): string {
  if (!('status' in users.declaration.fields)) return 'true';
  return `not exists (select from ${quoteIdentifier(users.table)} u where u.id = m."user" and u.status = 'deleting')`;
}

/** Creates the function that returns how many owners an organisation has. */
export function createOwnerCounter(context: Pick<OrganisationContext, 'users' | 'memberships' | 'roles'>) {
  // Uses the index of memberships by organisation.
  const text = `
    select count(*)::int from ${quoteIdentifier(context.memberships.table)} m
    where m.organisation = $1 and m.role = $2 and ${remainingMemberSql(context)}`;
  return async (organisation: string, tx: Executor): Promise<number> =>
    (await tx.write<[number]>({ text, values: [organisation, context.roles.owner] }))[0]![0];
}
