import { z } from 'zod';
import {
  ApiError,
  boundedArraySchema,
  emailInput,
  type InvitationTarget,
  isStorable,
  type RouteContext,
  resendInvitation,
  sendInvitation,
  UNSTORABLE,
  validationError,
} from '../../extension/index.ts';
import type { InvitationContext } from './context.ts';
import { findRolesError, isInviterEntitled, SYSTEM_INVITER } from './rights.ts';
import type { Invitation } from './tables.ts';

const MAX_ROLES = 50;

/** The body of `POST /invitations`. */
export const inviteInput = z.strictObject({
  email: emailInput,
  roles: boundedArraySchema(
    z.string({ error: 'Must be a string' }).max(100, { error: 'Must be at most 100 characters' }).refine(isStorable, {
      error: UNSTORABLE,
    }),
    { min: 0, max: MAX_ROLES, error: 'Must be an array of roles' },
  )
    .optional()
    .meta({
      description: 'Roles in addition to those of every new user; requires that you may set the roles of users',
    }),
  code: z
    .string({ error: 'Must be a string' })
    .max(64, { error: 'Must be at most 64 characters' })
    .optional()
    .meta({ description: 'A code of your second factor; required if you have one and the roles are privileged' }),
});

/**
 * Creates an invitation of the caller, who has been checked; without a caller, an invitation of the system.
 *
 * @throws ApiError VALIDATION_ERROR, LIMIT_REACHED, CONFLICT or RATE_LIMITED
 */
export async function createInvitation(
  context: InvitationContext,
  input: z.output<typeof inviteInput>,
  ctx: RouteContext,
): Promise<Invitation> {
  const { accounts, invitations } = context;
  const roles = [...new Set(input.roles)];
  const refused = findRolesError(context, ctx.user, roles);
  if (refused !== undefined) throw validationError({ roles: refused });
  // The invitation gives the roles later, so it is confirmed as if it gave them now.
  if (await accounts.power.isPrivileged({ id: '', roles })) await accounts.power.confirm(ctx, undefined, input.code);
  const invitedBy = ctx.user?.id ?? SYSTEM_INVITER;
  return sendInvitation(invitations, { scope: invitedBy, invitedBy, content: { email: input.email, roles } }, ctx);
}

/**
 * Sends a new link. The caller, if there is one, has been checked.
 *
 * @throws ApiError NOT_FOUND, FORBIDDEN, CONFLICT, LIMIT_REACHED or RATE_LIMITED
 */
export function renewInvitation(
  context: InvitationContext,
  target: InvitationTarget,
  ctx: RouteContext,
): Promise<Invitation> {
  async function check(invitation: Invitation): Promise<void> {
    if (findRolesError(context, ctx.user, invitation.roles) !== undefined)
      throw new ApiError('FORBIDDEN', 'You are not allowed to grant the roles of this invitation');
    if (!(await isInviterEntitled(context, invitation)))
      throw new ApiError('CONFLICT', 'The inviter can no longer invite; revoke this invitation and create a new one');
  }
  return resendInvitation(context.invitations, target, { check }, ctx);
}
