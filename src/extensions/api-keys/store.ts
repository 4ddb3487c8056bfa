import {
  type Accounts,
  ApiError,
  addressOf,
  findOrganisationField,
  type Host,
  hashToken,
  isId,
  newId,
  ORGANISATION_CHOICE,
  quoteIdentifier,
  type ResourceGateway,
  type RevocationStep,
  type RouteContext,
} from '../../extension/index.ts';
import type { NewKeyInput } from './input.ts';
import { generateKey, prefixOf } from './key-format.ts';
import { type ApiKeyRecord, type ApiKeyRow, toKeyRecord } from './record.ts';
import type { ApiKeySettings } from './settings.ts';
import { INSERT_KEY, lockOwnerSql, REVOKE_KEY, REVOKE_KEYS_OF_USERS } from './sql.ts';

/** Who revoked a key; `by` is the id of that user. */
type RevokedBy = { reason: 'user' | 'admin'; by: string } | { reason: 'script' | 'admin'; by: null };

/** Creates and revokes keys. */
export interface KeyStore {
  /**
   * Creates a key for the signed-in user. Emits `security.api_key_created`.
   *
   * @returns the record and the key itself, which is never returned again
   * @throws ApiError API_KEY_LIMIT; UNAUTHORIZED if the session has ended meanwhile
   */
  create(ctx: RouteContext<NewKeyInput>): Promise<ApiKeyRecord & { key: string }>;
  /**
   * Revokes a key, at once and in every process. Emits `security.api_key_revoked`.
   *
   * @param owner the user whose key it must be; undefined allows any owner
   * @returns false if there is no such key or it is already revoked
   */
  revoke(id: string, revokedBy: RevokedBy, owner?: string): Promise<boolean>;
  /**
   * Revokes the active keys of deleted users and, with `revokeOnPasswordReset`, of users whose password is reset. A reset emits
   * `security.api_keys_revoked` if any key was revoked.
   */
  revokeForUsers: RevocationStep;
}

/**
 * Returns the id of the organisation that a new key is limited to: the one in which the request works. The key keeps the id, because a slug can become
 * that of another organisation.
 *
 * @throws ApiError NOT_FOUND for an unknown organisation, and for one that the user does not reach
 */
async function findOrganisationOfNewKey(
  { user, service }: RouteContext,
  organisations: ResourceGateway,
): Promise<string | undefined> {
  const organisation = user?.[ORGANISATION_CHOICE]?.current;
  if (organisation === undefined) return undefined;
  const query = { [isId(organisation) ? 'id' : 'slug']: organisation };
  const found = await service(organisations.name).first(query, { as: 'system' });
  if (found !== undefined && (await organisations.inScope(found, { user }))) return found.id;
  throw new ApiError('NOT_FOUND', 'There is no such organisation, or you are not a member of it');
}

/** Causes that revoke keys whatever the setting says, and the reason in the event. */
const MANDATORY_REASONS: ReadonlyMap<string, string> = new Map([
  ['account_claimed', 'account_claimed'],
  ['email_change_undone', 'email_change_undone'],
]);

export function createKeyStore(
  { database, events, transaction, resources }: Pick<Host, 'database' | 'events' | 'transaction' | 'resources'>,
  accounts: Pick<Accounts, 'revoke' | 'holdCredential'>,
  users: ResourceGateway,
  { maxKeysPerUser: maxKeys, revokeOnPasswordReset }: Pick<ApiKeySettings, 'maxKeysPerUser' | 'revokeOnPasswordReset'>,
): KeyStore {
  // Without organisations, the header means nothing.
  const hasOrganisations = resources.some((gateway) => findOrganisationField(gateway) !== undefined);
  const organisations = hasOrganisations ? resources.find(({ name }) => name === 'organisation') : undefined;
  const lockOwner = lockOwnerSql(quoteIdentifier(users.table));

  return {
    async create(ctx) {
      const owner = ctx.user!.id;
      const { name, scopes, expiresInDays } = ctx.input;
      const key = generateKey();
      const organisation = organisations && (await findOrganisationOfNewKey(ctx, organisations));
      const row = await database.transaction(async (tx) => {
        await accounts.holdCredential(ctx, tx);
        const values = [
          newId(),
          owner,
          hashToken(key),
          name,
          prefixOf(key),
          scopes,
          expiresInDays,
          maxKeys,
          organisation,
        ];
        return (await tx.write<ApiKeyRow>({ text: INSERT_KEY, values }))[0];
      });
      if (row === undefined) throw new ApiError('API_KEY_LIMIT', `You can have at most ${maxKeys} active API keys`);
      const record = toKeyRecord(row);
      const { id: keyId, prefix, expiresAt } = record;
      const ip = addressOf(ctx.req);
      events.emit('security.api_key_created', { userId: owner, keyId, prefix, scopes, expiresAt, ip });
      return { ...record, key };
    },
    async revoke(id, { reason, by }, owner) {
      return transaction(async (tx) => {
        await tx.database.write({ text: lockOwner, values: [id] });
        const [row] = await tx.database.write<[userId: string, prefix: string]>({
          text: REVOKE_KEY,
          values: [id, owner],
        });
        if (row === undefined) return false;
        const [userId, prefix] = row;
        await accounts.revoke({ cause: 'key_revoked', userIds: [userId], keyIds: [id] }, tx);
        tx.afterCommit(() => events.emit('security.api_key_revoked', { userId, keyId: id, prefix, by, reason }));
        return true;
      });
    },
    async revokeForUsers({ cause, userIds, ip }, tx) {
      const isReset = cause === 'password_reset' && revokeOnPasswordReset;
      const reason = isReset ? 'password_reset' : MANDATORY_REASONS.get(cause);
      if (reason === undefined && cause !== 'user_deleted') return;
      const rows = await tx.database.write<[userId: string, id: string]>({
        text: REVOKE_KEYS_OF_USERS,
        values: [userIds],
      });
      if (reason === undefined) return;
      for (const [userId, keys] of Map.groupBy(rows, ([owner]) => owner)) {
        const payload = { userId, keyIds: keys.map(([, id]) => id), reason, ip };
        tx.afterCommit(() => events.emit('security.api_keys_revoked', payload));
      }
    },
  };
}
