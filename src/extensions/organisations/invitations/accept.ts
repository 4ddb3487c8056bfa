import { z } from 'zod';
import {
  ApiError,
  addressOf,
  type Executor,
  findInvitationByToken,
  invalidInvitationError,
  type RouteContext,
  requiredTextSchema,
} from '../../../extension/index.ts';
import type { Membership } from '../membership/context.ts';
import type { Members } from '../membership/members.ts';
import { ORGANISATION } from '../membership/resources.ts';
import type { InvitationContext } from './invite.ts';

/** The body that names an invitation by the token of its link. */
export const tokenInput = z.strictObject({ token: requiredTextSchema(200) });

/** An invitation as the owner of the link sees it. */
export const organisationPreviewShape = z
  .object({
    organisation: z.object({ name: z.string(), slug: z.string() }),
    email: z.string().meta({ description: 'The invited address; only a user with this address can accept' }),
    role: z.string(),
    expiresAt: z.iso.datetime(),
  })
  .meta({ id: 'OrganisationInvitationPreview' });

/** `POST /organisation-invitations/preview`. */
export async function previewOrganisationInvitation(
  context: InvitationContext,
  ctx: RouteContext<z.output<typeof tokenInput>>,
): Promise<z.output<typeof organisationPreviewShape>> {
  const {
    organisation: id,
    email,
    role,
    expiresAt,
  } = await findInvitationByToken(context.invitations, ctx.input.token);
  const organisation = await context.host.service(ORGANISATION).first({ id }, { as: 'system' });
  if (organisation === undefined) throw invalidInvitationError();
  const { name, slug } = organisation as unknown as { name: string; slug: string };
  return { organisation: { name, slug }, email, role, expiresAt };
}

/** Locks the organisation of an invitation. An invitation does not work if its organisation was deleted. @throws ApiError INVALID_TOKEN */
async function lockOrganisationOf(
  { lock }: InvitationContext['invitations'],
  organisation: string,
  tx: Executor,
): Promise<void> {
  try {
    await lock(organisation, tx);
  } catch (error) {
    throw error instanceof ApiError && error.code === 'NOT_FOUND' ? invalidInvitationError() : error;
  }
}

/**
 * `POST /organisation-invitations/accept`: makes the caller a member. The link alone is not enough: the caller must be signed in with the invited
 * address. The role of an existing member does not change.
 */
export async function acceptOrganisationInvitation(
  context: InvitationContext,
  members: Members,
  ctx: RouteContext<z.output<typeof tokenInput>>,
): Promise<Membership> {
  const { host, accounts, invitations } = context;
  const { token } = ctx.input;
  if (ctx.auth?.via !== 'session') throw new ApiError('FORBIDDEN', 'An API key cannot be used here');
  const invitation = await findInvitationByToken(invitations, token);
  return host.transaction(async (tx) => {
    await accounts.holdCredential(ctx, tx.database);
    const locked = await accounts.lockUser(ctx.user!.id, tx.database);
    // Read now that the row is locked: the address may just have been changed.
    if (String(locked?.user.email).toLowerCase() !== invitation.email)
      throw new ApiError('FORBIDDEN', 'This invitation is for another e-mail address; sign in with that address');
    const { organisation, role } = invitation;
    // Before the invitation, as those who send it again do: a different order could deadlock.
    await lockOrganisationOf(invitations, organisation, tx.database);
    if (!(await invitations.store.accept(invitation.id, token, ctx.user!.id, tx.database)))
      throw invalidInvitationError();
    const membership = await members.add({ organisation, user: ctx.user!.id, role }, tx);
    // The organisation is locked, so the inviter cannot lose the right before the commit.
    if (!(await invitations.isInviterEntitled(invitation, tx.service))) throw invalidInvitationError();
    const { id: invitationId, invitedBy: by } = invitation;
    const payload = { userId: ctx.user!.id, invitationId, organisation, by, ip: addressOf(ctx.req) };
    tx.afterCommit(() => host.events.emit('organisation.invitation_accepted', payload));
    return membership;
  });
}
