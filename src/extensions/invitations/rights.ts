import {
  ApiError,
  allowsAction,
  allowsEveryRecord,
  compilePolicy,
  type Fields,
  isAccountActive,
  type RouteContext,
  type StoredRecord,
  type Viewer,
} from '../../extension/index.ts';
import type { InvitationContext } from './context.ts';
import type { Invitation } from './tables.ts';

/** Stands for the id of the inviter in invitations of the system: those that are sent in the console of a development machine. */
export const SYSTEM_INVITER = 'system';

type RightsContext = Pick<InvitationContext, 'host' | 'users' | 'settings'>;

/** Whether the policy setting lets a user invite. Functions in it decide as well. */
async function isInvitingAllowed(
  { settings, host }: RightsContext,
  { user, req }: Pick<RouteContext, 'user'> & { req: RouteContext['req'] | undefined },
): Promise<boolean> {
  return allowsAction(settings.policy, { user, action: 'invite', doc: undefined, req, service: host.service }, false);
}

/** Checks that the caller has a session, and that the policy setting lets them invite. @throws ApiError UNAUTHORIZED or FORBIDDEN */
export async function assertMayInvite(
  context: RightsContext,
  { user, auth, req }: Pick<RouteContext, 'user' | 'auth' | 'req'>,
): Promise<void> {
  if (user === undefined) throw new ApiError('UNAUTHORIZED');
  // An invitation outlives a key and can grant roles, so it needs the person.
  if (auth?.via !== 'session') throw new ApiError('FORBIDDEN', 'An API key cannot be used here');
  if (!(await isInvitingAllowed(context, { user, req }))) throw new ApiError('FORBIDDEN');
}

/** Returns the id of the caller, or undefined for an admin, who manages the invitations of every user. */
export function inviterScope({ user }: Pick<RouteContext, 'user'>): string | undefined {
  return user!.roles?.includes('admin') ? undefined : user!.id;
}

/** Returns the roles that users can have. */
function declaredRoles({ users }: Pick<InvitationContext, 'users'>): readonly string[] {
  return (users.declaration.fields as Fields).roles?.spec.inner?.spec.values ?? [];
}

/** Returns the roles that an invitation can add to those of every new user. */
export function additionalRoles({ users }: Pick<InvitationContext, 'users'>): readonly string[] {
  const initial = (users.declaration.fields as Fields).roles?.spec.default;
  return declaredRoles({ users }).filter((role) => !Array.isArray(initial) || !initial.includes(role));
}

/**
 * Returns the reason why a user cannot grant these roles: they must be declared, and the user must be able to set them on a user. The system,
 * for which `user` is undefined, can grant all declared roles.
 */
export function findRolesError(
  { users }: Pick<InvitationContext, 'users'>,
  user: Viewer | undefined,
  roles: readonly string[],
): string | undefined {
  const declared = declaredRoles({ users });
  if (roles.some((role) => !declared.includes(role))) return `Must be some of: ${declared.join(', ')}`;
  if (roles.length === 0 || user === undefined) return undefined;
  const field = (users.declaration.fields as Fields).roles;
  const writers = compilePolicy(field?.spec.writableBy ?? 'none', () => undefined);
  return allowsEveryRecord(writers, user) ? undefined : 'You are not allowed to set this field';
}

/**
 * Whether the inviter of an invitation still has the rights that it needs: an active account, permission to invite, and permission to grant
 * the roles. An invitation must not give more than its inviter could give now.
 */
export async function isInviterEntitled(
  context: RightsContext,
  { invitedBy, roles }: Pick<Invitation, 'invitedBy' | 'roles'>,
): Promise<boolean> {
  if (invitedBy === SYSTEM_INVITER) return findRolesError(context, undefined, roles) === undefined;
  const [inviter] = (await context.users.load([invitedBy])) as (StoredRecord & Viewer)[];
  if (inviter === undefined || !isAccountActive(inviter)) return false;
  if (findRolesError(context, inviter, roles) !== undefined) return false;
  return isInvitingAllowed(context, { user: inviter, req: undefined });
}
