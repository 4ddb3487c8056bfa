import { z } from 'zod';
import { createProofLink } from '../../accounts/email-proofs/link.ts';
import { isAccountActive } from '../../declare/actor.ts';
import type { Fields } from '../../declare/field.ts';
import { allowsAction, allowsEveryRecord, compilePolicy } from '../../declare/policy.ts';
import type { RouteContext } from '../../declare/route.ts';
import { generateToken } from '../../platform/crypto/token.ts';
import { ApiError, validationError } from '../../platform/errors.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import { withMeta } from '../../platform/http/response.ts';
import { isId } from '../../platform/ids.ts';
import { boundedArraySchema } from '../../platform/json/bounded-array.ts';
import { localeOfUser, preferredLocaleOf } from '../../platform/mail/texts/locale.ts';
import type { MailComposer } from '../../platform/mail/worker.ts';
import { isStorable, UNSTORABLE } from '../../platform/postgres/values.ts';
import type { InvitationContext } from './context.ts';
import type { Invitation } from './tables.ts';

const MAX_ROLES = 50;
const MAX_LIMIT = 200;

/** The body of `POST /invitations`. */
export const inviteInput = z.strictObject({
  email: z
    .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
    .max(320, { error: 'Must be at most 320 characters' })
    .trim()
    .toLowerCase()
    .pipe(z.email({ error: 'Must be a valid e-mail address' })),
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

/** The kind of the e-mail with the link. Its data: `{ invitation, locale? }`. */
export const INVITATION_MAIL = 'invitation';

/** Returns the roles of an invitation, after checking that the inviter could set them on a user. */
function checkRoles({ users }: InvitationContext, { user }: RouteContext, roles: readonly string[]): string[] {
  if (roles.length === 0) return [];
  const field = (users.declaration.fields as Fields).roles;
  const declared = field?.spec.inner?.spec.values ?? [];
  const unknown = roles.find((role) => !declared.includes(role));
  if (unknown !== undefined) throw validationError({ roles: `Must be some of: ${declared.join(', ')}` });
  const writers = compilePolicy(field?.spec.writableBy ?? 'none', () => undefined);
  if (!allowsEveryRecord(writers, user)) throw validationError({ roles: 'You are not allowed to set this field' });
  return [...new Set(roles)];
}

/** Checks the policy setting. Functions in it decide as well. @throws ApiError UNAUTHORIZED or FORBIDDEN */
async function assertMayInvite(
  { settings, host }: InvitationContext,
  { user, req }: Pick<RouteContext, 'user' | 'req'>,
): Promise<void> {
  if (user === undefined) throw new ApiError('UNAUTHORIZED');
  const args = { user, action: 'invite', doc: undefined, req, service: host.service };
  if (!(await allowsAction(settings.policy, args, false))) throw new ApiError('FORBIDDEN');
}

/** Returns the id of the caller, or undefined for an admin, who manages the invitations of every user. */
function inviterScope({ user }: Pick<RouteContext, 'user'>): string | undefined {
  return user!.roles?.includes('admin') ? undefined : user!.id;
}

const toEvent = ({ id, email, roles }: Invitation, ctx: RouteContext) => ({
  userId: ctx.user!.id,
  invitationId: id,
  email,
  roles,
  ip: addressOf(ctx.req),
});

/** `POST /invitations`. */
export async function invite(
  context: InvitationContext,
  ctx: RouteContext<z.output<typeof inviteInput>>,
): Promise<Invitation> {
  await assertMayInvite(context, ctx);
  const { host, accounts, settings, store } = context;
  const roles = checkRoles(context, ctx, ctx.input.roles ?? []);
  const given = { email: ctx.input.email, roles, invitedBy: ctx.user!.id };
  return host.transaction(async (tx) => {
    await accounts.holdCredential(ctx, tx.database);
    const limits = { days: settings.expiresDays, maxPending: settings.maxPending };
    const created = await store.create(given, limits, tx.database);
    if (created === 'full') throw new ApiError('LIMIT_REACHED', `You have ${limits.maxPending} pending invitations`);
    if (created === 'taken')
      throw new ApiError('CONFLICT', 'This address is already invited', { details: { email: 'Is already invited' } });
    const data = { invitation: created.id, locale: preferredLocaleOf(ctx.req) };
    await host.mail.sendComposed(INVITATION_MAIL, data, tx);
    tx.afterCommit(() => host.events.emit('auth.invitation_sent', toEvent(created, ctx)));
    return created;
  });
}

/** `POST /invitations/:id/resend`: sends a new link, which works for the whole time again; the former one ends. */
export async function resend(context: InvitationContext, ctx: RouteContext): Promise<Invitation> {
  await assertMayInvite(context, ctx);
  const { host, settings, store } = context;
  const id = ctx.params.id!;
  return host.transaction(async (tx) => {
    const renewed = isId(id) ? await store.renew(id, inviterScope(ctx), settings.expiresDays, tx.database) : undefined;
    if (renewed === undefined) throw new ApiError('NOT_FOUND');
    await host.mail.sendComposed(INVITATION_MAIL, { invitation: id, locale: preferredLocaleOf(ctx.req) }, tx);
    return renewed;
  });
}

/** `DELETE /invitations/:id`: the link stops working. */
export async function revokeInvitation(context: InvitationContext, ctx: RouteContext): Promise<void> {
  await assertMayInvite(context, ctx);
  const { host, store } = context;
  const id = ctx.params.id!;
  const removed = isId(id) ? await store.remove(id, inviterScope(ctx), host.database) : undefined;
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

/** Creates the composer of the e-mail with the link. It creates the token while composing, so that only its hash is stored. */
export function createInvitationComposer({ host, accounts, users, settings, store }: InvitationContext): MailComposer {
  const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
  const limiter = enabled ? host.limits.limiter('invitation mails', settings.mailLimit) : undefined;
  return async ({ data, attempt }) => {
    const token = generateToken();
    const invitation = await store.issue(String(data.invitation), token);
    if (invitation === undefined) return undefined;
    const { email, invitedBy } = invitation;
    const [inviter] = await users.load([invitedBy]);
    if (inviter === undefined || !isAccountActive(inviter)) return undefined;
    if (attempt === 1 && limiter !== undefined && !(await limiter.consume(email)).allowed) return undefined;
    const user = await accounts.findUserByEmail(email);
    const about = {
      link: createProofLink(host, settings.url, '/invitation', token),
      minutes: settings.expiresDays * 1440,
      isNewAccount: user === undefined,
    };
    return {
      to: email,
      ...(await host.mailTexts.render(INVITATION_MAIL, about, localeOfUser(user ?? {}, data.locale))),
    };
  };
}
