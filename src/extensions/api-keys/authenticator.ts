import type { Request } from 'express';
import {
  type Authenticator,
  addressOf,
  createBatchLoader,
  createOrganisationViewer,
  createUsageRecorder,
  type Host,
  hashToken,
  invalidSessionError,
  isAccountActive,
  type ResourceGateway,
  type Route,
  type StoredRecord,
  type Viewer,
} from '../../extension/index.ts';
import { hasValidChecksum, looksLikeApiKey, prefixOf } from './key-format.ts';
import { findKeysSql, SELECT_ENDED_KEYS, SELECT_EXPIRY, STORE_LAST_USE } from './sql.ts';

type KeyRow = [
  keyHash: string,
  id: string,
  userId: string,
  prefix: string,
  scopes: string[],
  isUsageStale: boolean,
  revoked: boolean,
  expired: boolean,
  ownerExists: boolean,
  organisation: string | null,
  organisationRole: string | null,
  ...user: unknown[],
];

/** The reason why a key is refused. */
type RefusalReason =
  | 'checksum'
  | 'unknown'
  | 'revoked'
  | 'expired'
  | 'user_disabled'
  | 'user_deleted'
  | 'organisation_deleted'
  | 'unknown_role';

/** What the authenticator needs to know of organisations. */
interface KnownOrganisations {
  /** The quoted name of their table. */
  table: string;
  /** Returns the roles of members. A deploy may have removed the role of a key. */
  roles(): readonly string[];
}

/**
 * Creates the authenticator for API keys.
 *
 * @param users the gateway of the user resource; its records become the `user` of policies
 * @param organisations undefined in an app without organisations
 * @param scopesOf returns the scopes that allow a route; a key needs one of them
 */
export function createAuthenticator(
  { database, events, log }: Pick<Host, 'database' | 'events' | 'log'>,
  users: ResourceGateway,
  organisations: KnownOrganisations | undefined,
  scopesOf: (route: Route) => readonly string[],
): Authenticator {
  const text = findKeysSql(`"${users.table}"`, users.columns('u'), organisations?.table);
  const findByHash = createBatchLoader(
    (hashes) => database.read<KeyRow>({ name: 'api_key_find', text, values: [hashes] }),
    ([keyHash]) => keyHash,
  );
  const recordUsage = createUsageRecorder(database, { name: 'api_key_touch', text: STORE_LAST_USE }, (error) =>
    log.warn({ err: error }, 'Could not refresh lastUsedAt of an API key'),
  );

  /** Emits an event with the reason and throws. The response is the same for every reason. */
  function refuseKey(
    req: Request,
    reason: RefusalReason,
    keyInfo: { keyId?: string; userId?: string; organisation?: string; prefix?: string },
  ): never {
    events.emit('security.invalid_api_key', { reason, ...keyInfo, ip: addressOf(req) });
    throw invalidSessionError();
  }

  /** Returns the identity of a key that belongs to an organisation, which acts itself. */
  function authenticateOrganisation(req: Request, [, id, organisation, prefix, scopes, , , , , , role]: KeyRow) {
    const organisationRole = role!;
    if (organisations?.roles().includes(organisationRole) !== true)
      return refuseKey(req, 'unknown_role', { keyId: id, organisation, prefix });
    const user = createOrganisationViewer(organisation, organisationRole);
    return { user, auth: { via: 'api-key', scopes, id, organisation, organisationRole } as const };
  }

  const alternative =
    organisations === undefined ? '' : ', or for an organisation with `POST /api/organisations/:id/api-keys`';
  return {
    scheme: {
      name: 'apiKey',
      description: `A key for scripts, created with \`POST /api/auth/api-keys\`${alternative}. Its scopes and its owner must both allow a request.`,
      bearerFormat: 'svc_ak_…',
      scopesOf,
    },
    recognizes: looksLikeApiKey,
    async authenticate(key, req) {
      if (!hasValidChecksum(key)) return refuseKey(req, 'checksum', {});
      const row = await findByHash(hashToken(key));
      if (row === undefined) return refuseKey(req, 'unknown', { prefix: prefixOf(key) });
      const [
        ,
        id,
        userId,
        prefix,
        scopes,
        isUsageStale,
        revoked,
        expired,
        ownerExists,
        organisation,
        role,
        ...columns
      ] = row;
      const keyInfo = { keyId: id, ...(role === null ? { userId } : { organisation: userId }), prefix };
      if (!ownerExists) return refuseKey(req, role === null ? 'user_deleted' : 'organisation_deleted', keyInfo);
      if (revoked) return refuseKey(req, 'revoked', keyInfo);
      if (expired) return refuseKey(req, 'expired', keyInfo);
      if (role !== null) {
        const identity = authenticateOrganisation(req, row);
        if (isUsageStale) recordUsage(id, addressOf(req));
        return identity;
      }
      const user: StoredRecord & Viewer = users.fromRow(columns);
      if (!isAccountActive(user)) return refuseKey(req, 'user_disabled', keyInfo);
      if (isUsageStale) recordUsage(id, addressOf(req));
      const auth = { via: 'api-key', scopes, id } as const;
      return { user, auth: organisation === null ? auth : { ...auth, organisation } };
    },
    watch: {
      via: 'api-key',
      async ended(ids, tx) {
        const statement = { name: 'api_key_ended', text: SELECT_ENDED_KEYS, values: [ids] };
        const rows = await (tx === undefined ? database.read<[id: string]>(statement) : tx.write<[string]>(statement));
        return rows.map(([id]) => id);
      },
      async expiresAt(id) {
        const [row] = await database.read<[string | null]>({ text: SELECT_EXPIRY, values: [id] });
        return row?.[0] ?? undefined;
      },
    },
  };
}
