import type { PasswordResetStep } from '../../declare/accounts.ts';
import type { Host, ResourceView } from '../../declare/host.ts';
import type { RouteContext } from '../../declare/route.ts';
import { hashToken } from '../../platform/crypto/token.ts';
import { ApiError, invalidSession } from '../../platform/errors.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import { newId } from '../../platform/ids.ts';
import type { NewKeyInput } from './input.ts';
import { newKey, prefixOf } from './key.ts';
import { type ApiKeyRecord, type ApiKeyRow, showKey } from './record.ts';
import { CREATE, IS_LIVE, lockOwner, REVOKE, REVOKE_ALL } from './sql.ts';

/** Whose doing a revocation is. */
export type RevokedBy = { reason: 'user' | 'admin'; by: string } | { reason: 'script'; by: null };

/** The keys of users. */
export interface Keys {
  /**
   * Makes a key for who is signed in by a session. Emits `security.api_key_created`.
   *
   * @returns the key itself too: the only time that it is seen
   * @throws ApiError API_KEY_LIMIT; UNAUTHORIZED when the session has ended meanwhile
   */
  create(ctx: RouteContext<NewKeyInput>): Promise<ApiKeyRecord & { key: string }>;
  /**
   * Revokes a key, at once and in every process. Emits `security.api_key_revoked`.
   *
   * @param owner whose key it must be; undefined: anybody's
   * @returns whether there was one to revoke
   */
  revoke(id: string, doing: RevokedBy, owner?: string): Promise<boolean>;
  /** Revokes the active keys of a user whose password is reset. Emits `security.api_keys_revoked` when there were any. */
  revokeOnReset: PasswordResetStep;
}

/** @param maxKeys active ones of a user */
export function createKeys(
  { database, events }: Pick<Host, 'database' | 'events'>,
  users: ResourceView,
  maxKeys: number,
): Keys {
  const lock = lockOwner(`"${users.table}"`);

  return {
    async create(ctx) {
      const owner = ctx.user!.id;
      const { name, scopes, expiresInDays } = ctx.input;
      const key = newKey();
      const row = await database.transaction(async (tx) => {
        await tx.write({ text: lock, values: [owner] });
        const live = await tx.write({ text: IS_LIVE, values: [ctx.auth!.id, owner] });
        if (live.length === 0) throw invalidSession();
        const values = [newId(), owner, hashToken(key), name, prefixOf(key), scopes, expiresInDays, maxKeys];
        return (await tx.write<ApiKeyRow>({ text: CREATE, values }))[0];
      });
      if (row === undefined) throw new ApiError('API_KEY_LIMIT', `You can have at most ${maxKeys} active API keys`);
      const record = showKey(row);
      const { id: keyId, prefix, expiresAt } = record;
      const ip = addressOf(ctx.req);
      events.emit('security.api_key_created', { userId: owner, keyId, prefix, scopes, expiresAt, ip });
      return { ...record, key };
    },
    async revoke(id, { reason, by }, owner) {
      const [row] = await database.write<[userId: string, prefix: string]>({ text: REVOKE, values: [id, owner] });
      if (row === undefined) return false;
      const [userId, prefix] = row;
      events.emit('security.api_key_revoked', { userId, keyId: id, prefix, by, reason });
      return true;
    },
    async revokeOnReset({ userId, ip }, tx) {
      const keyIds = (await tx.write<[string]>({ text: REVOKE_ALL, values: [userId] })).flat();
      if (keyIds.length === 0) return undefined;
      return () => events.emit('security.api_keys_revoked', { userId, keyIds, reason: 'password_reset', ip });
    },
  };
}
