import { z } from 'zod';
import { createProofLink } from '../../../accounts/email-proofs/link.ts';
import type { CountMail } from '../../../accounts/invitation-mails.ts';
import { isAccountActive } from '../../../declare/actor.ts';
import type { RouteContext } from '../../../declare/route.ts';
import type { Services } from '../../../declare/service.ts';
import { generateToken } from '../../../platform/data/crypto/token.ts';
import type { Executor } from '../../../platform/data/postgres/queryable.ts';
import { emailInput } from '../../../platform/helpers/email-address.ts';
import { ApiError, validationError } from '../../../platform/helpers/errors.ts';
import { isId } from '../../../platform/helpers/ids.ts';
import { localeOfUser, preferredLocaleOf } from '../../../platform/helpers/locale.ts';
import { addressOf } from '../../../platform/http/client-address.ts';
import { withMeta } from '../../../platform/http/response.ts';
import type { MailComposer } from '../../../platform/mail/worker.ts';
import { type Access, createOrganisationLock, findRole, type OrganisationContext } from '../membership/context.ts';
import type { InvitationStore, OrganisationInvitation } from './store.ts';

/** The kind of the e-mail with the link. Its data: `{ invitation, locale? }`. */
export const INVITATION_MAIL = 'organisation-invitation';

const MAX_LIMIT = 200;
const limitError = { error: `Must be a whole number from 1 to ${MAX_LIMIT}` };

/** The dependencies of invitations. */
export interface InvitationContext extends OrganisationContext {
  store: InvitationStore;
  countMail: CountMail;
  /** Counts an invitation against the setting `perDay`. Revoked invitations count, too. */
  countMailOfOrganisation: CountMail;
}

/** The body of `POST /organisations/:id/invitations`. */
export const inviteInput = z.strictObject({
  email: emailInput,
  role: z
    .string({ error: 'Must be a string' })
    .max(100, { error: 'Must be at most 100 characters' })
    .optional()
    .meta({ description: 'The role of the new member. Default: the least powerful one' }),
});

/** The query of `GET /organisations/:id/invitations`. */
export const invitationListQuery = z.strictObject({
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

/**
 * Whether the inviter could still give the role: an active account, and a role in the organisation that manages members and includes the one to
 * give. An invitation must not give more than its inviter could give now.
 */
export async function isInviterEntitled(
  context: Pick<OrganisationContext, 'users' | 'roles' | 'settings'>,
  { invitedBy, organisation, role }: Pick<OrganisationInvitation, 'invitedBy' | 'organisation' | 'role'>,
  service: Services,
): Promise<boolean> {
  const [inviter] = await context.users.load([invitedBy]);
  if (inviter === undefined || !isAccountActive(inviter)) return false;
  const own = await findRole(context, inviter, organisation, service);
  return own !== undefined && context.roles.manages(own) && context.roles.includes(own, role);
}

/**
 * Checks that the caller manages the organisation and uses a session: an invitation outlives a key.
 *
 * @throws ApiError FORBIDDEN
 */
function assertMayInvite({ roles }: OrganisationContext, { auth, doc }: RouteContext<unknown, Access>): void {
  if (auth?.via !== 'session') throw new ApiError('FORBIDDEN', 'An API key cannot be used here');
  if (!roles.manages(doc.role)) throw new ApiError('FORBIDDEN');
}

function assertMayGrant({ roles }: OrganisationContext, { role }: Access, granted: string): void {
  if (!roles.all.includes(granted)) throw validationError({ role: `Must be one of: ${roles.all.join(', ')}` });
  if (!roles.includes(role, granted))
    throw new ApiError('FORBIDDEN', `Your role does not allow you to give, change or remove this role: ${granted}`);
}

/** Checks that an organisation may have one more pending invitation: in a transaction, once its row is locked, for certain. */
async function assertMayHaveOneMore({ settings, store }: InvitationContext, organisation: string, on: Executor) {
  const { maxPending } = settings.invitations;
  if ((await store.countPending(organisation, on)) >= maxPending)
    throw new ApiError(
      'LIMIT_REACHED',
      `The organisation has ${maxPending} pending invitations, the maximum; revoke one, or wait until one is accepted or expires`,
    );
}

function alreadyInvitedError(): ApiError {
  return new ApiError('CONFLICT', 'This address is already invited', { details: { email: 'Is already invited' } });
}

const toEvent = ({ id, organisation, email, role }: OrganisationInvitation, ctx: RouteContext) => ({
  userId: ctx.user!.id,
  invitationId: id,
  organisation,
  email,
  role,
  ip: addressOf(ctx.req),
});

/** `POST /organisations/:id/invitations`. */
export async function inviteToOrganisation(
  context: InvitationContext,
  ctx: RouteContext<z.output<typeof inviteInput>, Access>,
): Promise<OrganisationInvitation> {
  assertMayInvite(context, ctx);
  const { host, accounts, settings, store, roles, countMail, countMailOfOrganisation } = context;
  const { organisation } = ctx.doc;
  const { email, role = roles.least } = ctx.input;
  assertMayGrant(context, ctx.doc, role);
  const lock = createOrganisationLock(context);
  // Requests that send nothing do not use up the limit of the address. The transaction checks again, and must not wait for the counts.
  await assertMayHaveOneMore(context, organisation, host.database);
  if (await store.isInvited(organisation, email)) throw alreadyInvitedError();
  await countMail(email);
  await countMailOfOrganisation(organisation);
  return host.transaction(async (tx) => {
    await accounts.holdCredential(ctx, tx.database);
    await lock(organisation, tx.database);
    await assertMayHaveOneMore(context, organisation, tx.database);
    const given = { organisation, email, role, invitedBy: ctx.user!.id };
    const created = await store.create(given, settings.invitations.expiresDays, tx.database);
    if (created === undefined) throw alreadyInvitedError();
    const data = { invitation: created.id, locale: preferredLocaleOf(ctx.req) };
    await host.mail.sendComposed(INVITATION_MAIL, data, tx);
    tx.afterCommit(() => host.events.emit('organisation.invitation_sent', toEvent(created, ctx)));
    return created;
  });
}

/** `POST /organisations/:id/invitations/:invitationId/resend`: sends a new link in the name of the caller; the former link ends. */
export async function resendInvitation(
  context: InvitationContext,
  ctx: RouteContext<unknown, Access>,
): Promise<OrganisationInvitation> {
  assertMayInvite(context, ctx);
  const { host, accounts, settings, store, countMail, countMailOfOrganisation } = context;
  const { organisation } = ctx.doc;
  const id = ctx.params.invitationId!;
  const lock = createOrganisationLock(context);
  const invitation = isId(id) ? await store.find(id, host.database) : undefined;
  if (invitation?.organisation !== organisation) throw new ApiError('NOT_FOUND');
  assertMayGrant(context, ctx.doc, invitation.role);
  // Before the former link ends, and outside the transaction, which must not wait for the counts.
  await countMail(invitation.email);
  await countMailOfOrganisation(organisation);
  return host.transaction(async (tx) => {
    await accounts.holdCredential(ctx, tx.database);
    await lock(organisation, tx.database);
    const given = { id, organisation, invitedBy: ctx.user!.id };
    const renewed = await store.renew(given, settings.invitations.expiresDays, tx.database);
    if (renewed === undefined) throw new ApiError('NOT_FOUND');
    await host.mail.sendComposed(INVITATION_MAIL, { invitation: id, locale: preferredLocaleOf(ctx.req) }, tx);
    return renewed;
  });
}

/** `DELETE /organisations/:id/invitations/:invitationId`: the link stops working. */
export async function revokeOrganisationInvitation(
  context: InvitationContext,
  ctx: RouteContext<unknown, Access>,
): Promise<void> {
  assertMayInvite(context, ctx);
  const { host, store } = context;
  const id = ctx.params.invitationId!;
  const removed = isId(id) ? await store.remove(id, ctx.doc.organisation, host.database) : undefined;
  if (removed === undefined) throw new ApiError('NOT_FOUND');
  host.events.emit('organisation.invitation_revoked', toEvent(removed, ctx));
}

/** `GET /organisations/:id/invitations`. */
export async function listOrganisationInvitations(
  context: InvitationContext,
  ctx: RouteContext<unknown, Access, z.output<typeof invitationListQuery>>,
): Promise<unknown> {
  if (!context.roles.manages(ctx.doc.role)) throw new ApiError('FORBIDDEN');
  const { status, after, limit } = ctx.query;
  const { organisation } = ctx.doc;
  const found = await context.store.list({ organisation, status, after, limit: limit + 1 });
  const page = found.slice(0, limit);
  return withMeta(page, { limit, next: found.length > limit ? page.at(-1)!.id : null });
}

/** Creates the composer of the e-mail. It creates the token while composing, so that only its hash is stored. */
export function createInvitationComposer(context: InvitationContext): MailComposer {
  const { host, accounts, settings, store } = context;
  const { url, expiresDays } = settings.invitations;
  return async ({ data }) => {
    const id = String(data.invitation);
    const invitation = await store.find(id, host.database);
    if (invitation?.status !== 'pending' || !(await isInviterEntitled(context, invitation, host.service)))
      return undefined;
    const token = generateToken();
    const user = await accounts.findUserByEmail(invitation.email);
    const about = {
      link: createProofLink(host, url, '/organisation-invitation', token),
      minutes: expiresDays * 1440,
    };
    const text = await host.mailTexts.render(INVITATION_MAIL, about, localeOfUser(user ?? {}, data.locale));
    return (await store.issue(id, token)) ? { to: invitation.email, ...text } : undefined;
  };
}
