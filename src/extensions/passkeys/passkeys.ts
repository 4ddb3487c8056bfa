import type { z } from 'zod';
import {
  ApiError,
  addressOf,
  isId,
  type Queryable,
  type RouteContext,
  type SignInMethod,
  type StoredRecord,
} from '../../extension/index.ts';
import { assertConfirmedWithPasskey } from './confirmation.ts';
import type { PasskeyContext } from './settings.ts';
import type { passkeyShape, removeByAdminInput, renameInput } from './shapes.ts';
import {
  HAS_PASSKEY,
  LIST_PASSKEYS,
  REMOVE_PASSKEY,
  REMOVE_PASSKEYS_OF_USER,
  RENAME_PASSKEY,
  SELECT_DESCRIPTORS,
} from './sql.ts';
import { ownedChallenges } from './user-data.ts';
import type { CredentialDescriptor } from './webauthn.ts';

/** A passkey as its user sees it. */
export type OwnPasskey = z.output<typeof passkeyShape>;

/** A row with the columns of a passkey that its user sees. */
export type PasskeyRow = [string, string, string, string | null, boolean, OwnPasskey['deviceType'], string[]];

export function toOwnPasskey([
  id,
  name,
  createdAt,
  lastUsedAt,
  backedUp,
  deviceType,
  transports,
]: PasskeyRow): OwnPasskey {
  return { id, name, createdAt, lastUsedAt, backedUp, deviceType, transports };
}

/** Returns the passkeys of a user as browsers identify them. */
export async function readDescriptors(
  database: Pick<Queryable, 'read'>,
  userId: string,
): Promise<CredentialDescriptor[]> {
  const rows = await database.read<[string, string[]]>({ text: SELECT_DESCRIPTORS, values: [userId] });
  return rows.map(([id, transports]) => ({ id, transports }));
}

/** `GET /auth/passkeys`. */
export async function listOwnPasskeys({ host }: PasskeyContext, ctx: RouteContext): Promise<OwnPasskey[]> {
  const rows = await host.database.read<PasskeyRow>({ text: LIST_PASSKEYS, values: [ctx.user!.id] });
  return rows.map(toOwnPasskey);
}

/** `PATCH /auth/passkeys/:passkeyId`. */
export async function renameOwnPasskey(
  { host }: PasskeyContext,
  ctx: RouteContext<z.output<typeof renameInput>>,
): Promise<OwnPasskey> {
  const { passkeyId } = ctx.params;
  const values = [passkeyId, ctx.user!.id, ctx.input.name];
  const rows = isId(passkeyId) ? await host.database.write<PasskeyRow>({ text: RENAME_PASSKEY, values }) : [];
  if (rows.length === 0) throw new ApiError('NOT_FOUND');
  return toOwnPasskey(rows[0]!);
}

/** `DELETE /auth/passkeys/:passkeyId`. */
export async function removeOwnPasskey(context: PasskeyContext, ctx: RouteContext): Promise<void> {
  const { host, accounts } = context;
  const { passkeyId } = ctx.params;
  const userId = ctx.user!.id;
  await host.transaction(async (tx) => {
    await accounts.lockUser(userId, tx.database);
    await assertConfirmedWithPasskey(tx.database, context, ctx);
    const statement = { text: REMOVE_PASSKEY, values: [passkeyId, userId] };
    const [removed] = isId(passkeyId) ? await tx.database.write<[name: string]>(statement) : [];
    if (removed === undefined) throw new ApiError('NOT_FOUND');
    await accounts.assertCanStillSignIn(userId, tx.database);
    const payload = { userId, passkeyId, name: removed[0], ip: addressOf(ctx.req) };
    tx.afterCommit(() => host.events.emit('security.passkey_removed', payload));
  });
}

/**
 * `DELETE /admin/users/:id/passkeys`, for a user who has lost all passkeys and needs one as the second factor, or whose device was stolen.
 * A user without a password can then sign in with a password reset link. An admin with two-factor login must send a code: their session
 * alone must not be enough to remove the second factor of another user.
 */
export async function removePasskeysByAdmin(
  context: PasskeyContext,
  ctx: RouteContext<z.output<typeof removeByAdminInput>, StoredRecord>,
): Promise<void> {
  const [by, userId] = [ctx.user!.id, ctx.params.id!];
  if (by === userId)
    throw new ApiError('FORBIDDEN', 'Remove your own passkeys with DELETE /api/auth/passkeys/:passkeyId');
  await context.accounts.power.confirm(ctx, ctx.doc, ctx.input.code);
  if ((await removePasskeysOfUser(context, { userId }, ctx)) === 0)
    throw new ApiError('NOT_FOUND', 'This user has no passkey');
}

/**
 * Removes one or all passkeys of another user than the caller, whose rights and second factor have been checked. Returns the number of removed
 * passkeys.
 *
 * @param passkeyId undefined: all
 */
export function removePasskeysOfUser(
  { host, accounts }: Pick<PasskeyContext, 'host' | 'accounts'>,
  { userId, passkeyId: only }: { userId: string; passkeyId?: string },
  { user, req }: Pick<RouteContext, 'user' | 'req'>,
): Promise<number> {
  return host.transaction(async (tx) => {
    await accounts.lockUser(userId, tx.database);
    const statement = { text: REMOVE_PASSKEYS_OF_USER, values: [userId, only] };
    const removed = await tx.database.write<[passkeyId: string, name: string]>(statement);
    if (removed.length > 0) await ownedChallenges.remove(tx.database, [userId]);
    tx.afterCommit(() => {
      for (const [passkeyId, name] of removed) {
        const payload = { userId, by: user?.id ?? null, passkeyId, name, ip: addressOf(req) };
        host.events.emit('security.passkey_removed', payload);
      }
    });
    return removed.length;
  });
}

/** A passkey as a way to sign in, so that users may remove other ways if they have one. */
export const passkeySignInMethod: SignInMethod = {
  name: 'passkey',
  isUsableBy: async (user, on) => (await on.write({ text: HAS_PASSKEY, values: [user.id] })).length > 0,
};
