import { z } from 'zod';
import type { CountMail } from '../../accounts/invitation-mails.ts';
import type { RouteContext } from '../../declare/route.ts';
import { isStorable, UNSTORABLE } from '../../platform/data/postgres/values.ts';
import { emailInput } from '../../platform/helpers/email-address.ts';
import { ApiError, validationError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { boundedArraySchema } from '../../platform/helpers/json/bounded-array.ts';
import { preferredLocaleOf } from '../../platform/helpers/locale.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import { withMeta } from '../../platform/http/response.ts';
import type { InvitationContext } from './context.ts';
import { INVITATION_MAIL } from './mail.ts';
import { assertMayInvite, findRolesError, inviterScope, isInviterEntitled, SYSTEM_INVITER } from './rights.ts';
import type { Invitation } from './tables.ts';

const MAX_ROLES = 50;
const MAX_LIMIT = 200;

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

const limitError = { error: `Must be a whole number from 1 to ${MAX_LIMIT}` };

/** The query of `GET /invitations`. */
export const listQuery = z.strictObject({
  status: z
    .enum(['pending', 'accepted', 'expired'], { error: 'Must be one of: pending, accepted, expired' })
    .optional(),
  after: z
    .string()
    .refine(isId, { error: 'Must be an id' })
    .optional()
    .meta({ description: 'The `meta.next` of the previous page' }),
  limit: z.coerce.number(limitError).int(limitError).min(1, limitError).max(MAX_LIMIT, limitError).default(50),
});

const toEvent = ({ id, email, roles }: Invitation, ctx: RouteContext) => ({
  userId: ctx.user?.id ?? null,
  invitationId: id,
  email,
  roles,
  ip: addressOf(ctx.req),
});

/** `POST /invitations`. */
export async function invite(
  context: InvitationContext & { countMail: CountMail },
  ctx: RouteContext<z.output<typeof inviteInput>>,
): Promise<Invitation> {
  await assertMayInvite(context, ctx);
  return createInvitation(context, ctx.input, ctx);
}

function obstacleError(obstacle: 'full' | 'taken', maxPending: number): ApiError {
  if (obstacle === 'full') return new ApiError('LIMIT_REACHED', `You have ${maxPending} pending invitations`);
  return new ApiError('CONFLICT', 'This address is already invited', { details: { email: 'Is already invited' } });
}

/**
 * Creates an invitation of the caller, who has been checked; without a caller, an invitation of the system.
 *
 * @throws ApiError VALIDATION_ERROR, LIMIT_REACHED, CONFLICT or RATE_LIMITED
 */
export async function createInvitation(
  context: InvitationContext & { countMail: CountMail },
  input: z.output<typeof inviteInput>,
  ctx: RouteContext,
): Promise<Invitation> {
  const { host, accounts, settings, store, countMail } = context;
  const roles = [...new Set(input.roles)];
  const refused = findRolesError(context, ctx.user, roles);
  if (refused !== undefined) throw validationError({ roles: refused });
  // The invitation gives the roles later, so it is confirmed as if it gave them now.
  if (await accounts.power.isPrivileged({ id: '', roles })) await accounts.power.confirm(ctx, undefined, input.code);
  const given = { email: input.email, roles, invitedBy: ctx.user?.id ?? SYSTEM_INVITER };
  const limits = { days: settings.expiresDays, maxPending: settings.maxPending };
  // Requests that send nothing do not use up the limit of the address. The transaction checks again, and must not wait for the count.
  const obstacle = await store.findObstacle(given, limits.maxPending);
  if (obstacle !== undefined) throw obstacleError(obstacle, limits.maxPending);
  await countMail(given.email);
  return host.transaction(async (tx) => {
    if (ctx.user !== undefined) await accounts.holdCredential(ctx, tx.database);
    const created = await store.create(given, limits, tx.database);
    if (created === 'full' || created === 'taken') throw obstacleError(created, limits.maxPending);
    const data = { invitation: created.id, locale: preferredLocaleOf(ctx.req) };
    await host.mail.sendComposed(INVITATION_MAIL, data, tx);
    tx.afterCommit(() => host.events.emit('auth.invitation_sent', toEvent(created, ctx)));
    return created;
  });
}

/** `POST /invitations/:id/resend`: sends a new link, which works for the whole time again; the former one ends. */
export async function resend(
  context: InvitationContext & { countMail: CountMail },
  ctx: RouteContext,
): Promise<Invitation> {
  await assertMayInvite(context, ctx);
  return renewInvitation(context, { id: ctx.params.id!, scope: inviterScope(ctx) }, ctx);
}

/** An invitation, if it was sent by the inviter `scope`; undefined: by any inviter. */
interface InvitationTarget {
  id: string;
  scope: string | undefined;
}

/**
 * Sends a new link. The caller, if there is one, has been checked.
 *
 * @throws ApiError NOT_FOUND, FORBIDDEN, CONFLICT or RATE_LIMITED
 */
export async function renewInvitation(
  context: InvitationContext & { countMail: CountMail },
  { id, scope }: InvitationTarget,
  ctx: RouteContext,
): Promise<Invitation> {
  const { host, accounts, settings, store, countMail } = context;
  const invitation = isId(id) ? await store.find(id, scope) : undefined;
  if (invitation === undefined) throw new ApiError('NOT_FOUND');
  if (findRolesError(context, ctx.user, invitation.roles) !== undefined)
    throw new ApiError('FORBIDDEN', 'You are not allowed to grant the roles of this invitation');
  if (!(await isInviterEntitled(context, invitation)))
    throw new ApiError('CONFLICT', 'The inviter can no longer invite; revoke this invitation and create a new one');
  // Before the former link ends, and outside the transaction, which must not wait for the count.
  await countMail(invitation.email);
  return host.transaction(async (tx) => {
    if (ctx.user !== undefined) await accounts.holdCredential(ctx, tx.database);
    const renewed = await store.renew(id, scope, settings.expiresDays, tx.database);
    if (renewed === undefined) throw new ApiError('NOT_FOUND');
    await host.mail.sendComposed(INVITATION_MAIL, { invitation: id, locale: preferredLocaleOf(ctx.req) }, tx);
    return renewed;
  });
}

/** `DELETE /invitations/:id`: the link stops working. */
export async function revokeInvitation(context: InvitationContext, ctx: RouteContext): Promise<void> {
  await assertMayInvite(context, ctx);
  await removeInvitation(context, { id: ctx.params.id!, scope: inviterScope(ctx) }, ctx);
}

/** Removes an invitation that has not been accepted. The caller, if there is one, has been checked. @throws ApiError NOT_FOUND */
export async function removeInvitation(
  context: InvitationContext,
  { id, scope }: InvitationTarget,
  ctx: RouteContext,
): Promise<void> {
  const { host, store } = context;
  const removed = isId(id) ? await store.remove(id, scope, host.database) : undefined;
  if (removed === undefined) throw new ApiError('NOT_FOUND');
  host.events.emit('auth.invitation_revoked', toEvent(removed, ctx));
}

/** `GET /invitations`: those of the caller; admins see all. */
export async function listInvitations(
  context: InvitationContext,
  ctx: RouteContext<unknown, unknown, z.output<typeof listQuery>>,
) {
  await assertMayInvite(context, ctx);
  const { status, after, limit } = ctx.query;
  const invitedBy = inviterScope(ctx);
  const found = await context.store.list({ invitedBy, status, after, limit: limit + 1 });
  const page = found.slice(0, limit);
  return withMeta(page, { limit, next: found.length > limit ? page.at(-1)!.id : null });
}
