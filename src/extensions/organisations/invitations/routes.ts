import { z } from 'zod';
import {
  ApiError,
  createInvitationShape,
  emailShape,
  invitationRouteParts,
  listInvitations,
  type Route,
  type RouteContext,
  recordShape,
  revokeInvitation,
  withoutCaching,
} from '../../../extension/index.ts';
import { type Access, loadAccess } from '../membership/context.ts';
import type { Members } from '../membership/members.ts';
import { MEMBERSHIP } from '../membership/resources.ts';
import {
  acceptOrganisationInvitation,
  organisationPreviewShape,
  previewOrganisationInvitation,
  tokenInput,
} from './accept.ts';
import {
  assertMayInvite,
  type InvitationContext,
  inviteInput,
  inviteToOrganisation,
  resendOrganisationInvitation,
} from './invite.ts';

const invitationShape = createInvitationShape({
  organisation: z.string().meta({ description: 'The id of the organisation' }),
  email: emailShape,
  role: z.string(),
}).meta({ id: 'OrganisationInvitation' });
const tags = ['organisations'];

/** The routes with which members invite others to their organisation. */
function invitingRoutes(context: InvitationContext): Route[] {
  const base = '/organisations/:id/invitations';
  const { invitations, roles } = context;
  const load = (request: Parameters<NonNullable<Route['load']>>[0]) => loadAccess(context, request);
  return [
    {
      method: 'POST',
      path: base,
      load,
      input: inviteInput,
      output: invitationShape,
      errors: ['NOT_FOUND', 'FORBIDDEN', 'CONFLICT', 'LIMIT_REACHED', 'RATE_LIMITED'],
      status: 201,
      operationId: 'inviteToOrganisation',
      tags,
      summary: 'Invite an e-mail address to an organisation',
      handler: (ctx) => inviteToOrganisation(context, ctx),
    },
    {
      ...invitationRouteParts.list,
      path: base,
      load,
      output: z.array(invitationShape),
      errors: ['NOT_FOUND', 'FORBIDDEN'],
      operationId: 'listOrganisationInvitations',
      organisationKeys: true,
      tags,
      summary: 'List the invitations of an organisation, newest first',
      handler({ doc, query }: RouteContext<unknown, Access>) {
        if (!roles.manages(doc.role)) throw new ApiError('FORBIDDEN');
        return listInvitations(invitations.store, doc.organisation, query as never);
      },
    },
    {
      ...invitationRouteParts.resend,
      path: `${base}/:invitationId/resend`,
      load,
      output: invitationShape,
      errors: ['NOT_FOUND', 'FORBIDDEN', 'LIMIT_REACHED', 'RATE_LIMITED'],
      operationId: 'resendOrganisationInvitation',
      tags,
      handler: (ctx) => resendOrganisationInvitation(context, ctx),
    },
    {
      ...invitationRouteParts.revoke,
      path: `${base}/:invitationId`,
      load,
      errors: ['NOT_FOUND', 'FORBIDDEN'],
      operationId: 'revokeOrganisationInvitation',
      tags,
      handler(ctx: RouteContext<unknown, Access>) {
        assertMayInvite(context, ctx);
        return revokeInvitation(invitations, { id: ctx.params.invitationId!, scope: ctx.doc.organisation }, ctx);
      },
    },
  ];
}

/** The routes with which members invite others to their organisation, and with which invited users accept. */
export function organisationInvitationRoutes(context: InvitationContext, members: Members): Route[] {
  return [
    ...invitingRoutes(context),
    {
      ...invitationRouteParts.preview,
      path: '/organisation-invitations/preview',
      input: tokenInput,
      output: organisationPreviewShape,
      operationId: 'previewOrganisationInvitation',
      tags,
      handler: withoutCaching(context, previewOrganisationInvitation),
    },
    {
      method: 'POST',
      path: '/organisation-invitations/accept',
      rateLimit: 'auth',
      input: tokenInput,
      output: recordShape(MEMBERSHIP),
      errors: ['INVALID_TOKEN', 'FORBIDDEN', 'LIMIT_REACHED'],
      operationId: 'acceptOrganisationInvitation',
      tags,
      summary: 'Accept an invitation: sign in with the invited address first',
      handler: (ctx) => acceptOrganisationInvitation(context, members, ctx),
    },
  ];
}
