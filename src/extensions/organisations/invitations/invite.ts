import { z } from 'zod';
import {
  ApiError,
  createInvitationMailCounter,
  createInvitationStore,
  DAY_MS,
  emailInput,
  INVITATION_MAIL_LIMIT,
  type Invitation,
  type Invitations,
  type InvitationTable,
  isAccountActive,
  type RouteContext,
  resendInvitation,
  type Services,
  sendInvitation,
  validationError,
} from '../../../extension/index.ts';
import { type Access, createOrganisationLock, findRole, type OrganisationContext } from '../membership/context.ts';

/** What an invitation is for. */
interface Content {
  organisation: string;
  email: string;
  role: string;
}

/** An invitation to an organisation, as its managers see it. */
type OrganisationInvitation = Invitation<Content>;

/** An organisation has a number of pending invitations, one of each address. Its managers see all of them. */
const INVITATION_TABLE: InvitationTable<Content> = {
  name: 'organisation_invitations',
  content: ['organisation', 'email', 'role'],
  scope: 'organisation',
  uniqueBy: ['organisation', 'email'],
};

/** The dependencies of invitations. */
export interface InvitationContext extends OrganisationContext {
  invitations: Invitations<Content>;
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

/**
 * Whether the inviter could still give the role: an active account, and a role in the organisation that manages members and includes the one to
 * give. An invitation must not give more than its inviter could give now.
 */
async function isInviterEntitled(
  context: Pick<OrganisationContext, 'users' | 'roles' | 'settings'>,
  { invitedBy, organisation, role }: Pick<OrganisationInvitation, 'invitedBy' | 'organisation' | 'role'>,
  service: Services,
): Promise<boolean> {
  const [inviter] = await context.users.load([invitedBy]);
  if (inviter === undefined || !isAccountActive(inviter)) return false;
  const own = await findRole(context, inviter, organisation, service);
  return own !== undefined && context.roles.manages(own) && context.roles.includes(own, role);
}

/** Creates the invitations to organisations. */
export function createOrganisationInvitations(context: OrganisationContext): Invitations<Content> {
  const { host, accounts, settings } = context;
  const { maxPending, perDay } = settings.invitations;
  const countMail = createInvitationMailCounter(host, INVITATION_MAIL_LIMIT);
  // Revoked invitations count, too.
  const countMailOfOrganisation = createInvitationMailCounter(
    host,
    { limit: perDay, windowMs: DAY_MS },
    {
      name: 'organisation invitations',
      message: 'The organisation has sent too many invitations today; try again later',
    },
  );
  return {
    host,
    accounts,
    table: INVITATION_TABLE,
    store: createInvitationStore(host.database, INVITATION_TABLE),
    settings: settings.invitations,
    mail: 'organisation-invitation',
    events: 'organisation.invitation',
    limitText: `The organisation has ${maxPending} pending invitations, the maximum; revoke one, or wait until one is accepted or expires`,
    async countMail({ email, organisation }) {
      await countMail(email);
      await countMailOfOrganisation(organisation);
    },
    lock: createOrganisationLock(context),
    isInviterEntitled: (invitation, service) => isInviterEntitled(context, invitation, service),
  };
}

/**
 * Checks that the caller manages the organisation and uses a session: an invitation outlives a key.
 *
 * @throws ApiError FORBIDDEN
 */
export function assertMayInvite({ roles }: OrganisationContext, { auth, doc }: RouteContext<unknown, Access>): void {
  if (auth?.via !== 'session') throw new ApiError('FORBIDDEN', 'An API key cannot be used here');
  if (!roles.manages(doc.role)) throw new ApiError('FORBIDDEN');
}

function assertMayGrant({ roles }: OrganisationContext, { role }: Access, granted: string): void {
  if (!roles.all.includes(granted)) throw validationError({ role: `Must be one of: ${roles.all.join(', ')}` });
  if (!roles.includes(role, granted))
    throw new ApiError('FORBIDDEN', `Your role does not allow you to give, change or remove this role: ${granted}`);
}

/** `POST /organisations/:id/invitations`. */
export function inviteToOrganisation(
  context: InvitationContext,
  ctx: RouteContext<z.output<typeof inviteInput>, Access>,
): Promise<OrganisationInvitation> {
  assertMayInvite(context, ctx);
  const { organisation } = ctx.doc;
  const { email, role = context.roles.least } = ctx.input;
  assertMayGrant(context, ctx.doc, role);
  const given = { scope: organisation, invitedBy: ctx.user!.id, content: { organisation, email, role } };
  return sendInvitation(context.invitations, given, ctx);
}

/** `POST /organisations/:id/invitations/:invitationId/resend`: sends a new link in the name of the caller; the former link ends. */
export function resendOrganisationInvitation(
  context: InvitationContext,
  ctx: RouteContext<unknown, Access>,
): Promise<OrganisationInvitation> {
  assertMayInvite(context, ctx);
  const { invitations } = context;
  const scope = ctx.doc.organisation;
  const options = {
    invitedBy: ctx.user!.id,
    check: ({ role }: Content) => assertMayGrant(context, ctx.doc, role),
  };
  return resendInvitation(invitations, { id: ctx.params.invitationId!, scope }, options, ctx);
}
