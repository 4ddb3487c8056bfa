import { z } from 'zod';
import type { CountMail } from '../../accounts/invitation-mails.ts';
import type { Route, RouteContext } from '../../declare/route.ts';
import { recordShape } from '../../declare/route.ts';
import { emailShape } from '../../platform/helpers/email-address.ts';
import { acceptInvitation, previewInput, previewInvitation, previewShape } from './accept.ts';
import type { InvitationContext } from './context.ts';
import { invite, inviteInput, listInvitations, listQuery, resend, revokeInvitation } from './invite.ts';

/** Resends of one client: enough to go through a page of invitations. */
const RESENDS_A_MINUTE = 30;

const invitationShape = z
  .object({
    id: z.string(),
    email: emailShape,
    roles: z.array(z.string()),
    invitedBy: z.string().meta({ description: 'The id of the user who sent the invitation' }),
    status: z.enum(['pending', 'accepted', 'expired']),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
    acceptedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Invitation' });

/** The routes with which users invite others, and accept invitations. */
export function invitationRoutes(context: InvitationContext & { countMail: CountMail }): Route[] {
  const tags = ['invitations'];
  const withContext =
    (
      operation: (
        context: InvitationContext & { countMail: CountMail },
        ctx: RouteContext<never, never, never>,
      ) => Promise<unknown>,
    ) =>
    (ctx: RouteContext) =>
      operation(context, ctx as never);
  const uncached = (operation: Parameters<typeof withContext>[0]) => (ctx: RouteContext) => {
    ctx.res.setHeader('Cache-Control', 'no-store');
    return operation(context, ctx as never);
  };
  return [
    {
      method: 'POST',
      path: '/invitations',
      recentSignIn: true,
      input: inviteInput,
      output: invitationShape,
      errors: ['FORBIDDEN', 'CONFLICT', 'LIMIT_REACHED', 'RATE_LIMITED'],
      status: 201,
      operationId: 'createInvitation',
      tags,
      summary: 'Invite an e-mail address',
      handler: withContext(invite),
    },
    {
      method: 'GET',
      path: '/invitations',
      query: listQuery,
      output: z.array(invitationShape),
      paged: true,
      errors: ['FORBIDDEN'],
      operationId: 'listInvitations',
      tags,
      summary: 'List your invitations, newest first; admins see those of every user',
      handler: withContext(listInvitations),
    },
    {
      method: 'POST',
      path: '/invitations/:id/resend',
      rateLimit: { limit: RESENDS_A_MINUTE, windowMs: 60_000 },
      output: invitationShape,
      errors: ['FORBIDDEN', 'NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
      operationId: 'resendInvitation',
      tags,
      summary: 'Send a new link; the former one stops working',
      handler: withContext(resend),
    },
    {
      method: 'DELETE',
      path: '/invitations/:id',
      errors: ['FORBIDDEN', 'NOT_FOUND'],
      status: 204,
      operationId: 'revokeInvitation',
      tags,
      summary: 'Revoke an invitation that has not been accepted',
      handler: withContext(revokeInvitation),
    },
    {
      method: 'POST',
      path: '/auth/invitations/preview',
      policy: 'public',
      rateLimit: 'auth',
      input: previewInput,
      output: previewShape,
      errors: ['INVALID_TOKEN'],
      operationId: 'previewInvitation',
      tags,
      summary: 'Read the invitation of a link',
      handler: uncached(previewInvitation),
    },
    {
      method: 'POST',
      path: '/auth/invitations/accept',
      policy: 'public',
      rateLimit: 'auth',
      body: 'json',
      bodyShape: z.intersection(
        z.object({ token: z.string() }),
        z.union([recordShape('user', 'register'), recordShape('user', 'update')]),
      ),
      get output() {
        return context.accounts.loginOutput();
      },
      errors: ['INVALID_TOKEN', 'CONFLICT', 'FORBIDDEN', 'RATE_LIMITED', 'VALIDATION_ERROR'],
      operationId: 'acceptInvitation',
      tags,
      summary: 'Accept an invitation: register, or add its roles to your account',
      description:
        'Send the token with the fields that the `mode` of the preview asks for. `register`: the fields of a registration. `claim`: fields that users can change, all optional, without the password. `sign-in`: no further fields; sign in to the account first.',
      handler: uncached(acceptInvitation),
    },
  ];
}
