import { z } from 'zod';
import {
  createInvitationShape,
  emailShape,
  invitationRouteParts,
  listInvitations,
  type Route,
  type RouteContext,
  recordShape,
  revokeInvitation,
  withoutCaching,
} from '../../extension/index.ts';
import { acceptInvitation, previewInput, previewInvitation, previewShape } from './accept.ts';
import type { InvitationContext } from './context.ts';
import { createInvitation, inviteInput, renewInvitation } from './invite.ts';
import { assertMayInvite, inviterScope } from './rights.ts';

const invitationShape = createInvitationShape({ email: emailShape, roles: z.array(z.string()) }).meta({
  id: 'Invitation',
});
const tags = ['invitations'];
const targetOf = (ctx: RouteContext) => ({ id: ctx.params.id!, scope: inviterScope(ctx) });

/** The routes with which users invite others. */
function invitingRoutes(context: InvitationContext): Route[] {
  const { invitations } = context;
  const ifAllowed = (operation: (ctx: RouteContext) => Promise<unknown>) => async (ctx: RouteContext) => {
    await assertMayInvite(context, ctx);
    return operation(ctx);
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
      handler: ifAllowed((ctx) => createInvitation(context, ctx.input, ctx)),
    },
    {
      ...invitationRouteParts.list,
      path: '/invitations',
      output: z.array(invitationShape),
      errors: ['FORBIDDEN'],
      operationId: 'listInvitations',
      tags,
      summary: 'List your invitations, newest first; admins see those of every user',
      handler: ifAllowed((ctx) => listInvitations(invitations.store, inviterScope(ctx), ctx.query as never)),
    },
    {
      ...invitationRouteParts.resend,
      path: '/invitations/:id/resend',
      output: invitationShape,
      errors: ['FORBIDDEN', 'NOT_FOUND', 'CONFLICT', 'LIMIT_REACHED', 'RATE_LIMITED'],
      operationId: 'resendInvitation',
      tags,
      handler: ifAllowed((ctx) => renewInvitation(context, targetOf(ctx), ctx)),
    },
    {
      ...invitationRouteParts.revoke,
      path: '/invitations/:id',
      errors: ['FORBIDDEN', 'NOT_FOUND'],
      operationId: 'revokeInvitation',
      tags,
      handler: ifAllowed((ctx) => revokeInvitation(invitations, targetOf(ctx), ctx)),
    },
  ];
}

/** The routes with which users invite others, and accept invitations. */
export function invitationRoutes(context: InvitationContext): Route[] {
  return [
    ...invitingRoutes(context),
    {
      ...invitationRouteParts.preview,
      path: '/auth/invitations/preview',
      input: previewInput,
      output: previewShape,
      operationId: 'previewInvitation',
      tags,
      handler: withoutCaching(context, previewInvitation),
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
      handler: withoutCaching(context, acceptInvitation),
    },
  ];
}
