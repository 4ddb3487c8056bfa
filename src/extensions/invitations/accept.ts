import { z } from 'zod';
import {
  ApiError,
  addressOf,
  createDefaultValue,
  emailShape,
  emitLoginFailed,
  type Fields,
  findInvitationByToken,
  hashToken,
  invalidInvitationError,
  isAccountActive,
  isEmailVerified,
  type RouteContext,
  requiredTextSchema,
  type StoredRecord,
  type Transaction,
  type Viewer,
  validationError,
} from '../../extension/index.ts';
import type { InvitationContext } from './context.ts';
import type { Invitation } from './tables.ts';

const token = requiredTextSchema(128);

/** The body of `POST /auth/invitations/preview`. */
export const previewInput = z.strictObject({ token });

/** The response to `POST /auth/invitations/preview`. */
export const previewShape = z
  .object({
    email: emailShape,
    hasAccount: z.boolean().meta({ description: 'Whether the user signs in to accept: `mode` is `sign-in`' }),
    mode: z.enum(['register', 'claim', 'sign-in']).meta({
      description:
        'How to accept. `register`: send the fields of a registration. `claim`: there is an account whose owner never verified the address; send only fields that users can change, without the password. `sign-in`: send only the token, with a session of the account.',
    }),
    expiresAt: z.iso.datetime(),
  })
  .meta({ id: 'InvitationPreview' });

type Mode = z.output<typeof previewShape>['mode'];

/** How the caller accepts. An account whose address was never verified may belong to another person, unless the caller is signed in to it. */
function chooseMode(existing: StoredRecord | undefined, caller: Viewer | undefined): Mode {
  if (existing === undefined) return 'register';
  return isEmailVerified(existing) || caller?.id === existing.id ? 'sign-in' : 'claim';
}

/** `POST /auth/invitations/preview`: what the page of an invitation shows. */
export async function previewInvitation(
  context: InvitationContext,
  ctx: RouteContext<z.output<typeof previewInput>>,
): Promise<z.input<typeof previewShape>> {
  const { email, expiresAt } = await findInvitationByToken(context.invitations, ctx.input.token);
  const mode = chooseMode(await context.accounts.findUserByEmail(email), ctx.user);
  return { email, hasAccount: mode === 'sign-in', mode, expiresAt };
}

/** What a client sends to accept an invitation. */
interface Acceptance {
  token: string;
  /** The further fields of the body. */
  fields: Record<string, unknown>;
}

function readBody(body: unknown): Acceptance {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw validationError({ body: 'Must be an object' });
  const { token: given, ...fields } = body as Record<string, unknown>;
  const parsed = token.safeParse(given);
  if (!parsed.success) throw validationError({ token: parsed.error.issues[0]!.message });
  return { token: parsed.data, fields };
}

/** Returns the fields without the address, which may be sent but not changed. */
function withoutAddress({ email, ...fields }: Record<string, unknown>, invited: string): Record<string, unknown> {
  const isInvited = email === undefined || (typeof email === 'string' && email.trim().toLowerCase() === invited);
  if (!isInvited) throw validationError({ email: 'Must be the invited address' });
  return fields;
}

/** Registers the invited user, with the declared default roles and those of the invitation. Returns the id. */
async function registerInvitedUser(
  { accounts, users }: InvitationContext,
  { email, roles }: Invitation,
  fields: Record<string, unknown>,
  { request, tx }: { request: RouteContext['req']; tx: Transaction },
): Promise<string> {
  const field = (users.declaration.fields as Fields).roles;
  const defaults = ((field && createDefaultValue(field.spec)) ?? []) as readonly string[];
  const granted = roles.length > 0 ? { roles: [...new Set([...defaults, ...roles])] } : {};
  const trusted = { emailVerifiedAt: new Date().toISOString(), ...granted };
  return (await accounts.createUser({ ...fields, email }, request, { invited: true, trusted, tx })).id;
}

/** Checks that the caller may accept with an account, and may send these fields. */
function assertMayAccept(
  { host }: InvitationContext,
  { user: caller, req: request }: RouteContext,
  user: StoredRecord,
  fields: Record<string, unknown>,
): void {
  if (!isAccountActive(user)) {
    emitLoginFailed({ host }, { email: String(user.email), request }, 'user_disabled');
    throw new ApiError('FORBIDDEN', 'This account is disabled');
  }
  const isVerified = isEmailVerified(user);
  if (isVerified && caller?.id !== user.id)
    throw new ApiError('CONFLICT', 'There is already an account with this e-mail address; sign in to it, then accept');
  if (isVerified && Object.keys(fields).length > 0)
    throw validationError(Object.fromEntries(Object.keys(fields).map((name) => [name, 'Unknown field'])));
  if ('password' in fields) throw validationError({ password: 'Set it after accepting, with POST /api/auth/password' });
}

/**
 * Verifies the address of the account `userId`. The caller's own account keeps everything. Any other account is claimed, because its creator
 * may be another person. Then changes the fields with the rights of its user.
 */
async function verifyAndUpdate(
  context: InvitationContext,
  ctx: RouteContext,
  { userId, fields, invitation }: { userId: string; fields: Record<string, unknown>; invitation: Invitation },
  tx: Transaction,
): Promise<void> {
  const { accounts } = context;
  const { email, invitedBy } = invitation;
  const isOwn = ctx.user?.id === userId;
  if (isOwn) await accounts.holdCredential(ctx, tx.database);
  // Claiming the account ends the invitations that it sent. Its user may have invited the inviter, whose account is claimed at the same time.
  else await accounts.lockInOrder({ userIds: [userId, invitedBy] }, tx.database);
  const before = await accounts.lockUser(userId, tx.database);
  if (before === undefined) throw invalidInvitationError();
  // Only now that the row is locked: the account may have been verified or disabled meanwhile.
  assertMayAccept(context, ctx, before.user, fields);
  const isVerified = await accounts.verifyEmail(userId, email, tx, { claim: !isOwn, request: ctx.req });
  if (!isVerified) throw invalidInvitationError();
  if (Object.keys(fields).length === 0) return;
  const { user } = (await accounts.lockUser(userId, tx.database))!;
  await tx.service('user').update(userId, fields, { as: 'user', user: user as StoredRecord & Viewer, req: ctx.req });
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
  const { accounts, queue } = context;
  const { token, fields } = readBody(ctx.body);
  // Requests with one link run one after the other, so that those that come too late hash no password.
  const { userId, proof } = await queue(hashToken(token), () => redeemInvitation(context, ctx, { token, fields }));
  return accounts.startSession(userId, { method: 'invitation', request: ctx.req, proof });
}

/** Uses an invitation up, in one transaction. Returns the user who accepted it, with the proof of their password. */
async function redeemInvitation(
  context: InvitationContext,
  ctx: RouteContext,
  { token: given, fields: sent }: Acceptance,
): Promise<{ userId: string; proof: string }> {
  const { host, accounts, invitations } = context;
  const invitation = await findInvitationByToken(invitations, given);
  const { email } = invitation;
  const fields = withoutAddress(sent, email);
  const request = ctx.req;
  const existing = await accounts.findUserByEmail(email);
  return host.transaction(async (tx) => {
    if (existing !== undefined) await verifyAndUpdate(context, ctx, { userId: existing.id, fields, invitation }, tx);
    const id = existing?.id ?? (await registerInvitedUser(context, invitation, fields, { request, tx }));
    // Read after the last change of the account: claiming it removes the password, which makes earlier proofs invalid.
    const locked = await accounts.lockUser(id, tx.database);
    if (locked === undefined || !(await invitations.store.accept(invitation.id, given, id, tx.database)))
      throw invalidInvitationError();
    await addRoles(locked.user, invitation, tx);
    const payload = { userId: id, invitationId: invitation.id, by: invitation.invitedBy, ip: addressOf(request) };
    tx.afterCommit(() => host.events.emit('auth.invitation_accepted', payload));
    return { userId: id, proof: locked.proof };
  });
}
