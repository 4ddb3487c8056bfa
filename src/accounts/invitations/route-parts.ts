import { z } from 'zod';
import type { Route } from '../../declare/route.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { countParameter } from '../../platform/helpers/pages.ts';
import { withMeta } from '../../platform/http/response.ts';
import type { InvitationContent, InvitationStore } from './store.ts';

const statuses = ['pending', 'accepted', 'expired'] as const;

const listQuery = z.strictObject({
  status: z.enum(statuses, { error: `Must be one of: ${statuses.join(', ')}` }).optional(),
  after: z
    .string()
    .refine(isId, { error: 'Must be an id' })
    .optional()
    .meta({ description: 'The `meta.next` of the previous page' }),
  limit: countParameter(200, 50),
});

/** Creates the schema of an invitation in responses. @param content the schemas of what the invitation is for */
export const createInvitationShape = <Content extends z.ZodRawShape>(content: Content) =>
  z.object({
    id: z.string(),
    ...content,
    invitedBy: z.string().meta({ description: 'The id of the user who sent the invitation' }),
    status: z.enum(statuses),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
    acceptedAt: z.iso.datetime().nullable(),
  });

/** The parts of routes that are the same for all kinds of invitations. */
export const invitationRouteParts = {
  list: { method: 'GET', query: listQuery, paged: true },
  resend: {
    method: 'POST',
    // Enough to go through a page of invitations.
    rateLimit: { limit: 30, windowMs: 60_000 },
    summary: 'Send a new link; the former one stops working',
  },
  revoke: { method: 'DELETE', status: 204, summary: 'Revoke an invitation that has not been accepted' },
  preview: {
    method: 'POST',
    policy: 'public',
    rateLimit: 'auth',
    errors: ['INVALID_TOKEN'],
    summary: 'Read the invitation of a link',
  },
} as const satisfies Record<string, Partial<Route>>;

/** Responds with a page of invitations. @param scope undefined: those of every scope */
export async function listInvitations<Content extends InvitationContent>(
  { list }: InvitationStore<Content>,
  scope: string | undefined,
  query: z.output<typeof listQuery>,
): Promise<unknown> {
  const { page, next } = await list(scope, query);
  return withMeta(page, { limit: query.limit, next });
}
