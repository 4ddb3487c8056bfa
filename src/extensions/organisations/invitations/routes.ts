import { z } from 'zod';
import { type Route, type RouteContext, recordShape } from '../../../declare/route.ts';
import { emailShape } from '../../../platform/helpers/email-address.ts';
import { loadAccess } from '../membership/context.ts';
import type { Members } from '../membership/members.ts';
import { MEMBERSHIP } from '../membership/resources.ts';
import {
  acceptOrganisationInvitation,
  organisationPreviewShape,
  previewOrganisationInvitation,
  tokenInput,
} from './accept.ts';
import {
  type InvitationContext,
  invitationListQuery,
  inviteInput,
  inviteToOrganisation,
  listOrganisationInvitations,
  resendInvitation,
  revokeOrganisationInvitation,
} from './invite.ts';

/** Resends of one client: enough to go through a page of invitations. */
const RESENDS_A_MINUTE = 30;

const invitationShape = z
  .object({
    id: z.string(),
    organisation: z.string().meta({ description: 'The id of the organisation' }),
    email: emailShape,
    role: z.string(),
    invitedBy: z.string().meta({ description: 'The id of the user who sent the invitation' }),
    status: z.enum(['pending', 'accepted', 'expired']),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
    acceptedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'OrganisationInvitation' });

/** The routes with which members invite others to their organisation, and with which invited users accept. */
export function organisationInvitationRoutes(context: InvitationContext, members: Members): Route[] {
  const tags = ['organisations'];
  const base = '/organisations/:id/invitations';
  const load = (request: Parameters<NonNullable<Route['load']>>[0]) => loadAccess(context, request);
  const uncached = (operation: (ctx: RouteContext) => Promise<unknown>) => (ctx: RouteContext) => {
    ctx.res.setHeader('Cache-Control', 'no-store');
    return operation(ctx);
  };
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
      method: 'GET',
      path: base,
      load,
      query: invitationListQuery,
      output: z.array(invitationShape),
      paged: true,
      errors: ['NOT_FOUND', 'FORBIDDEN'],
      operationId: 'listOrganisationInvitations',
      organisationKeys: true,
      tags,
      summary: 'List the invitations of an organisation, newest first',
      handler: (ctx) => listOrganisationInvitations(context, ctx as never),
    },
    {
      method: 'POST',
      path: `${base}/:invitationId/resend`,
      load,
      rateLimit: { limit: RESENDS_A_MINUTE, windowMs: 60_000 },
      output: invitationShape,
      errors: ['NOT_FOUND', 'FORBIDDEN', 'RATE_LIMITED'],
      operationId: 'resendOrganisationInvitation',
      tags,
      summary: 'Send a new link; the former one stops working',
      handler: (ctx) => resendInvitation(context, ctx),
    },
    {
      method: 'DELETE',
      path: `${base}/:invitationId`,
      load,
      errors: ['NOT_FOUND', 'FORBIDDEN'],
      status: 204,
      operationId: 'revokeOrganisationInvitation',
      tags,
      summary: 'Revoke an invitation that has not been accepted',
      handler: (ctx) => revokeOrganisationInvitation(context, ctx),
    },
    {
      method: 'POST',
      path: '/organisation-invitations/preview',
      policy: 'public',
      rateLimit: 'auth',
      input: tokenInput,
      output: organisationPreviewShape,
      errors: ['INVALID_TOKEN'],
      operationId: 'previewOrganisationInvitation',
      tags,
      summary: 'Read the invitation of a link',
      handler: uncached((ctx) => previewOrganisationInvitation(context, ctx)),
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
