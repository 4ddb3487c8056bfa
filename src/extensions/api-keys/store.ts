import {
  type Accounts,
  ApiError,
  addressOf,
  type Executor,
  type Host,
  hashToken,
  isId,
  newId,
  ORGANISATION_CHOICE,
  quoteIdentifier,
  type ResourceGateway,
  type RevocationStep,
  type RouteContext,
  type Transaction,
} from '../../extension/index.ts';
import type { NewKeyInput } from './input.ts';
import { generateKey, prefixOf } from './key-format.ts';
import { type ApiKeyRecord, type ApiKeyRow, toKeyRecord, toRoleWord } from './record.ts';
import type { ApiKeySettings } from './settings.ts';
import { INSERT_KEY, lockOwnerSql, REVOKE_KEY, REVOKE_KEYS_OF_ORGANISATIONS, REVOKE_KEYS_OF_USERS } from './sql.ts';

/** The organisation that a new key belongs to, and the role as which the key acts. */
interface KeyOfOrganisation {
  organisation: string;
  role: string;
  /**
   * Locks the organisation in the creating transaction, and checks that the caller may still create the key.
   *
   * @throws ApiError NOT_FOUND, FORBIDDEN or VALIDATION_ERROR
   */
  hold(tx: Pick<Transaction, 'database' | 'service'>): Promise<void>;
}

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
  /** Like `create`, for a key that belongs to an organisation. @throws ApiError also the errors of `hold` */
  createForOrganisation(
    ctx: RouteContext<NewKeyInput>,
    given: KeyOfOrganisation,
  ): Promise<ApiKeyRecord & { key: string }>;
  /**
   * Revokes a key, at once and in every process. Emits `security.api_key_revoked`.
   *
   * @param owner the user or organisation whose key it must be; undefined allows any owner
   * @returns false if there is no such key or it is already revoked
   */
  revoke(id: string, revokedBy: RevokedBy, owner?: string): Promise<boolean>;
  /**
   * Revokes the active keys of deleted users and organisations and, with `revokeOnPasswordReset`, of users whose password is reset. A
   * reset emits `security.api_keys_revoked` if any key was revoked.
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
  { database, events, transaction }: Pick<Host, 'database' | 'events' | 'transaction'>,
  accounts: Pick<Accounts, 'revoke' | 'holdCredential'>,
  // Without organisations, the header means nothing.
  { users, organisations }: { users: ResourceGateway; organisations: ResourceGateway | undefined },
  { maxKeysPerUser, maxKeysPerOrganisation, revokeOnPasswordReset }: ApiKeySettings,
): KeyStore {
  const lockOwner = lockOwnerSql(quoteIdentifier(users.table), organisations && quoteIdentifier(organisations.table));

  /** Stores a key. Returns undefined if its owner has the maximum of keys. */
  async function insertKey(
    { name, scopes, expiresInDays }: NewKeyInput,
    {
      owner,
      max,
      organisation,
      role,
    }: { owner: string; max: number; organisation?: string | undefined; role?: string },
    tx: Executor,
  ): Promise<(ApiKeyRecord & { key: string }) | undefined> {
    const key = generateKey();
    const values = [
      newId(),
      owner,
      hashToken(key),
      name,
      prefixOf(key),
      scopes,
      expiresInDays,
      max,
      organisation,
      role,
    ];
    const [row] = await tx.write<ApiKeyRow>({ text: INSERT_KEY, values });
    return row && { ...toKeyRecord(row), key };
  }

  function emitCreated(
    { id: keyId, prefix, scopes, expiresAt }: ApiKeyRecord,
    owner: { userId: string } | { organisation: string; as: string; by: string },
    { req }: Pick<RouteContext, 'req'>,
  ): void {
    events.emit('security.api_key_created', { ...owner, keyId, prefix, scopes, expiresAt, ip: addressOf(req) });
  }

  return {
    async create(ctx) {
      const owner = ctx.user!.id;
      const organisation = organisations && (await findOrganisationOfNewKey(ctx, organisations));
      const created = await database.transaction(async (tx) => {
        await accounts.holdCredential(ctx, tx);
        return insertKey(ctx.input, { owner, max: maxKeysPerUser, organisation }, tx);
      });
      if (created === undefined)
        throw new ApiError('API_KEY_LIMIT', `You can have at most ${maxKeysPerUser} active API keys`);
      emitCreated(created, { userId: owner }, ctx);
      return created;
    },
    async createForOrganisation(ctx, { organisation, role, hold }) {
      const created = await transaction(async (tx) => {
        await accounts.holdCredential(ctx, tx.database);
        await hold(tx);
        const owned = { owner: organisation, max: maxKeysPerOrganisation, organisation, role };
        return insertKey(ctx.input, owned, tx.database);
      });
      if (created === undefined)
        throw new ApiError(
          'API_KEY_LIMIT',
          `The organisation can have at most ${maxKeysPerOrganisation} active API keys; revoke one first`,
        );
      emitCreated(created, { organisation, as: toRoleWord(role), by: ctx.user!.id }, ctx);
      return created;
    },
    async revoke(id, { reason, by }, owner) {
      return transaction(async (tx) => {
        await tx.database.write({ text: lockOwner, values: [id] });
        const [row] = await tx.database.write<[ownerId: string, prefix: string, role: string | null]>({
          text: REVOKE_KEY,
          values: [id, owner],
        });
        if (row === undefined) return false;
        const [ownerId, prefix, role] = row;
        const userIds = role === null ? [ownerId] : [];
        await accounts.revoke({ cause: 'key_revoked', userIds, keyIds: [id] }, tx);
        const ownedBy = role === null ? { userId: ownerId } : { organisation: ownerId };
        tx.afterCommit(() => events.emit('security.api_key_revoked', { ...ownedBy, keyId: id, prefix, by, reason }));
        return true;
      });
    },
    async revokeForUsers({ cause, userIds, organisationIds, ip }, tx) {
      if (cause === 'organisation_deleted')
        await tx.database.write({ text: REVOKE_KEYS_OF_ORGANISATIONS, values: [organisationIds] });
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
