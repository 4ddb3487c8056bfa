import type { Request } from 'express';
import { isActive } from '../../declare/actor.ts';
import type { Authenticator } from '../../declare/authenticator.ts';
import type { Host, ResourceGateway, StoredRecord } from '../../declare/host.ts';
import type { Viewer } from '../../declare/policy.ts';
import type { Route } from '../../declare/route.ts';
import { hashToken } from '../../platform/crypto/token.ts';
import { invalidSession } from '../../platform/errors.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import { createLoader } from '../../platform/postgres/loader.ts';
import { createUsageRecorder } from '../../platform/postgres/usage-recorder.ts';
import { hasValidChecksum, isLabelled, prefixOf } from './key.ts';
import { ENDED, EXPIRY, find, TOUCH } from './sql.ts';

type FoundRow = [
  keyHash: string,
  id: string,
  userId: string,
  prefix: string,
  scopes: string[],
  unused: boolean,
  revoked: boolean,
  expired: boolean,
  owned: boolean,
  ...user: unknown[],
];

/** Why a key is refused. */
type Reason = 'checksum' | 'unknown' | 'revoked' | 'expired' | 'user_disabled' | 'user_deleted';

/**
 * Signs in by API keys.
 *
 * @param users the user resource: its records are what policies see as the user
 * @param scopesOf of which scopes a key needs one on a route
 */
export function createAuthenticator(
  { database, events, log }: Pick<Host, 'database' | 'events' | 'log'>,
  users: ResourceGateway,
  scopesOf: (route: Route) => readonly string[],
): Authenticator {
  const text = find(`"${users.table}"`, users.columns('u'));
  const look = createLoader(
    (hashes) => database.read<FoundRow>({ name: 'api_key_find', text, values: [hashes] }),
    ([keyHash]) => keyHash,
  );
  const recordUsage = createUsageRecorder(database, { name: 'api_key_touch', text: TOUCH }, (error) =>
    log.warn({ err: error }, 'lastUsedAt of an API key was not refreshed'),
  );

  /** The same answer whatever the reason: only the event tells. */
  function refuse(req: Request, reason: Reason, known: { keyId?: string; userId?: string; prefix?: string }): never {
    events.emit('security.invalid_api_key', { reason, ...known, ip: addressOf(req) });
    throw invalidSession();
  }

  return {
    scheme: {
      name: 'apiKey',
      description:
        'A key for scripts, as `POST /api/auth/api-keys` gives it. It is good for what its scopes and its owner may do.',
      bearerFormat: 'svc_ak_…',
      scopesOf,
    },
    recognizes: isLabelled,
    async authenticate(key, req) {
      if (!hasValidChecksum(key)) return refuse(req, 'checksum', {});
      const row = await look(hashToken(key));
      if (row === undefined) return refuse(req, 'unknown', { prefix: prefixOf(key) });
      const [, id, userId, prefix, scopes, unused, revoked, expired, owned, ...columns] = row;
      const known = { keyId: id, userId, prefix };
      if (!owned) return refuse(req, 'user_deleted', known);
      if (revoked) return refuse(req, 'revoked', known);
      if (expired) return refuse(req, 'expired', known);
      const user: StoredRecord & Viewer = users.fromRow(columns);
      if (!isActive(user)) return refuse(req, 'user_disabled', known);
      if (unused) recordUsage(id, addressOf(req));
      return { user, auth: { via: 'api-key', scopes, id } };
    },
    watch: {
      via: 'api-key',
      async ended(ids) {
        const rows = await database.read<[id: string]>({ name: 'api_key_ended', text: ENDED, values: [ids] });
        return rows.map(([id]) => id);
      },
      async expiresAt(id) {
        const [row] = await database.read<[string | null]>({ text: EXPIRY, values: [id] });
        return row?.[0] ?? undefined;
      },
    },
  };
}
