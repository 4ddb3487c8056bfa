import { z } from 'zod';
import { isEmailVerified } from '../../declare/actor.ts';
import type { StoredRecord } from '../../declare/host.ts';
import type { RouteContext } from '../../declare/route.ts';
import type { Transaction } from '../../declare/service.ts';
import { isWellFormedToken } from '../../platform/crypto/token.ts';
import { ApiError, validationError } from '../../platform/errors.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import type { InvitationContext } from './context.ts';
import type { Invitation } from './tables.ts';

const token = z
  .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
  .max(128, { error: 'Must be at most 128 characters' });

/** The body of `POST /auth/invitations/preview`. */
export const previewInput = z.strictObject({ token });

/** The response to `POST /auth/invitations/preview`. */
export const previewShape = z
  .object({
    email: z.email(),
    hasAccount: z.boolean().meta({ description: 'Whether the user signs in to accept; otherwise they register' }),
    expiresAt: z.iso.datetime(),
  })
  .meta({ id: 'InvitationPreview' });

function invalidInvitationError(): ApiError {
  return new ApiError('INVALID_TOKEN', 'This invitation is invalid or has expired');
}

async function findInvitation({ store }: InvitationContext, given: string): Promise<Invitation> {
  const invitation = isWellFormedToken(given) ? await store.findByToken(given) : undefined;
  if (invitation === undefined) throw invalidInvitationError();
  return invitation;
}

/** Whether the owner of the address has an account that they can sign in to. An unverified one may belong to another person. */
const isOwnAccount = (user: StoredRecord | undefined) => user !== undefined && isEmailVerified(user);

/** `POST /auth/invitations/preview`: what the page of an invitation shows. */
export async function previewInvitation(
  context: InvitationContext,
  ctx: RouteContext<z.output<typeof previewInput>>,
): Promise<z.input<typeof previewShape>> {
  const { email, expiresAt } = await findInvitation(context, ctx.input.token);
  return { email, hasAccount: isOwnAccount(await context.accounts.findUserByEmail(email)), expiresAt };
}

/** Splits the body of an acceptance into the token and the fields of the new user. */
function splitBody(body: unknown): { token: string; fields: Record<string, unknown> } {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw validationError({ body: 'Must be an object' });
  const { token: given, ...fields } = body as Record<string, unknown>;
  const parsed = token.safeParse(given);
  if (!parsed.success) throw validationError({ token: parsed.error.issues[0]!.message });
  return { token: parsed.data, fields };
}

/** Adds the roles of an invitation to a user. */
async function addRoles(user: StoredRecord, { roles }: Invitation, tx: Transaction): Promise<void> {
  const current = Array.isArray(user.roles) ? (user.roles as string[]) : [];
  const all = [...new Set([...current, ...roles])];
  if (all.length > current.length) await tx.service('user').update(user.id, { roles: all }, { as: 'system' });
}

/**
 * `POST /auth/invitations/accept`: registers the invited user, or adds the roles to their account, and starts a session. The owner of a
 * verified account must be signed in to it: the mailbox alone is not enough. An account with the address that was never verified is claimed.
 */
export async function acceptInvitation(context: InvitationContext, ctx: RouteContext): Promise<object> {
  const { host, accounts, store } = context;
  const { token: given, fields } = splitBody(ctx.body);
  const invitation = await findInvitation(context, given);
  const { email } = invitation;
  const request = ctx.req;
  const existing = await accounts.findUserByEmail(email);
  if (isOwnAccount(existing) && ctx.user?.id !== existing!.id)
    throw new ApiError('CONFLICT', 'There is already an account with this e-mail address; sign in to it, then accept');
  if (existing !== undefined && Object.keys(fields).length > 0)
    throw validationError(Object.fromEntries(Object.keys(fields).map((name) => [name, 'Unknown field'])));

  async function createInvitedUser(tx: Transaction): Promise<string> {
    const defaults = { roles: ['user'] };
    const roles = invitation.roles.length > 0 ? [...new Set([...defaults.roles, ...invitation.roles])] : undefined;
    const trusted = { emailVerifiedAt: new Date().toISOString(), ...(roles && { roles }) };
    const values = { ...fields, email };
    const user = await accounts.createUser(values, request, { invited: true, trusted, tx });
    return user.id;
  }

  const { userId, proof } = await host.transaction(async (tx) => {
    const id = existing?.id ?? (await createInvitedUser(tx));
    if (existing !== undefined && !(await accounts.verifyEmail(id, email, tx, { claim: true, request })))
      throw invalidInvitationError();
    const locked = await accounts.lockUser(id, tx.database);
    if (locked === undefined || !(await store.accept(invitation.id, given, id, tx.database)))
      throw invalidInvitationError();
    if (existing !== undefined) await addRoles(locked.user, invitation, tx);
    const payload = { userId: id, invitationId: invitation.id, by: invitation.invitedBy, ip: addressOf(request) };
    tx.afterCommit(() => host.events.emit('auth.invitation_accepted', payload));
    return { userId: id, proof: locked.proof };
  });
  return accounts.startSession(userId, { method: 'invitation', request, proof });
}
